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
	api      net.Listener // of serve; it listens already
	registry *prometheus.Registry
	log      *slog.Logger
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

// runNode runs f on opened data, until f ends. Meanwhile SIGHUP reloads the configuration, and
// Prometheus may scrape. A stop that comes amid the start is no failure.
func (p *process) runNode(flags map[string]string, serving bool, f func(context.Context, *node) error) (err error) {
	opened := false
	defer func() {
		if p.ctx.Err() != nil && (!opened || errors.Is(err, context.Canceled)) {
			err = nil
		}
	}()
	c, err := p.config(flags)
	if err != nil {
		return err
	}
	log := newLog(p.stderr, c.Log)
	if err := raiseWall(c, log); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	// A port that is taken ends the start before anything is made.
	api, metrics, err := listen(p.ctx, c, serving)
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
	opened = true
	n := &node{core: app, api: api, registry: newRegistry(app), log: log}
	if metrics != nil {
		go serveMetrics(metrics, c, n.registry, log)
	}
	app.warn(p.ctx, log)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	go reloadOnHangup(ctx, p, flags, app, log)
	return f(ctx, n)
}

// newRegistry is what Prometheus may scrape, but for the requests, which the API measures.
func newRegistry(app *core) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, pool := range app.db.Pools() {
		registry.MustRegister(collectors.NewDBStatsCollector(pool, name))
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atrium_build_info", Help: "1, with the version and the database engine.",
		ConstLabels: prometheus.Labels{"version": version, "engine": app.db.Engine()},
	})
	info.Set(1)
	registry.MustRegister(info, newInboxes(app))
	registry.MustRegister(app.beyond.children...)
	return registry
}

// listen opens the listeners of the API and, where one is configured, of the metrics.
func listen(ctx context.Context, c configs.Config, serving bool) (api, metrics net.Listener, err error) {
	if serving {
		if api, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Server.Addr); err != nil {
			return nil, nil, fmt.Errorf("server.addr: %w", err)
		}
	}
	if c.Metrics.Addr == "" {
		return api, nil, nil
	}
	if metrics, err = new(net.ListenConfig).Listen(ctx, "tcp", c.Metrics.Addr); err != nil {
		closeAll(api)
		return nil, nil, fmt.Errorf("metrics.addr: %w", err)
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
			err = errors.Join(app.orgs.load(ctx, c), app.keyring.Reload(), app.beyond.gateways.load(ctx, c, app.orgs))
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
		resealQuietly(ctx, app, log)
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
	for _, err := range *c.beyond.gateways.unsure.Load() {
		log.Warn("not everything can be bought", "reason", err)
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
