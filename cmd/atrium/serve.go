package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
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
	stopTracing, err := startTracing(p.ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	app, closeAll, err := buildCore(p.ctx, c)
	if err != nil {
		return err
	}
	defer closeAll()
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
	h := newHealth(app.db)
	api, err := buildAPI(app, h, registry, log)
	if err != nil {
		return err
	}
	var handler http.Handler = api
	if tracing() {
		handler = otelhttp.NewHandler(api, "http", otelhttp.WithFilter(rest.Traceable))
	}
	listener, err := new(net.ListenConfig).Listen(p.ctx, "tcp", c.Server.Addr)
	if err != nil {
		return fmt.Errorf("server.addr: %w", err)
	}
	metrics, err := serveMetrics(p.ctx, c, registry, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer metrics()
	background, stopBackground := context.WithCancel(p.ctx)
	defer stopBackground()
	go reloadOnHangup(background, p, flags, app, log)
	go sweep(background, app, log)
	kept := make(chan struct{})
	go func() { defer close(kept); keepPresences(background, app, log) }()
	defer func() { stopBackground(); <-kept }()
	p.greet(c, listener.Addr(), owner)
	return serveUntil(p.ctx, rest.Server(c.Server, handler, log), listener, h, c.Server.ShutdownTimeout, log)
}

// serveUntil serves until ctx ends, then finishes what runs: the node tells load balancers that it
// is leaving, accepts nothing new, and waits at most for timeout.
func serveUntil(ctx context.Context, srv *http.Server, l net.Listener, h *health, timeout time.Duration, log *slog.Logger) error {
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		h.draining.Store(true)
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

// serveMetrics opens the second listener, where one is configured.
func serveMetrics(ctx context.Context, c configs.Config, registry *prometheus.Registry, log *slog.Logger) (stop func(), err error) {
	if c.Metrics.Addr == "" {
		return func() {}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics.Addr)
	if err != nil {
		return nil, fmt.Errorf("metrics.addr: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: c.Server.ReadHeaderTimeout, WriteTimeout: c.Server.WriteTimeout}
	log.Info("serving metrics", "addr", l.Addr().String())
	go func() { _ = srv.Serve(l) }()
	return func() { _ = srv.Close() }, nil
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
		if err == nil {
			err = errors.Join(app.orgs.load(ctx, c), app.keyring.Reload())
		}
		if err != nil {
			log.Error("the configuration was not reloaded; the present one stays", "error", err)
			continue
		}
		log.Info("the configuration was reloaded", "orgs", len(c.Orgs))
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

// keepPresences settles what ends by itself. What was heard and not stored yet is stored at the end, for
// other nodes and the next start.
func keepPresences(ctx context.Context, app *core, log *slog.Logger) {
	report := func(err error) { log.Warn("presences were not kept; it is tried again", "error", err) }
	app.services.Presences.Keep(ctx, app.orgs.ids, report)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
	defer cancel()
	app.services.Presences.Flush(last, report)
}

// flushWithin is how long the end of the process may wait for what is only about freshness.
const flushWithin = 2 * time.Second

// greet tells a person where the API is, and on the first start how to use it.
func (p *process) greet(c configs.Config, addr net.Addr, owner *firstOwner) {
	url := "http://" + strings.Replace(addr.String(), "[::]", "localhost", 1)
	fmt.Fprintf(p.stdout, "Atrium %s at %s (reference: %s/api/docs)\n", version, url, url)
	if owner == nil {
		fmt.Fprintf(p.stdout, "Make an API key with: %s --email EMAIL\n", p.self("token create"))
		return
	}
	fmt.Fprintf(p.stdout, `
This is the first start: %s owns the workspace "default". The API key below is shown
only now; everything is kept in %s.

curl %s/api/prompt-templates -H 'Authorization: Bearer %s'

`, owner.email, c.Data, url, owner.token.Reveal())
}
