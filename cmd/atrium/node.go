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

// node is a long-running process: the common part of serve and work.
type node struct {
	*core
	api      net.Listener // of serve; already listening
	registry *prometheus.Registry
	log      *slog.Logger
}

// gcPercent lets the heap grow further between collections than Go's 100. A server's live heap is about 10 MB, so that
// the default collects hundreds of times per second under load. 400 costs about 15 MB, and saves 10 to 20 % of the CPU
// for each request.
const gcPercent = 400

// memoryLimit bounds that growth, in bytes. With only gcPercent, a burst of large requests, whose live heap is about
// 100 MB, could take 500 MB before a collection. The limit is soft: above it the collector runs more often, but a
// server that needs more memory gets it.
const memoryLimit = 512 << 20

// runNode runs f on opened data, until f ends. Meanwhile SIGHUP reloads the configuration, and Prometheus can scrape.
// A stop during the start is not an error.
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
	// A port that is in use ends the start before anything is created.
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
	app, closeCore, err := buildCore(p.ctx, c, log)
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

// newRegistry returns the metrics of a node, except those of requests, which the API adds.
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
			_ = l.Close() // a server that has ended has closed its listener
		}
	}
}

// serveMetrics serves Prometheus until l is closed.
func serveMetrics(l net.Listener, c configs.Config, registry *prometheus.Registry, log *slog.Logger) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: c.Server.ReadHeaderTimeout, WriteTimeout: c.Server.WriteTimeout}
	log.Info("serving metrics", "addr", l.Addr().String())
	_ = srv.Serve(l) // ends with the process
}

// reloadOnHangup reads the configuration again on each SIGHUP, and applies its orgs and the keys that were added to the
// key file. If the configuration is invalid, nothing of it is applied.
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
			log.Error("the configuration was not reloaded; the current one stays", "error", err)
			continue
		}
		if keys := configs.NeedRestart(app.config, c); len(keys) > 0 {
			log.Warn("these settings have changed and take effect at the next start", "keys", keys)
		}
		for _, org := range before {
			if _, there := app.orgs.present.Load().BySlug(org.Slug); !there {
				log.Warn("an org is no longer configured: its people, keys and data cannot be reached until it is configured again", "org", org.Slug)
			}
		}
		log.Info("the configuration was reloaded", "orgs", len(c.Orgs))
		app.warn(ctx, log)
		resealQuietly(ctx, app, log)
	}
}

// warn logs the parts of the configuration that are probably not intended.
func (c *core) warn(ctx context.Context, log *slog.Logger) {
	missing, err := missingWorkspaces(ctx, c.orgs.present.Load(), c.db.Stores().Workspaces)
	for _, m := range missing {
		log.Warn("a claim rule has no effect", "reason", m)
	}
	if err != nil {
		log.Warn("claim rules were not checked", "error", err)
	}
	for _, err := range *c.beyond.gateways.unsure.Load() {
		log.Warn("some plans cannot be bought", "reason", err)
	}
}

// sweep removes expired records, once an hour.
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
