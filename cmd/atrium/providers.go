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
	"go.opentelemetry.io/otel/trace"

	"github.com/atrium-hq/atrium/adapters/rest"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// core holds the dependencies of every command that uses data.
type core struct {
	config   configs.Config
	keyring  *seal.Keyring
	db       *sqlstore.DB
	orgs     *orgs
	beyond   beyond
	services application.Services // on the stores of db
	bind     application.Bind
}

// keyring is the deployment's keyring, and whether this start created it.
type keyring struct {
	*seal.Keyring
	isNew bool
}

// newKeyring opens the keyring. If there is no key file it creates one, which newDatabase removes if the data needs
// another keyring.
func newKeyring(c configs.Config) (keyring, error) {
	ring, err := seal.Open(c.Keyring)
	if !errors.Is(err, seal.ErrNoKeyFile) {
		return keyring{Keyring: ring}, err
	}
	if err := createKeyFile(c); err != nil {
		return keyring{}, err
	}
	ring, err = seal.Open(c.Keyring)
	return keyring{Keyring: ring, isNew: true}, err
}

// createKeyFile creates the key file and its folder.
func createKeyFile(c configs.Config) error {
	if err := os.MkdirAll(filepath.Dir(c.Keyring.KeyFile), 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return seal.Create(c.Keyring.KeyFile)
}

// newDatabase opens the database, migrates it, and returns an error if its data was sealed with another keyring.
func newDatabase(ctx context.Context, c configs.Config, ring keyring) (db *sqlstore.DB, closeAll func(), err error) {
	defer func() {
		if err != nil && ring.isNew {
			_ = os.Remove(c.Keyring.KeyFile)
		}
	}()
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	if db, closeAll, err = sqlstore.Open(ctx, c.Database, ring.For(seal.Answers), openPool); err != nil {
		return nil, nil, err
	}
	fresh, err := ring.Check()
	if err == nil {
		var check []byte
		if check, err = db.KeyringCheck(ctx, fresh); err == nil {
			err = ring.Verify(check)
		}
	}
	if err == nil {
		var since time.Time
		since, err = db.DerivedSince(ctx)
		ring.DeriveSince(since)
	}
	if err != nil {
		if errors.Is(err, seal.ErrWrongKeyring) {
			err = lostKeyring(ctx, c, db, ring, err)
		}
		closeAll()
		return nil, nil, err
	}
	return db, closeAll, nil
}

func errKeyFileMissing(c configs.Config) error {
	return fmt.Errorf("the key file %s is missing, and the database holds secrets that were sealed with it: put it back from your backup, or point keyring.key_file to it", c.Keyring.KeyFile)
}

// lostKeyring returns an error that lists the data that cannot be recovered without its keyring.
func lostKeyring(ctx context.Context, c configs.Config, db *sqlstore.DB, ring keyring, wrong error) error {
	n, err := db.Credentials(ctx)
	if err != nil {
		return errors.Join(wrong, err)
	}
	affected := fmt.Sprintf("the credentials of %d connection(s) are sealed with it", n)
	if ring.isNew {
		return fmt.Errorf("%w; %s", errKeyFileMissing(c), affected)
	}
	return fmt.Errorf("%w; %s", wrong, affected)
}

// openPool opens a pool. If tracing is on, it traces the statements of requests and jobs, but not the queries that a
// node makes by itself each second.
func openPool(c driver.Connector) *sql.DB {
	if !tracing() {
		return sql.OpenDB(c)
	}
	return otelsql.OpenDB(c, otelsql.WithSpanOptions(otelsql.SpanOptions{
		DisableErrSkip: true, OmitConnResetSession: true, OmitRows: true, OmitConnectorConnect: true,
		SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
			return trace.SpanContextFromContext(ctx).IsValid()
		},
	}))
}

// orgs holds the current directory of orgs, and the registry and source types of each; a reload replaces them.
type orgs struct {
	present    atomic.Pointer[identity.Directory]
	registries atomic.Pointer[map[identity.OrgID]*chat.Registry]
	sources    atomic.Pointer[map[identity.OrgID]configs.SourceOffer]
	quotas     atomic.Pointer[map[identity.OrgID]quota.Amounts]
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
	taken := c.SourceOffers(byID)
	o.sources.Store(&taken)
	limits := c.Quotas(byID)
	o.quotas.Store(&limits)
	o.present.Store(c.Directory(byID))
	return nil
}

// missingWorkspaces describes the claim rules whose workspace does not exist. They have no effect until it is
// created.
func missingWorkspaces(ctx context.Context, d *identity.Directory, workspaces ports.Workspaces) ([]string, error) {
	var missing []string
	for _, org := range d.All() {
		for i, r := range org.ClaimRules {
			if r.Workspace == "" {
				continue
			}
			w, err := workspaces.Find(ctx, org.ID, r.Workspace)
			switch {
			case errors.Is(err, identity.ErrWorkspaceNotFound):
				missing = append(missing, fmt.Sprintf("claim_rules[%d] of the org %s names the workspace %s, which does not exist: the rule has no effect", i, org.Slug, r.Workspace))
			case err != nil:
				return nil, err
			case !w.DeletedAt.IsZero():
				missing = append(missing, fmt.Sprintf("claim_rules[%d] of the org %s names the workspace %s, which was deleted", i, org.Slug, r.Workspace))
			}
		}
	}
	return missing, nil
}

// quota returns the current quotas of an org's workspaces; the defaults if a reload has just removed the org.
func (o *orgs) quota(org identity.OrgID) quota.Amounts {
	return (*o.quotas.Load())[org].Or(quota.Default())
}

func newStores(db *sqlstore.DB) ports.Stores { return db.Stores() }

// registry returns the current registry of an org; empty if a reload has just removed the org.
func (o *orgs) registry(org identity.OrgID) *chat.Registry {
	if r, ok := (*o.registries.Load())[org]; ok {
		return r
	}
	return &chat.Registry{}
}

// newServices returns the use cases on the stores of the pool. One of them receives the events of sandboxes.
func newServices(bind application.Bind, stores ports.Stores, b beyond) application.Services {
	services := bind(stores)
	b.gateways.receiver = services.Payments
	return services
}

func newDeps(
	c *core, contract *openapi.Contract, idempotency ports.Idempotency, verifier ports.Verifier,
	metrics prometheus.Registerer, log *slog.Logger,
) rest.Deps {
	return rest.Deps{
		Contract:    contract,
		Orgs:        c.orgs.present.Load,
		Services:    c.services,
		Bind:        c.bind,
		Idempotency: idempotency,
		Verifier:    verifier,
		Sealer:      c.keyring.For(seal.Cursors),
		Digester:    c.beyond.envelope,
		Ready:       c.db.Ready,
		Metrics:     metrics,
		Log:         log,
	}
}

func serverConfig(c configs.Config) rest.Config { return c.Server }
