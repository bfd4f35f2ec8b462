package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/configs"
)

type serveCommand struct {
	Addr string `help:"Listen here instead of server.addr." placeholder:"HOST:PORT"`
	Demo bool   `help:"Fill an empty workspace with sample data."`
}

// Help implements kong.HelpProvider.
func (serveCommand) Help() string {
	return `With no configuration at all Atrium listens on 127.0.0.1:8080, keeps everything in ./atrium-data,
and prints an API key on its first start. SIGHUP reloads orgs and keyring; SIGTERM and Ctrl-C finish what runs.

Examples:
  atrium serve --demo
  atrium serve --addr 127.0.0.1:9000 --data /var/lib/atrium
  ATRIUM_DATABASE_URL=postgres://atrium@db/atrium atrium serve --config /etc/atrium.yaml`
}

// gcPercent lets the heap grow further between collections than Go's 100 does. A server's live
// heap is some 10 MB, so that the default collects hundreds of times a second under load; this
// costs about 15 MB, and 10 to 20 % less CPU for each request.
const gcPercent = 400

// memoryLimit is where that ends, in bytes: gcPercent alone would let a burst of large requests,
// whose live heap is some 100 MB, take 500 before anything is collected. It is a soft limit. Below it
// the collector is lazy, above it eager: a server that needs more gets more, and small machines have
// room beside it.
const memoryLimit = 512 << 20

// Run implements the command.
func (s *serveCommand) Run(p *process) error {
	flags := map[string]string{}
	if s.Addr != "" {
		flags["server.addr"] = s.Addr
	}
	c, err := p.config(flags)
	if err != nil {
		return err
	}
	log := newLog(p.stderr, c.Log)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	// A port that is taken ends the start before anything is made.
	api, metrics, err := listen(p.ctx, c)
	if err != nil {
		return err
	}
	defer closeAll(api, metrics)
	stopTracing, err := startTracing(p.ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	app, closeCore, err := buildCore(p.ctx, c)
	if err != nil {
		return err
	}
	defer closeCore()
	owner, err := firstRun(p.ctx, app)
	if err != nil {
		return err
	}
	if s.Demo {
		if err := seedDemo(p.ctx, app); err != nil {
			return fmt.Errorf("demo data: %w", err)
		}
	}
	registry := newRegistry(app)
	var handler http.Handler
	if handler, err = buildAPI(app, registry, log); err != nil {
		return err
	}
	if tracing() {
		handler = otelhttp.NewHandler(handler, "http", otelhttp.WithFilter(rest.Traceable))
	}
	if metrics != nil {
		go serveMetrics(metrics, c, registry, log)
	}
	app.warn(p.ctx, log)
	background, stopBackground := context.WithCancel(p.ctx)
	defer stopBackground()
	go reloadOnHangup(background, p, flags, app, log)
	go sweep(background, app, log)
	if err := p.greet(app, api.Addr(), owner); err != nil {
		return err
	}
	return serveUntil(p.ctx, rest.Server(c.Server, handler, log), api, c.Server.ShutdownTimeout, log)
}

// listen opens the listeners of the API and, where one is configured, of the metrics.
func listen(ctx context.Context, c configs.Config) (api, metrics net.Listener, err error) {
	if api, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Server.Addr); err != nil {
		return nil, nil, fmt.Errorf("server.addr: %w", err)
	}
	if c.Metrics.Addr == "" {
		return api, nil, nil
	}
	if metrics, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics.Addr); err != nil {
		return nil, nil, fmt.Errorf("metrics.addr: %w", errors.Join(err, api.Close()))
	}
	return api, metrics, nil
}

func closeAll(listeners ...net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close() // a server that has ended has closed its own
		}
	}
}

// serveUntil serves until ctx ends, then accepts nothing new, finishes what runs, and waits for it
// no longer than timeout.
func serveUntil(ctx context.Context, srv *http.Server, l net.Listener, timeout time.Duration, log *slog.Logger) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		log.Info("stopping", "timeout", timeout.String())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		stopped <- srv.Shutdown(ctx)
	}()
	log.Info("serving", "addr", l.Addr().String(), "version", version)
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; err != nil {
		return fmt.Errorf("some requests were cut off after %s: %w", timeout, errors.Join(err, srv.Close()))
	}
	return nil
}

