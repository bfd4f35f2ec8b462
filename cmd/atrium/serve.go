package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/demo"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type serveCommand struct {
	Addr   string `help:"Listen here instead of server.addr." placeholder:"HOST:PORT"`
	Demo   bool   `help:"Fill an empty workspace with sample data."`
	NoWork bool   `help:"Do not run background jobs; nodes that run atrium work do."`
}

// Help implements kong.HelpProvider.
func (serveCommand) Help() string {
	return `Without configuration Atrium listens on 127.0.0.1:8080, keeps all data in ./atrium-data, and creates an API key on its
first start, which ends after 24 hours. It prints the key to a terminal, or writes it to the file first-api-key in the
data directory. With --demo it always prints the key, and the key does not end. SIGHUP reloads orgs and keyring;
SIGTERM and Ctrl-C finish running requests and jobs, then stop.

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
	return p.runNode(flags, true, func(ctx context.Context, n *node.Node) error {
		owner, err := p.firstRun(ctx, n.Core, s.Demo)
		if err != nil {
			return err
		}
		if s.Demo {
			by, err := inOrg(n.Core, "")
			if err != nil {
				return err
			}
			why, err := demo.Seed(ctx, n.Core, by, firstEmail)
			if err != nil {
				return fmt.Errorf("demo data: %w", err)
			}
			if why != "" {
				fmt.Fprintf(p.stdout, "No sample data was added: %s.\n", why)
			}
		}
		n.External.Notes.Report(func(err error) { n.Log.Error("an event was not written", "error", err) })
		api, err := buildAPI(n.Core, n.Registry, n.Log)
		if err != nil {
			return err
		}
		var handler http.Handler = api
		if node.Tracing() {
			handler = otelhttp.NewHandler(handler, "http", otelhttp.WithFilter(rest.Traceable))
		}
		work, stopWork := context.WithCancel(ctx)
		var working sync.WaitGroup
		defer working.Wait()
		defer stopWork()
		working.Go(func() { n.Background(work, !s.NoWork) })
		if err := p.printBanner(n.Core, n.API.Addr(), owner); err != nil {
			return err
		}
		server := rest.Server(n.Config.Server, handler, n.Log)
		server.RegisterOnShutdown(api.EndStreams)
		go debug.FreeOSMemory() // memory that only the start needed
		return serveUntil(ctx, server, n.API, n.Config.Server.ShutdownTimeout, n.Log)
	})
}

// serveUntil serves until ctx ends. Then it accepts no new requests, and waits at most timeout for running ones.
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

// printBanner prints the address of the API, and on the first start how to use it.
func (p *process) printBanner(app *node.Core, addr net.Addr, owner *firstOwner) error {
	url := "http://" + strings.Replace(addr.String(), "[::]", "localhost", 1)
	var next string
	if owner != nil {
		shown, key := "below is shown\nonly now", owner.token.Reveal()
		if owner.ends {
			shown += " and ends in 24 hours"
		}
		if owner.file != "" {
			shown, key = "is in the file\n"+owner.file+" and ends in 24 hours", "'$(cat '"+owner.file+"')'"
		}
		next = fmt.Sprintf(`
This is the first start: %s owns the workspace "default". The API key %s; %s.

curl %s/api/prompt-templates -H 'Authorization: Bearer %s'

`, owner.email, shown, describeStorage(app), url, key)
	} else {
		var err error
		if next, err = p.nextKey(app); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "Atrium %s at %s (reference: %s/api/docs)\n%s", version, url, url, next)
	return err
}

// nextKey returns the command that creates an API key or, if there are no people, the first person.
func (p *process) nextKey(app *node.Core) (string, error) {
	empty, err := app.DB.Empty(p.ctx)
	if err != nil {
		return "", err
	}
	email, err := app.DB.OnlyPerson(p.ctx)
	what, command := "an API key", p.hint("token create")+" --email "+cmp.Or(email, "EMAIL")
	if empty {
		what, command = "the first person", p.hint("user create")+" --email EMAIL --role owner"
	}
	if len(app.Orgs.Directory().All()) > 1 {
		command += " --org SLUG"
	}
	return "Make " + what + " with: " + command + "\n", err
}

// describeStorage describes what to back up.
func describeStorage(app *node.Core) string {
	database, key := "the "+app.DB.Engine()+" database", app.Config.Keyring.KeyFile
	if file, ok := strings.CutPrefix(app.Config.Database.URL.Reveal(), "sqlite:"); ok {
		database = file
	}
	switch {
	case !app.Config.Keyring.Keyset.IsZero():
		return "everything is kept in " + database
	case filepath.Dir(database) == filepath.Clean(app.Config.Data) && filepath.Dir(key) == filepath.Clean(app.Config.Data):
		return "everything is kept in " + app.Config.Data
	}
	return "everything is kept in " + database + " and sealed by " + key
}
