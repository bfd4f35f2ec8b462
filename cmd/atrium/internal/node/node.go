// Package node holds a running Atrium process's parts: its data, its loops, its metrics and its tracing.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/atrium-hq/atrium/configs"
)

// Node is a long-running process: the common part of serve and work.
type Node struct {
	*Core
	API      net.Listener // of serve; already listening
	Registry *prometheus.Registry
	Log      *slog.Logger
}

// Program says how this program starts a node.
type Program struct {
	Version string
	Load    func() (configs.Config, error) // called at the start, and again on each SIGHUP
	Open    func(context.Context, configs.Config, *slog.Logger) (*Core, func(), error)
	Stderr  io.Writer // of the log
}

// Run runs f on opened data, until f ends. In the meantime SIGHUP reloads the configuration, and Prometheus can scrape.
// A stop during the start is not an error.
func (p Program) Run(ctx context.Context, serving bool, f func(context.Context, *Node) error) (err error) {
	isOpen := false
	defer func() {
		if ctx.Err() != nil && (!isOpen || errors.Is(err, context.Canceled)) {
			err = nil
		}
	}()
	c, err := p.Load()
	if err != nil {
		return err
	}
	log, writeLogAtOnce := newNodeLog(ctx, p.Stderr, c.Log)
	defer writeLogAtOnce()
	if err := confineChildren(c, log); err != nil {
		return err
	}
	// A port that is in use ends the start before anything is created.
	api, metrics, err := listen(ctx, c, serving)
	if err != nil {
		return err
	}
	defer closeAll(api, metrics)
	if serving {
		host, _, _ := net.SplitHostPort(c.Server.Addr) // it was validated
		_, port, _ := net.SplitHostPort(api.Addr().String())
		unlock, err := lockDatabase(c, net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		defer unlock()
	}
	stopTracing, err := startTracing(ctx, p.Version)
	if err != nil {
		return err
	}
	defer stopTracing()
	if err := CreateFolder(c); err != nil {
		return err
	}
	app, closeCore, err := p.Open(ctx, c, log)
	if err != nil {
		return err
	}
	defer closeCore()
	isOpen = true
	n := &Node{Core: app, API: api, Registry: newRegistry(app, p.Version), Log: log}
	if metrics != nil {
		go serveMetrics(metrics, c, n.Registry, log)
	}
	app.warn(ctx, c, log)
	reloading, cancel := context.WithCancel(context.WithoutCancel(ctx)) // SIGHUP must not end a server that drains
	defer cancel()
	go reloadOnHangup(reloading, p.Load, app, log)
	return f(ctx, n)
}

// newRegistry returns a node's metrics, except request metrics, which the API adds.
func newRegistry(app *Core, version string) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, pool := range app.DB.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atrium_build_info", Help: "1, with the version and the database engine.",
		ConstLabels: prometheus.Labels{"version": version, "engine": app.DB.Engine()},
	})
	info.Set(1)
	registry.MustRegister(info, newInboxes(app), newVitals(app))
	registry.MustRegister(app.External.Children...)
	return registry
}

// listen opens the listeners of the API and, where one is configured, of the metrics.
func listen(ctx context.Context, c configs.Config, serving bool) (api, metrics net.Listener, err error) {
	if serving {
		config := net.ListenConfig{}
		config.SetMultipathTCP(false) // the kernel cannot filter its packets: see StopAccepting
		if api, err = config.Listen(ctx, "tcp", c.Server.Addr); err != nil {
			return nil, nil, listenError("server.addr", c.Server.Addr, err)
		}
	}
	if c.Metrics.Addr == "" {
		return api, nil, nil
	}
	if metrics, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics.Addr); err != nil {
		closeAll(api)
		return nil, nil, listenError("metrics.addr", c.Metrics.Addr, err)
	}
	return api, metrics, nil
}

// listenError returns a listener's error. It says what to do if the port is in use.
func listenError(key, addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: another program uses %s: stop it, or choose another port: %w", key, addr, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

func closeAll(listeners ...net.Listener) {
	for _, l := range listeners {
		if l != nil {
			_ = l.Close() // a server that has ended has closed its listener
		}
	}
}

// serveMetrics serves Prometheus until l is closed.
func serveMetrics(l net.Listener, c configs.Config, registry *prometheus.Registry, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: c.Server.ReadHeaderTimeout,
		WriteTimeout: c.Server.WriteTimeout}
	log.Info("serving metrics", "addr", l.Addr().String())
	_ = srv.Serve(l) // ends with the process
}

// reloadOnHangup reads the configuration again on each SIGHUP, and applies its orgs and the keys that were added to the
// key file. If the configuration is invalid, nothing of it is applied.
func reloadOnHangup(ctx context.Context, load func() (configs.Config, error), app *Core, log *slog.Logger) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		c, err := load()
		previous := app.Orgs.Directory().All()
		if err == nil {
			err = errors.Join(app.Orgs.load(ctx, c), app.Keyring.Reload(), app.External.Gateways.load(ctx, c, app.Orgs))
		}
		if err != nil {
			log.Error("the configuration was not reloaded; the current one stays", "error", err)
			continue
		}
		if keys := configs.NeedRestart(app.Config, c); len(keys) > 0 {
			log.Warn("these settings have changed and take effect at the next start", "keys", keys)
		}
		for _, org := range previous {
			if _, exists := app.Orgs.Directory().BySlug(org.Slug); !exists {
				log.Warn("an org is no longer configured: its people, keys and data cannot be reached until it is "+
					"configured again", "org", org.Slug)
			}
		}
		log.Info("the configuration was reloaded", "orgs", len(c.Orgs))
		app.warn(ctx, c, log)
		resealQuietly(ctx, app, log)
	}
}

// warn logs the parts of the configuration that are probably not intended.
func (c *Core) warn(ctx context.Context, settings configs.Config, log *slog.Logger) {
	missing, err := MissingWorkspaces(ctx, c.Orgs.Directory(), c.DB.Stores().Workspaces)
	for _, m := range missing {
		log.Warn("a claim rule has no effect", "reason", m)
	}
	if err != nil {
		log.Warn("claim rules were not checked", "error", err)
	}
	for _, err := range c.External.Gateways.Unsure() {
		log.Warn("some plans cannot be bought", "reason", err)
	}
	for _, reason := range settings.Shortfalls() {
		log.Warn("a plan gives less than no plan", "reason", reason)
	}
}

const (
	sweepEvery = time.Hour
	sweepFirst = time.Minute // after the start, which has enough to do and may be one of many
)

// sweep removes expired records, once an hour. Nodes with the same database take turns.
func sweep(ctx context.Context, app *Core, log *slog.Logger) {
	for wait := sweepFirst; ; wait = sweepEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := app.DB.Accounts().IndexPeople(ctx, math.MaxInt); err != nil && ctx.Err() == nil {
			log.Warn("people of an earlier release cannot be found by name yet", "error", err)
		}
		isClaimed, err := app.DB.ClaimSweep(ctx, time.Now(), sweepEvery-5*time.Minute)
		if isClaimed {
			err = errors.Join(app.DB.Sweep(ctx, time.Now(), app.Config.Events.Retention),
				app.Services.Sources.SweepFiles(ctx, time.Now()))
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("old records were not removed", "error", err)
		}
		if err := app.DB.ReleaseSpace(ctx); err != nil && ctx.Err() == nil {
			log.Warn("unused space of the database was not released", "error", err)
		}
	}
}
