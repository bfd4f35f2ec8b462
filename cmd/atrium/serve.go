package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/demo"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/otlp"
	"github.com/atrium-hq/atrium/configs"
)

// started is how long after the start its work has ended, including the background loops' work.
const started = time.Second

type serveCommand struct {
	Addr   string `help:"Listen here instead of server.addr." placeholder:"HOST:PORT"`
	Demo   bool   `help:"Fill an empty workspace with sample data."`
	NoWork bool   `help:"Do not run background jobs; other nodes run them with atrium work."`
}

// Help implements kong.HelpProvider.
func (serveCommand) Help() string {
	return `Without configuration Atrium listens on 127.0.0.1:8080, and keeps all data in ./atrium-data. On its first
start it creates an API key, which expires after 24 hours, and prints it to a terminal with a link that signs in with a
browser. Without a terminal it writes the key to the file first-api-key in the data directory. With --demo it always
prints both, and the key does not expire. SIGHUP reloads orgs and keyring. SIGTERM and Ctrl-C finish running requests
and jobs, then stop. Unless it runs in a terminal, it first serves for another server.drain (5s) while it is not ready.

With --demo on a loopback address, connections can also reach programs on this machine, such as your own database and
the program that replies to your chats. Otherwise orgs[].egress must allow that.

Examples:
  atrium serve --demo
  atrium serve --addr 127.0.0.1:9000 --data /var/lib/atrium
  ATRIUM_DATABASE_URL=postgres://atrium@db/atrium atrium serve --config /etc/atrium.yaml`
}

// Run implements the command.
func (s *serveCommand) Run(p *process) error {
	flags := map[string]string{}
	if s.Addr != "" {
		flags["server.addr"] = s.Addr
	}
	load := func() (configs.Config, error) {
		c, err := p.config(flags)
		if err == nil && s.Demo {
			demo.ReachThisMachine(&c)
		}
		return c, err
	}
	contract := sync.OnceValues(openapi.Load)
	go func() { _, _ = contract() }() // while the database is opened
	return p.runNode(load, true, func(ctx context.Context, n *node.Node) error {
		n.External.Notes.Report(func(err error) { n.Log.Error("an event was not written", "error", err) })
		build := sync.OnceValues(func() (*server.API, error) {
			loaded, err := contract()
			if err != nil {
				return nil, err
			}
			return buildAPI(n.Core, loaded, n.Registry, n.Log)
		})
		go func() { _, _ = build() }()
		owner, err := p.firstRun(ctx, n.Core, s.Demo) // it waits for the database
		api, apiErr := build()
		if err := cmp.Or(err, apiErr); err != nil {
			return err
		}
		if s.Demo {
			by, err := inOrg(n.Core, "")
			if err != nil {
				return err
			}
			site, err := demo.OpenSite(ctx, n.Config)
			if err != nil {
				return fmt.Errorf("demo site: %w", err)
			}
			if site != nil {
				go site.Serve(ctx, "http://"+n.API.Addr().String())
			}
			reason, err := demo.Seed(ctx, n.Core, by, firstEmail, site)
			if err != nil {
				return fmt.Errorf("demo data: %w", err)
			}
			if reason != "" {
				p.announce(n.Core, "No sample data was added: "+reason+".")
			}
			if url := site.URL(); url != "" {
				p.announce(n.Core, "A page of another site shows the sample chat: "+url)
			}
		}
		var handler http.Handler = api
		if otlp.Configured() {
			handler = rest.Traced(handler, otel.Tracer("github.com/atrium-hq/atrium/adapters/rest"))
		}
		// Loops that requests depend on run until the last request. Jobs end at once: other nodes take them.
		loops, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
		jobs, stopJobs := context.WithCancel(ctx)
		var working sync.WaitGroup
		defer working.Wait()
		defer stopLoops()
		defer stopJobs()
		working.Go(func() { n.Background(loops) })
		if !s.NoWork {
			working.Go(func() { n.Jobs(jobs) })
		}
		if err := p.printBanner(n.Core, n.API.Addr(), owner); err != nil {
			return err
		}
		server := &httpServer{
			Server: server.HTTPServer(n.Config.Server, handler, n.Log), api: api, listener: n.API,
			drain: n.Config.Server.Drain, timeout: n.Config.Server.ShutdownTimeout, log: n.Log,
		}
		if p.atTerminal() {
			server.drain = 0
		}
		server.RegisterOnShutdown(api.Drain)
		time.AfterFunc(started, releaseMemory)
		return server.serveUntil(ctx)
	})
}
