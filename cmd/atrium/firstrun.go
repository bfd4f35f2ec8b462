package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	firstEmail     = "owner@localhost"
	firstWorkspace = "default"
)

// firstKeyLasts is how long the first API key works where no sample data was asked for: long enough to make
// another one with an end and a role that fit.
const firstKeyLasts = 24 * time.Hour

// firstOwner is who was made on the first start.
type firstOwner struct {
	email string
	token account.Token
	ends  bool   // the key does, after firstKeyLasts
	file  string // that holds the token; empty where it is printed
}

// firstRun makes the first person of a new deployment that has a single org, so that nobody has to
// be let in by hand. Where there are several orgs, `atrium user create` makes the people. The address
// is a name and nobody's: no issuer's word for it lets anybody be that person.
//
// The key is printed only to a person at a terminal, or with sample data: otherwise it would stay in a journal. It
// is in a file then that its owner alone can read.
func (p *process) firstRun(ctx context.Context, app *core, demo bool) (*firstOwner, error) {
	all := app.orgs.present.Load().All()
	if empty, err := app.db.Empty(ctx); err != nil || !empty || len(all) != 1 {
		return nil, err
	}
	if all[0].Keys.NoPersonal { // people sign in, and make workspaces of their own
		return nil, nil
	}
	by := identity.System(all[0].ID, "", "first-run", time.Now())
	first := accounts.Provision{Email: firstEmail, Name: "Owner", Role: identity.Owner, Workspace: firstWorkspace, KeyName: "first key"}
	if !demo {
		first.KeyEndsAt = by.At.Add(firstKeyLasts)
	}
	made, err := app.services.Accounts.Provision(ctx, by, &all[0], first)
	if errors.Is(err, account.ErrEmailTaken) || errors.Is(err, account.ErrAlreadyMember) { // another node was faster, and has printed the key
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner := &firstOwner{email: firstEmail, token: made.Token, ends: !demo}
	if demo || p.atTerminal() {
		return owner, nil
	}
	owner.file = filepath.Join(app.config.Data, "first-api-key")
	if err := writeFirstKey(owner.file, owner.token); err != nil {
		return nil, fmt.Errorf("the first API key was not written, make another one with %s --email %s: %w", p.self("token create"), firstEmail, err)
	}
	return owner, nil
}

// atTerminal reports whether a person reads what is printed.
func (p *process) atTerminal() bool {
	file, ok := p.stdout.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// writeFirstKey writes a token to a new file that only its owner can read. One that is there is of an earlier
// deployment.
func writeFirstKey(path string, token account.Token) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(token.Reveal() + "\n")
	return errors.Join(err, f.Close())
}
