package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/XSAM/otelsql"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/presences"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// core is what every command that touches data stands on.
type core struct {
	config   configs.Config
	keyring  *seal.Keyring
	db       *sqlstore.DB
	orgs     *orgs
	services rest.Services
}

// keyring is the deployment's keyring, and whether this start made it.
type keyring struct {
	*seal.Keyring
	isNew bool
}

// newKeyring opens the keyring. Where there is no key file it makes one, which newDatabase takes
// back if the data turns out to need another.
func newKeyring(c configs.Config) (keyring, error) {
	ring, err := seal.Open(c.Keyring)
	if !errors.Is(err, seal.ErrNoKeyFile) {
		return keyring{Keyring: ring}, err
	}
	if err := os.MkdirAll(filepath.Dir(c.Keyring.KeyFile), 0o700); err != nil {
		return keyring{}, fmt.Errorf("data directory: %w", err)
	}
	if err := seal.Create(c.Keyring.KeyFile); err != nil {
		return keyring{}, err
	}
	ring, err = seal.Open(c.Keyring)
	return keyring{Keyring: ring, isNew: true}, err
}

// newDatabase opens the database, brings it up to date, and makes sure that the keyring is the one
// that its data was sealed with.
func newDatabase(ctx context.Context, c configs.Config, ring keyring) (db *sqlstore.DB, closeAll func(), err error) {
	defer func() {
		if err != nil && ring.isNew {
			_ = os.Remove(c.Keyring.KeyFile)
		}
	}()
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	if db, closeAll, err = sqlstore.Open(ctx, c.Database, ring, openPool); err != nil {
		return nil, nil, err
	}
	fresh, err := ring.Check()
	if err == nil {
		var check []byte
		if check, err = db.KeyringCheck(ctx, fresh); err == nil {
			err = ring.Verify(check)
		}
	}
	if err != nil {
		closeAll()
		if ring.isNew && errors.Is(err, seal.ErrWrongKeyring) {
			err = fmt.Errorf("the key file %s is missing, and the database holds secrets that were sealed with it: put it back from your backup, or point keyring.key_file to it", c.Keyring.KeyFile)
		}
		return nil, nil, err
	}
	return db, closeAll, nil
}

// openPool traces statements when traces are sent anywhere.
func openPool(c driver.Connector) *sql.DB {
	if !tracing() {
		return sql.OpenDB(c)
	}
	return otelsql.OpenDB(c, otelsql.WithSpanOptions(otelsql.SpanOptions{DisableErrSkip: true, OmitConnResetSession: true, OmitRows: true, OmitConnectorConnect: true}))
}

// orgs is the present directory of orgs and what each offers to chats; a reload swaps both.
type orgs struct {
	present    atomic.Pointer[identity.Directory]
	registries atomic.Pointer[map[identity.OrgID]*chat.Registry]
	db         *sqlstore.DB
}

func newOrgs(ctx context.Context, c configs.Config, db *sqlstore.DB) (*orgs, error) {
	o := &orgs{db: db}
	return o, o.load(ctx, c)
}

func (o *orgs) load(ctx context.Context, c configs.Config) error {
	slugs := make([]string, len(c.Orgs))
	for i, org := range c.Orgs {
		slugs[i] = org.Slug
	}
	ids, err := o.db.EnsureOrgs(ctx, slugs)
	if err != nil {
		return fmt.Errorf("orgs: %w", err)
	}
	byID := func(slug string) identity.OrgID { return ids[slug] }
	offered := c.Registries(byID)
	o.registries.Store(&offered)
	o.present.Store(c.Directory(byID))
	return nil
}

func newStores(db *sqlstore.DB) ports.Stores { return db.Stores() }

// newRegistries finds what an org offers now; one that a reload has just removed offers nothing.
func newRegistries(o *orgs) chats.Registries {
	return func(org identity.OrgID) *chat.Registry {
		if r, ok := (*o.registries.Load())[org]; ok {
			return r
		}
		return &chat.Registry{}
	}
}

func newBind(c *core, r chats.Registries) rest.Bind {
	return func(s ports.Stores) rest.Services { return bindServices(s, r, c.keyring, c.services.Presences) }
}

// newPresences is the one service of presences: what it holds in memory is the node's, and its changes
// are never part of another's transaction. Its clock goes on from the start of the process, whatever
// happens to the system's.
func newPresences(db *sqlstore.DB, s ports.Stores) *presences.Service {
	start := time.Now()
	clock := func() time.Time { return start.Add(time.Since(start)).UTC().Truncate(time.Microsecond) }
	return presences.NewService(s.Presences, clock, db.Shared())
}

// ids names the present orgs.
func (o *orgs) ids() []identity.OrgID {
	all := o.present.Load().All()
	out := make([]identity.OrgID, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

func newDeps(c *core, idempotency ports.Idempotency, bind rest.Bind, verifier ports.Verifier, mailer ports.Mailer, health *health, metrics prometheus.Registerer, log *slog.Logger) rest.Deps {
	return rest.Deps{
		Orgs: c.orgs.present.Load, Stores: c.db.Stores(), Bind: bind, Idempotency: idempotency, Verifier: verifier, Mailer: mailer, Sealer: c.keyring,
		Ready: health.ready, Metrics: metrics, Log: log,
	}
}

// health says whether this node should get requests.
type health struct {
	db       *sqlstore.DB
	draining atomic.Bool
}

func newHealth(db *sqlstore.DB) *health { return &health{db: db} }

var errDraining = errors.New("shutting down")

func (h *health) ready(ctx context.Context) error {
	if h.draining.Load() {
		return errDraining
	}
	return h.db.Ready(ctx)
}

func serverConfig(c configs.Config) rest.Config { return c.Server }
