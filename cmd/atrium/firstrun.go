package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	firstEmail     = "owner@localhost"
	firstWorkspace = "default"
)

// firstKeyLasts is the lifetime of the first API key, without sample data: long enough to create another key with a
// suitable end and role.
const firstKeyLasts = 24 * time.Hour

// firstOwner is the person that the first start created.
type firstOwner struct {
	email string
	token account.Token
	ends  bool   // whether the key ends after firstKeyLasts
	link  string // signs the person in with a browser, once; empty if the token is not printed
	file  string // the file with the token; empty if the token is printed
}

// firstRun creates the first person if a new deployment has a single org. With several orgs, `atrium user create`
// creates the people. The address is only a name and is not verified, so that no issuer's token can join the account.
//
// The key and a link that signs in are printed only to a terminal, or with sample data: otherwise they would stay in a
// journal. In other cases the key is in a file that only its owner can read, and atrium console creates a link.
func (p *process) firstRun(ctx context.Context, app *node.Core, demo bool) (*firstOwner, error) {
	all := app.Orgs.Directory().All()
	if empty, err := app.DB.Empty(ctx); err != nil || !empty || len(all) != 1 {
		return nil, err
	}
	if all[0].Keys.NoPersonal { // people sign in, and create workspaces of their own
		return nil, nil
	}
	by := identity.System(all[0].ID, "", "first-run", time.Now())
	first := accounts.Provision{
		Email:     firstEmail,
		Name:      "Owner",
		Role:      identity.Owner,
		Workspace: firstWorkspace,
		KeyName:   "first key",
	}
	if !demo {
		first.KeyEndsAt = by.At.Add(firstKeyLasts)
	}
	result, err := app.Services.Accounts.Provision(ctx, by, &all[0], first)
	// another node was faster, and has printed the key
	if errors.Is(err, account.ErrEmailTaken) || errors.Is(err, account.ErrAlreadyMember) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner := &firstOwner{email: firstEmail, token: result.Token, ends: !demo}
	if demo || p.atTerminal() {
		link, signIn, err := app.Services.Sessions.LinkFor(ctx, by, firstEmail)
		if err != nil {
			return nil, fmt.Errorf("no link to sign in was made, create one with %s: %w", p.hint("console"), err)
		}
		owner.link = signIn.URL(&all[0], link)
		return owner, nil
	}
	owner.file = filepath.Join(app.Config.Data, "first-api-key")
	if err := writeFirstKey(owner.file, owner.token); err != nil {
		return nil, fmt.Errorf("the first API key was not written, create another one with %s --email %s: %w",
			p.hint("token create"), firstEmail, err)
	}
	return owner, nil
}

// writeFirstKey writes a token to a new file that only its owner can read. It replaces an earlier deployment's file.
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