// newRegistry is what Prometheus may scrape, but for the requests, which the API measures.
func newRegistry(app *core) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewDBStatsCollector(app.db.Pool(), "atrium"))
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atrium_build_info", Help: "1, with the version and the database engine.",
		ConstLabels: prometheus.Labels{"version": version, "engine": app.db.Engine()},
	})
	info.Set(1)
	registry.MustRegister(info)
	return registry
}

// serveMetrics answers Prometheus until l is closed.
func serveMetrics(l net.Listener, c configs.Config, registry *prometheus.Registry, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: c.Server.ReadHeaderTimeout, WriteTimeout: c.Server.WriteTimeout}
	log.Info("serving metrics", "addr", l.Addr().String())
	_ = srv.Serve(l) // ends with the process
}

// reloadOnHangup reads the configuration anew at each SIGHUP and takes over its orgs, and the keys
// that were added to the key file. An invalid one is refused whole: the present one stays.
func reloadOnHangup(ctx context.Context, p *process, flags map[string]string, app *core, log *slog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		c, err := p.config(flags)
		before := app.orgs.present.Load().All()
		if err == nil {
			err = errors.Join(app.orgs.load(ctx, c), app.keyring.Reload())
		}
		if err != nil {
			log.Error("the configuration was not reloaded; the present one stays", "error", err)
			continue
		}
		if keys := configs.NeedRestart(app.config, c); len(keys) > 0 {
			log.Warn("these settings have changed, and count from the next start on", "keys", keys)
		}
		for _, org := range before {
			if _, there := app.orgs.present.Load().BySlug(org.Slug); !there {
				log.Warn("an org is configured no more: its people, keys and data are out of reach until it is again", "org", org.Slug)
			}
		}
		log.Info("the configuration was reloaded", "orgs", len(c.Orgs))
		app.warn(ctx, log)
	}
}

// warn logs what of the configuration is hardly meant so.
func (c *core) warn(ctx context.Context, log *slog.Logger) {
	missing, err := missingWorkspaces(ctx, c.orgs.present.Load(), c.db.Stores().Workspaces)
	for _, m := range missing {
		log.Warn("a rule for claims has no effect", "reason", m)
	}
	if err != nil {
		log.Warn("rules for claims were not checked", "error", err)
	}
}

// sweep removes what has served its time, once an hour.
func sweep(ctx context.Context, app *core, log *slog.Logger) {
	for tick := time.NewTicker(time.Hour); ; {
		if err := app.db.Sweep(ctx, time.Now(), app.config.Events.Retention); err != nil && ctx.Err() == nil {
			log.Warn("old records were not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// greet tells a person where the API is, and on the first start how to use it.
func (p *process) greet(app *core, addr net.Addr, owner *firstOwner) error {
	url := "http://" + strings.Replace(addr.String(), "[::]", "localhost", 1)
	fmt.Fprintf(p.stdout, "Atrium %s at %s (reference: %s/api/docs)\n", version, url, url)
	if owner != nil {
		fmt.Fprintf(p.stdout, `
This is the first start: %s owns the workspace "default". The API key below is shown
only now; %s.

curl %s/api/prompt-templates -H 'Authorization: Bearer %s'

`, owner.email, whereKept(app), url, owner.token.Reveal())
		return nil
	}
	empty, err := app.db.Empty(p.ctx)
	if err != nil {
		return err
	}
	email, err := app.db.OnlyPerson(p.ctx)
	if err != nil {
		return err
	}
	what, command := "an API key", p.self("token create")+" --email "+cmp.Or(email, "EMAIL")
	if empty {
		what, command = "the first person", p.self("user create")+" --email EMAIL --role owner"
	}
	if len(app.orgs.present.Load().All()) > 1 {
		command += " --org SLUG"
	}
	fmt.Fprintf(p.stdout, "Make %s with: %s\n", what, command)
	return nil
}

// whereKept says what there is to back up.
func whereKept(app *core) string {
	database, key := "the "+app.db.Engine()+" database", app.config.Keyring.KeyFile
	if file, ok := strings.CutPrefix(app.config.Database.URL.Reveal(), "sqlite:"); ok {
		database = file
	}
	switch {
	case !app.config.Keyring.Keyset.IsZero():
		return "everything is kept in " + database
	case filepath.Dir(database) == app.config.Data && filepath.Dir(key) == app.config.Data:
		return "everything is kept in " + app.config.Data
	}
	return "everything is kept in " + database + " and sealed by " + key
}
