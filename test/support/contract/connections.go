package contract

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Connections is the suite for ports.Connections.
func Connections(t *testing.T, open Opener) {
	a := open(t)
	t.Run("Add and the reads", func(t *testing.T) { connectionReads(t, a) })
	t.Run("a list has what is read alone", func(t *testing.T) { connectionsListed(t, a) })
	t.Run("other workspaces and orgs", func(t *testing.T) { connectionStrangers(t, a) })
	t.Run("Update", func(t *testing.T) { connectionUpdates(t, a) })
	t.Run("credentials", func(t *testing.T) { connectionCredentials(t, a) })
	t.Run("the limit", func(t *testing.T) { connectionLimit(t, a) })
	t.Run("a lock waits for changes, and changes wait for it", func(t *testing.T) { connectionLock(t, a) })
	t.Run("a consent works once", func(t *testing.T) { consentsUsed(t, a) })
	t.Run("attempts", func(t *testing.T) { connectionAttempts(t, a) })
}

func consentsUsed(t *testing.T, a Adapter) {
	usedOnce(t, a, connection.ErrConsentInvalid, func(s ports.Stores, h [32]byte, expires time.Time) error {
		return s.ConsentStates.Use(t.Context(), a.Orgs[0], h, expires)
	})
}

// revokeConnection revokes a connection as by.
func revokeConnection(t *testing.T, s ports.Stores, by identity.Actor, id connection.ID) {
	t.Helper()
	_, err := s.Connections.Update(t.Context(), by.Workspace, id,
		func(c *connection.Connection, _ int) error { return c.Revoke(by, nil) })
	must(t, err)
}

// sealedOf is the stored credential, "" if there is none.
func sealedOf(t *testing.T, s ports.Stores, ws identity.WorkspaceID, id connection.ID) string {
	t.Helper()
	storedStored, err := s.Connections.Sealed(t.Context(), ws, id)
	if err != nil {
		wantErr(t, err, connection.ErrRevoked)
	}
	return string(storedStored.Sealed)
}

func connectionReads(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	config := json.RawMessage(`{"deep":12345678901234567890,"tls_ca":"-----BEGIN CERTIFICATE-----\nÄ\u003c\n"}`)
	var item *connection.Connection
	must(t, a.Connections.Add(ctx, by, func(others int) (_ *connection.Connection, err error) {
		same(t, "others", others, 0)
		item, err = connection.New(by, fixture.Trial(t, connection.NewID(), 0), others)
		item.Name, item.Config = `Ärger "50%"`, config
		item.Server = connection.Server{Product: "PostgreSQL", Version: "15", CanWrite: true}
		item.Checks[7] = connection.Check{Step: connection.Privileges, Result: connection.Warning,
			Took: 1234567 * time.Microsecond, Code: connection.CredentialCanWrite,
			Answered: connection.ServicePostgres} // of another probe, to be stored
		item.Checks[0].Took = 0
		return item, err
	}))
	ciphertext := item.Sealed
	for i := range item.Checks { // stored times are exact to the microsecond
		item.Checks[i].Took = item.Checks[i].Took.Truncate(time.Microsecond)
	}
	item.Sealed = nil

	t.Run("Get returns what Add was given, without the credential", func(t *testing.T) {
		got, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		same(t, "connection", got, item)
		if got.RevokedAt != (time.Time{}) || got.FailedAt != (time.Time{}) {
			t.Fatalf("times that never were = %v, %v", got.RevokedAt, got.FailedAt)
		}
	})
	t.Run("Sealed returns the credential and its revision", func(t *testing.T) {
		got, err := a.Connections.Sealed(ctx, by.Workspace, item.ID)
		must(t, err)
		same(t, "stored", got, connection.Stored{Sealed: ciphertext, Revision: 1})
	})
	t.Run("Add stores the recorded events", func(t *testing.T) {
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(item.ID))), []string{"connection.created"})
	})
	t.Run("a connection that make refuses is not stored", func(t *testing.T) {
		id := connection.NewID()
		wantErr(t, a.Connections.Add(ctx, by, func(others int) (*connection.Connection, error) {
			same(t, "others", others, 1)
			return nil, errBoom
		}), errBoom)
		_, err := a.Connections.Get(ctx, by.Workspace, id)
		wantErr(t, err, connection.ErrNotFound)
	})
	t.Run("List returns all connections, newest first, without credentials", func(t *testing.T) {
		second, third := fixture.Connection(t, a.Stores, by), fixture.Connection(t, a.Stores, team.Admin)
		revokeConnection(t, a.Stores, by, second.ID)
		got, _, err := a.Connections.List(ctx, by.Workspace)
		must(t, err)
		ids := make([]connection.ID, len(got))
		for i, c := range got {
			ids[i] = c.ID
			if c.Sealed != nil {
				t.Errorf("%s comes with its credential", c.ID)
			}
		}
		same(t, "ids", ids, []connection.ID{third.ID, second.ID, item.ID})
		same(t, "the oldest", &got[2], item)
		live, err := a.Connections.Live(ctx, by.Workspace)
		must(t, err)
		same(t, "live", live, 2)
	})
	t.Run("List returns every revoked connection, too", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		var ids []connection.ID
		must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			for range 101 {
				c := fixture.Connection(t, tx, team.Member)
				revokeConnection(t, tx, team.Member, c.ID)
				ids = append(ids, c.ID)
			}
			return nil
		}))
		live := fixture.Connection(t, a.Stores, team.Member)
		got, _, err := a.Connections.List(ctx, team.Workspace.ID)
		must(t, err)
		if len(got) != 102 || got[0].ID != live.ID || got[1].ID != ids[100] || got[101].ID != ids[0] {
			t.Fatalf("%d connections", len(got))
		}
	})
}

