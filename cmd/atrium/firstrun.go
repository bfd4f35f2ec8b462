package main

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

const (
	firstEmail     = "owner@localhost"
	firstWorkspace = "default"
)

// firstOwner is who was made on the first start.
type firstOwner struct {
	email string
	token account.Token
}

// firstRun makes the first person of a new deployment that has a single org, so that nobody has to
// be let in by hand. Where there are several orgs, `atrium user create` makes the people. The address
// is a name and nobody's: no issuer's word for it lets anybody be that person.
func firstRun(ctx context.Context, app *core) (*firstOwner, error) {
	all := app.orgs.present.Load().All()
	if empty, err := app.db.Empty(ctx); err != nil || !empty || len(all) != 1 {
		return nil, err
	}
	by := identity.System(all[0].ID, "", "first-run", time.Now())
	made, err := app.services.Accounts.Provision(ctx, by, accounts.Provision{
		Email: firstEmail, Name: "Owner", Role: identity.Owner, Workspace: firstWorkspace, KeyName: "first key",
	})
	if errors.Is(err, account.ErrEmailTaken) || errors.Is(err, account.ErrAlreadyMember) { // another node was faster, and has printed the key
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &firstOwner{email: firstEmail, token: made.Token}, nil
}
