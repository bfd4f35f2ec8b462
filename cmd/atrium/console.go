package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type consoleCommand struct {
	Email string `help:"E-mail address of the person. Default: the only person." placeholder:"EMAIL"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	Open  bool   `help:"Open the link in a browser."`
	JSON  bool   `name:"json" help:"Print JSON: user_id, url, expires_at."`
}

// Help implements kong.HelpProvider.
func (consoleCommand) Help() string {
	return `Creates a link that signs a person in with a browser, once within 15 minutes. Works while the
server runs. The link is below the base_url of the org. Without one, it has the address of the server that runs
on this data (SQLite), or server.addr.

Examples:
  atrium console
  atrium console --email ada@example.com --open`
}

// Run implements the command.
func (c *consoleCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, c.Org)
		if err != nil {
			return err
		}
		email, err := personOr(p.ctx, app, c.Email)
		if err != nil {
			return err
		}
		token, link, err := app.Services.Sessions.LinkFor(p.ctx, byCommand(org), email)
		if err != nil {
			return fmt.Errorf("%s: %w", email, withFields(err))
		}
		url := link.URL(org, token)
		if c.Open {
			if err := openBrowser(p.ctx, url); err != nil {
				return fmt.Errorf("no browser was opened; run the command again without --open: %w", err)
			}
		}
		return p.print(c.JSON, map[string]any{"user_id": link.User, "url": url, "expires_at": link.ExpiresAt.UTC()},
			"Sign in as %s within 15 minutes, once:\n%s\n", email, url)
	})
}

// personOr returns email or, if that is empty, the address of the only person.
func personOr(ctx context.Context, app *node.Core, email string) (string, error) {
	if email != "" {
		return email, nil
	}
	email, err := app.DB.OnlyPerson(ctx)
	if err == nil && email == "" {
		err = usageError{errors.New("there is not exactly one person: name one with --email")}
	}
	return email, err
}

// openBrowser opens a URL in the browser of the desktop. The program that does so may stay until the browser ends.
func openBrowser(ctx context.Context, url string) error {
	command := []string{"xdg-open", url}
	switch runtime.GOOS {
	case "darwin":
		command[0] = "open"
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", url}
	}
	ctx = context.WithoutCancel(ctx)
	opener := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the link is ours
	if err := opener.Start(); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- opener.Wait() }()
	select {
	case err := <-result:
		return err
	case <-time.After(time.Second):
		return nil
	}
}