func connectionStrangers(t *testing.T, a Adapter) {
	ctx := t.Context()
	home, foreign, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0]),
		fixture.NewTeam(t, a.Stores, a.Orgs[1])
	newConnection := fixture.Connection(t, a.Stores, home.Member)
	for name, tt := range map[string]struct {
		ws identity.WorkspaceID
		id connection.ID
	}{
		"another workspace":        {foreign.Workspace.ID, newConnection.ID},
		"a workspace of an org":    {other.Workspace.ID, newConnection.ID},
		"no workspace":             {"", newConnection.ID},
		"no connection":            {home.Workspace.ID, ""},
		"one that there never was": {home.Workspace.ID, connection.NewID()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.Connections.Get(ctx, tt.ws, tt.id)
			wantErr(t, err, connection.ErrNotFound)
			_, err = a.Connections.Sealed(ctx, tt.ws, tt.id)
			wantErr(t, err, connection.ErrNotFound)
			_, err = a.Connections.Update(ctx, tt.ws, tt.id, func(*connection.Connection, int) error {
				t.Error("it was changed")
				return nil
			})
			wantErr(t, err, connection.ErrNotFound)
			if tt.ws == home.Workspace.ID {
				return
			}
			list, proxies, err := a.Connections.List(ctx, tt.ws)
			must(t, err)
			live, err := a.Connections.Live(ctx, tt.ws)
			must(t, err)
			if len(list)+len(proxies) != 0 || live != 0 {
				t.Errorf("%d listed, %d live", len(list), live)
			}
		})
	}
	t.Run("a deleted workspace gets no connection", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		must(t, changeWorkspace(t, a.Stores, team.Owner, team.Workspace.ID, nil,
			func(w *account.Workspace) error { return w.Delete(team.Owner, nil) }))
		err := a.Connections.Add(ctx, team.Member, func(int) (*connection.Connection, error) {
			t.Error("it was made")
			return nil, errBoom
		})
		wantErr(t, err, identity.ErrWorkspaceNotFound)
	})
}

