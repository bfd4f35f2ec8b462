package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// grant is what the commands user create and token create take.
type grant struct {
	org, workspace, name, role string
	operator                   bool
	scopes, addresses          []string
	expires                    time.Duration
}

func grantOf(t *testing.T, command string, flags []string) (g grant) {
	t.Helper()
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.StringVar(&g.org, "org", "", "")
	set.StringVar(&g.workspace, "workspace", "default", "")
	set.StringVar(&g.name, "name", "", "")
	set.StringVar(&g.role, "role", "", "")
	set.BoolVar(&g.operator, "operator", false, "")
	set.Func("expires", "", func(v string) (err error) { g.expires, err = configs.ParseDuration(v); return err })
	set.Func("scope", "", func(v string) error { g.scopes = append(g.scopes, v); return nil })
	set.Func("allow-address", "", func(v string) error { g.addresses = append(g.addresses, v); return nil })
	require.NoError(t, set.Parse(flags))
	return g
}

// openStore is what this process has open of a deployment, beside the running servers: the store, for people that a
// test makes, and the database, for its statements. Each is opened when it is first used. They are closed before a
// process of the deployment begins or ends, which may replace the database, or be the last to close it.
type openStore struct {
	mu    sync.Mutex
	db    *sqlstore.Store
	close func()  // nil: the store is not open
	asked *sql.DB // nil: it is not open
}

// open returns the store. The caller must hold its lock.
func (o *openStore) open(ctx context.Context, d *deployment) (*sqlstore.Store, error) {
	if o.close != nil {
		return o.db, nil
	}
	url := d.database
	if url == "" {
		url = "sqlite:" + filepath.Join(d.data, "atrium.db")
	}
	db, closeDB, err := sqlstore.Open(ctx, sqlstore.Config{URL: secret.New(url), MaxConns: 2,
		StatementTimeout: patience}, nil, sql.OpenDB)
	if err != nil {
		return nil, err
	}
	if err := d.signsEvents(ctx, db); err != nil {
		closeDB()
		return nil, err
	}
	o.db, o.close = db, closeDB
	return db, nil
}

// end closes what is open. The caller must hold the lock.
func (o *openStore) end() {
	if o.close != nil {
		o.close()
	}
	if o.asked != nil {
		_ = o.asked.Close()
	}
	o.db, o.close, o.asked = nil, nil, nil
}

// closeStore closes what is open, after the calls that use it. The next call opens it again.
func (d *deployment) closeStore() {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	d.store.end()
}

// provisions calls the use case of user create, token create or console in this process, beside the running server.
// The tests make a thousand people, keys and sign-in links: as processes, these would need a minute of the processor.
// It knows no key policy of an org: tests of those run the commands.
func (d *deployment) provisions(ctx context.Context, org string,
	call func(ports.Stores, identity.Actor, *identity.Org) error) (err error) {
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	defer func() {
		if err != nil {
			d.store.end() // the database may have been replaced, or its connections ended
		}
	}()
	db, err := d.store.open(ctx, d)
	if err != nil {
		return err
	}
	ids, err := db.Orgs(ctx)
	if err != nil {
		return err
	}
	if org == "" && len(ids) == 1 {
		for slug := range ids {
			org = slug
		}
	}
	id, ok := ids[org]
	if !ok {
		return fmt.Errorf("no org %q is in the database", org)
	}
	return call(db.Stores(), identity.System(id, "", "cli", time.Now()), &identity.Org{ID: id, Slug: org})
}

func accountsOf(s ports.Stores) *accounts.Service {
	return accounts.NewService(s.Atomic, s.AccountStores, accounts.Deps{Events: s.Events})
}

// signsEvents makes db sign events as the program does: others are not told of events without a signature.
func (d *deployment) signsEvents(ctx context.Context, db *sqlstore.Store) error {
	ring, err := seal.Open(seal.Config{KeyFile: d.keyFile()})
	if err != nil {
		return err
	}
	envelope, err := seal.NewEnvelope(ring, func(fresh []byte) ([]byte, error) { return db.FingerprintKey(ctx, fresh) })
	if err != nil {
		return err
	}
	db.SignEvents(envelope)
	return nil
}

// made is what user create and token create print.
type made struct {
	Token     string `json:"token"`
	User      string `json:"user_id"`
	Workspace string `json:"workspace_id"`
	Key       string `json:"api_key_id"`
}

// byCommand runs user create or token create. It is for deployments that provisions cannot know, such as one with
// orgs that are no longer configured.
func (d *deployment) byCommand(t *testing.T, args ...string) (m made) {
	t.Helper()
	out := d.must(t, args...)
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatalf("%v wrote %q: %v", args, out, err)
	}
	return m
}

// user creates a user with a role in a workspace, "default" unless flags say otherwise. The flags are those of the
// command user create.
func (s *server) user(t *testing.T, role string, flags ...string) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	email := fmt.Sprintf("%s.%d@example.com", role, people.Add(1))
	g := grantOf(t, "user create", flags)
	var m made
	err := s.provisions(ctx, g.org, func(stores ports.Stores, by identity.Actor, org *identity.Org) error {
		p, err := accountsOf(stores).Provision(ctx, by, org, accounts.Provision{
			Email: email, Verified: true, Name: g.name, Role: identity.ParseRole(role), Operator: g.operator,
			Workspace: g.workspace, KeyName: "made by atrium user create",
		})
		m = made{Token: p.Token.Reveal(), User: string(p.User), Workspace: string(p.Workspace)}
		return err
	})
	if err != nil {
		m = s.byCommand(t, append([]string{"user", "create", "--json", "--email", email, "--role", role}, flags...)...)
	}
	return &client{server: s, token: m.Token, id: m.User, workspace: m.Workspace, email: email}
}

// key creates another key for the same user. The flags are those of the command token create.
func (c *client) key(t *testing.T, flags ...string) (other *client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	flags = append([]string{"--workspace", c.workspace}, flags...)
	g := grantOf(t, "token create", flags)
	if g.name == "" {
		g.name = "made by atrium token create"
	}
	var m made
	err := c.server.provisions(ctx, g.org, func(stores ports.Stores, by identity.Actor, org *identity.Org) error {
		draft := account.KeyDraft{Name: g.name, Ceiling: identity.ParseRole(g.role)}
		draft.Scopes, _ = identity.NewScopes(g.scopes)
		draft.Networks, _ = identity.NewNetworks(g.addresses)
		if g.expires != 0 {
			draft.ExpiresAt = by.At.Add(g.expires)
		}
		k, token, err := accountsOf(stores).KeyFor(ctx, by, org, c.email, g.workspace, draft)
		if err == nil {
			m = made{Token: token.Reveal(), Key: string(k.ID)}
		}
		return err
	})
	if err != nil {
		m = c.server.byCommand(t, append([]string{"token", "create", "--json", "--email", c.email}, flags...)...)
	}
	movedClient := *c
	movedClient.token = m.Token
	return &movedClient, m.Key
}
