package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
)

// printBanner prints the address of the API, and on the first start how to use it.
func (p *process) printBanner(app *node.Core, addr net.Addr, owner *firstOwner) error {
	url := "http://" + strings.Replace(addr.String(), "[::]", "localhost", 1)
	if owner != nil { // the port that is known now, if any free one was asked for
		owner.link = strings.Replace(owner.link, "http://"+app.Config.Server.Addr+"/", url+"/", 1)
	}
	if app.Config.Log.Format == "json" {
		return p.logBanner(app, url, owner)
	}
	var next string
	if owner != nil {
		note, key := "below is shown\nonly now", owner.token.Reveal()
		signIn := "To sign in with a browser, create a link with: " + p.hint("console") + "\n"
		if owner.link != "" {
			signIn = "Sign in with a browser within 15 minutes, once:\n" + owner.link + "\n"
		}
		if owner.ends {
			note += " and expires in 24 hours"
		}
		if owner.file != "" {
			note, key = "is in the file\n"+owner.file+" and expires in 24 hours", "'$(cat '"+owner.file+"')'"
		}
		next = fmt.Sprintf(`
This is the first start: %s owns the workspace "default". The API key %s; %s.

curl %s/api/prompt-templates -H 'Authorization: Bearer %s'

%s
`, owner.email, note, describeStorage(app), url, key, signIn)
	} else {
		var err error
		if next, err = p.nextKey(app); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "Atrium %s at %s (reference: %s/api/docs)\n%s", version, url, url, next)
	return err
}

// logBanner prints what printBanner does as one line of JSON.
func (p *process) logBanner(app *node.Core, url string, owner *firstOwner) error {
	attrs := []slog.Attr{
		slog.String("version", version), slog.String("url", url), slog.String("reference", url+"/api/docs"),
	}
	if owner == nil {
		next, err := p.nextKey(app)
		if err != nil {
			return err
		}
		attrs = append(attrs, slog.String("next", strings.TrimSpace(next)))
	} else {
		attrs = append(attrs, slog.Bool("first_start", true), slog.String("owner", owner.email),
			slog.String("workspace", firstWorkspace), slog.String("storage", describeStorage(app)))
		if owner.file != "" {
			attrs = append(attrs, slog.String("api_key_file", owner.file))
		} else {
			attrs = append(attrs, slog.String("api_key", owner.token.Reveal()), slog.String("sign_in_url", owner.link))
		}
		if owner.ends {
			attrs = append(attrs, slog.Time("api_key_expires_at", time.Now().Add(firstKeyLasts).UTC()))
		}
	}
	p.announce(app, "Atrium "+version+" at "+url+" is ready", attrs...)
	return nil
}

// announce prints a message to standard output, in the format of the log.
func (p *process) announce(app *node.Core, message string, attrs ...slog.Attr) {
	if app.Config.Log.Format != "json" {
		fmt.Fprintln(p.stdout, message)
		return
	}
	handler := node.NewHandler(p.stdout, configs.Log{Format: app.Config.Log.Format})
	slog.New(handler).LogAttrs(p.ctx, slog.LevelInfo, message, attrs...) //nolint:sloglint // what the text format prints
}

// nextKey returns the command that creates an API key or, if there are no people, the first person.
func (p *process) nextKey(app *node.Core) (string, error) {
	empty, err := app.DB.Empty(p.ctx)
	if err != nil {
		return "", err
	}
	email, err := app.DB.OnlyPerson(p.ctx)
	label, command := "an API key", p.hint("token create")+" --email "+cmp.Or(email, "EMAIL")
	if empty {
		label, command = "the first person", p.hint("user create")+" --email EMAIL --role owner"
	}
	hasSeveral := len(app.Orgs.Directory().All()) > 1
	if hasSeveral {
		command += " --org SLUG"
	}
	next := "Create " + label + " with: " + command + "\n"
	if !empty {
		signIn := p.hint("console")
		if email == "" {
			signIn += " --email EMAIL"
		}
		if hasSeveral {
			signIn += " --org SLUG"
		}
		next += "Sign in with a browser with a link from: " + signIn + "\n"
	}
	return next, err
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
	case filepath.Dir(database) == filepath.Clean(app.Config.Data) &&
		filepath.Dir(key) == filepath.Clean(app.Config.Data):
		return "everything is kept in " + app.Config.Data
	}
	return "everything is kept in " + database + " and sealed by " + key
}