func connectionUpdates(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := fixture.Later(team.Member, time.Hour)
	item := fixture.Connection(t, a.Stores, team.Member)
	fixture.Connection(t, a.Stores, team.Member)

	t.Run("Update stores the change and its events", func(t *testing.T) {
		failedTrial := connection.Trial{ID: item.ID, Of: 1,
			Report: connection.FailedAt(connection.Authenticate, connection.AuthFailed), At: by.At}
		changedConnection, err := a.Connections.Update(ctx, by.Workspace, item.ID,
			func(c *connection.Connection, others int) error {
				same(t, "others", others, 1)
				same(t, "connection", c, item)
				return c.Verify(by, failedTrial, others)
			})
		must(t, err)
		got, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		same(t, "connection", got, changedConnection)
		if got.Status != connection.Failing || got.Failed != connection.AuthFailed || got.FailedAt != by.At ||
			got.Failures != 1 {
			t.Fatalf("%+v", got)
		}
		same(t, "events", kinds(eventsOn(t, a.Stores, by.Workspace, string(item.ID))),
			[]string{"connection.failing", "connection.verified", "connection.created"})
		same(t, "the credential", sealedOf(t, a.Stores, by.Workspace, item.ID), "sealed for "+string(item.ID))
	})
	t.Run("Update stores a change without an event", func(t *testing.T) {
		second := connection.Trial{ID: item.ID, Of: 1,
			Report: connection.FailedAt(connection.Authenticate, connection.TLSRequired), At: by.At.Add(time.Hour)}
		_, err := a.Connections.Update(ctx, by.Workspace, item.ID, func(c *connection.Connection, _ int) error {
			c.Check(by, second)
			return nil
		})
		must(t, err)
		got, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		if got.Failed != connection.TLSRequired || got.Failures != 2 {
			t.Fatalf("%+v", got)
		}
	})
	t.Run("nothing is saved if change fails", func(t *testing.T) {
		previous, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		_, err = a.Connections.Update(ctx, by.Workspace, item.ID, func(c *connection.Connection, _ int) error {
			must(t, c.Revoke(by, nil))
			return errBoom
		})
		wantErr(t, err, errBoom)
		current, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		same(t, "connection", current, previous)
		same(t, "the credential", sealedOf(t, a.Stores, by.Workspace, item.ID), "sealed for "+string(item.ID))
	})
	t.Run("concurrent changes are serialised", func(t *testing.T) {
		var wg sync.WaitGroup
		previous, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		for range 10 {
			wg.Go(func() {
				_, err := a.Connections.Update(ctx, by.Workspace, item.ID, func(c *connection.Connection, _ int) error {
					c.Failures++
					return nil
				})
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		current, err := a.Connections.Get(ctx, by.Workspace, item.ID)
		must(t, err)
		same(t, "failures", current.Failures, previous.Failures+10)
	})
}

func connectionCredentials(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	newConnection := fixture.Connection(t, a.Stores, by)
	verify := func(t *testing.T, total int64, ciphertext string) *connection.Connection {
		t.Helper()
		tr := fixture.Trial(t, newConnection.ID, total)
		tr.New.Sealed = []byte(ciphertext)
		c, err := a.Connections.Update(ctx, by.Workspace, newConnection.ID,
			func(c *connection.Connection, others int) error { return c.Verify(by, tr, others) })
		must(t, err)
		if c.Sealed != nil {
			t.Errorf("Update returned a credential")
		}
		return c
	}
	t.Run("a new credential replaces the old one", func(t *testing.T) {
		verify(t, 1, "second")
		got, err := a.Connections.Sealed(ctx, by.Workspace, newConnection.ID)
		must(t, err)
		same(t, "stored", got, connection.Stored{Sealed: []byte("second"), Revision: 2})
	})
	t.Run("the credential of a revoked connection is erased, and a new one can be set", func(t *testing.T) {
		revokeConnection(t, a.Stores, by, newConnection.ID)
		_, err := a.Connections.Sealed(ctx, by.Workspace, newConnection.ID)
		wantErr(t, err, connection.ErrRevoked)
		got, err := a.Connections.Get(ctx, by.Workspace, newConnection.ID)
		must(t, err)
		if got.Status != connection.Revoked || got.RevokedAt != by.At || len(got.Secrets) != 0 {
			t.Fatalf("%+v", got)
		}
		reply := verify(t, got.CredentialRevision, "third")
		same(t, "sealed", sealedOf(t, a.Stores, by.Workspace, newConnection.ID), "third")
		same(t, "status", reply.Status, connection.Active)
	})
}
