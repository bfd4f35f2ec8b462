package contract

import (
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// lockSerialises runs transactions that read one object and then write what follows from it to a chat. Half of them
// take the lock, half make a change of the locked object. If any two of them overlapped, a write would be lost.
func lockSerialises(t *testing.T, a Adapter, by identity.Actor, lock, change func(tx ports.Stores) error) {
	t.Helper()
	const n = 16
	ctx := t.Context()
	tally := fixture.Chat(t, a.Stores, by, chat.Draft{Content: chat.Content{Name: "tally"}})
	second := a.Second()
	var wg sync.WaitGroup
	for i := range n {
		stores, hold := a.Stores, lock
		if i%2 == 1 {
			stores = second
		}
		if i%4 > 1 {
			hold = change
		}
		wg.Go(func() {
			if err := stores.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				if err := hold(tx); err != nil {
					return err
				}
				previous, err := tx.Chats.Get(ctx, by, tally.ID)
				if err != nil {
					return err
				}
				_, err = tx.Chats.Update(ctx, by, tally.ID, func(c *chat.Template) error {
					longer := chat.Changes{Description: new(previous.Description + "|")}
					return c.Change(by, nil, longer, chat.Facts{Registry: fixture.Registry(t)})
				})
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	current, err := a.Chats.Get(ctx, by, tally.ID)
	must(t, err)
	if current.Description != strings.Repeat("|", n) {
		t.Errorf("%d of %d writes are kept", len(current.Description), n)
	}
}

// connectionLock is about the Lock of ports.Connections.
func connectionLock(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	newConnection := fixture.Connection(t, a.Stores, team.Member)
	lock := func(tx ports.Stores) error {
		got, err := tx.Connections.Lock(ctx, newConnection.Workspace, newConnection.ID)
		if err == nil {
			same(t, "the connection that Lock returns", got, newConnection)
		}
		return err
	}
	lockSerialises(t, a, team.Member, lock, func(tx ports.Stores) error {
		_, err := tx.Connections.Update(ctx, newConnection.Workspace, newConnection.ID,
			func(*connection.Connection, int) error { return nil })
		return err
	})
	_, err := a.Connections.Lock(ctx, fixture.NewTeam(t, a.Stores, a.Orgs[1]).Workspace.ID, newConnection.ID)
	wantErr(t, err, connection.ErrNotFound)
}

// sourceLock is about the Lock of ports.Sources.
func sourceLock(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	newSource := fixture.Source(t, a.Stores, team.Member, fixture.SheetReading())
	lock := func(tx ports.Stores) error {
		got, err := tx.Sources.Lock(ctx, newSource.Workspace, newSource.ID)
		if err == nil {
			same(t, "the source that Lock returns", got, newSource)
		}
		return err
	}
	lockSerialises(t, a, team.Member, lock, func(tx ports.Stores) error {
		_, err := tx.Sources.Update(ctx, newSource.Workspace, newSource.ID, func(*source.Source) error { return nil })
		return err
	})
	_, err := a.Sources.Lock(ctx, fixture.NewTeam(t, a.Stores, a.Orgs[1]).Workspace.ID, newSource.ID)
	wantErr(t, err, source.ErrNotFound)
}

// workspaceLock is about the Lock of ports.Workspaces.
func workspaceLock(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	id := team.Workspace.ID
	lockSerialises(t, a, team.Member, func(tx ports.Stores) error { return tx.Workspaces.Lock(ctx, team.Org, id) },
		func(tx ports.Stores) error {
			_, err := tx.Workspaces.Update(ctx, team.Member, id, nil, func(*account.Workspace) error { return nil })
			return err
		})
	wantErr(t, a.Workspaces.Lock(ctx, a.Orgs[1], id), identity.ErrWorkspaceNotFound)
}
