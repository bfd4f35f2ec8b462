package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/configs"
)

type serveCommand struct {
	Addr   string `help:"Listen here instead of server.addr." placeholder:"HOST:PORT"`
	Demo   bool   `help:"Fill an empty workspace with sample data."`
	NoWork bool   `help:"Leave background work to nodes that run atrium work."`
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

// Run implements the command.
func (s *serveCommand) Run(p *process) error {
	flags := map[string]string{}
	if s.Addr != "" {
		flags["server.addr"] = s.Addr
	}
	return p.runNode(flags, func(ctx context.Context, n *node) error {
		owner, err := firstRun(ctx, n.core)
		if err != nil {
			return err
		}
		if s.Demo {
			if err := seedDemo(ctx, n.core); err != nil {
				return fmt.Errorf("demo data: %w", err)
			}
		}
		h := newHealth(n.db)
		api, err := buildAPI(n.core, h, n.registry, n.log)
		if err != nil {
			return err
		}
		var handler http.Handler = api
		if tracing() {
			handler = otelhttp.NewHandler(api, "http", otelhttp.WithFilter(rest.Traceable))
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", n.config.Server.Addr)
		if err != nil {
			return fmt.Errorf("server.addr: %w", err)
		}
		work, stopWork := context.WithCancel(ctx)
		var working sync.WaitGroup
		defer working.Wait()
		defer stopWork()
		if !s.NoWork {
			working.Go(func() { n.work(work) })
		}
		p.greet(n.config, listener.Addr(), owner)
		return serveUntil(ctx, rest.Server(n.config.Server, handler, n.log), listener, h, n.config.Server.ShutdownTimeout, n.log)
	})
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
