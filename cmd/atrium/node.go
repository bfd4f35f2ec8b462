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
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/atrium-hq/atrium/configs"
)

// node is a process that stays: what serve and work have in common.
type node struct {
	*core
	registry *prometheus.Registry
	log      *slog.Logger
}

// gcPercent lets the heap grow further between collections than Go's 100 does. A server's live
// heap is some 10 MB, so that the default collects hundreds of times a second under load; this
// costs about 15 MB, and 10 to 20 % less CPU for each request.
const gcPercent = 400

// runNode runs f on opened data, until f ends. Meanwhile SIGHUP reloads the configuration, and
// Prometheus may scrape.
func (p *process) runNode(flags map[string]string, f func(context.Context, *node) error) error {
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
	n := &node{core: app, registry: newRegistry(app), log: log}
	stopMetrics, err := serveMetrics(p.ctx, c, n.registry, log)
	if err != nil {
		return err
	}
	defer stopMetrics()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	go reloadOnHangup(ctx, p, flags, app, log)
	return f(ctx, n)
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
		resealQuietly(ctx, app, log)
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
