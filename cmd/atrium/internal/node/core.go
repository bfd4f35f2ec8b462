package node

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/otel/trace"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/connections"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/otlp"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

// Core holds the dependencies of every command that uses data.
type Core struct {
	Config   configs.Config
	Keyring  *seal.Keyring
	DB       *sqlstore.Store
	Orgs     *Orgs
	External External
	Services application.Services // on the stores of DB
	Bind     application.Bind
}

// OpenedKeyring is the deployment's keyring, and whether this start created it.
type OpenedKeyring struct {
	*seal.Keyring
	isNew bool
}

// NewKeyring opens the keyring. If there is no key file it creates one, which NewDatabase removes if the data needs
// another keyring.
func NewKeyring(c configs.Config) (OpenedKeyring, error) {
	ring, err := seal.Open(c.Keyring)
	if !errors.Is(err, seal.ErrNoKeyFile) {
		return OpenedKeyring{Keyring: ring}, err
	}
	if err := CreateKeyFile(c); err != nil {
		return OpenedKeyring{}, err
	}
	ring, err = seal.Open(c.Keyring)
	return OpenedKeyring{Keyring: ring, isNew: true}, err
}

// CreateFolder creates the data directory if it does not exist.
func CreateFolder(c configs.Config) error {
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// CreateKeyFile creates the key file and its folder.
func CreateKeyFile(c configs.Config) error {
	if err := os.MkdirAll(filepath.Dir(c.Keyring.KeyFile), 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return seal.Create(c.Keyring.KeyFile)
}

// NewDatabase opens the database, migrates it, and returns an error if its data was sealed with another keyring.
func NewDatabase(
	ctx context.Context, c configs.Config, ring OpenedKeyring,
) (db *sqlstore.Store, closeAll func(), err error) {
	defer func() {
		if err != nil && ring.isNew {
			_ = os.Remove(c.Keyring.KeyFile)
		}
	}()
	if c.Database.File() != "" {
		if err := CreateFolder(c); err != nil {
			return nil, nil, err
		}
	}
	if db, closeAll, err = sqlstore.Open(ctx, c.Database, ring.Sealer(seal.Answers), OpenPool); err != nil {
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
		var start time.Time
		start, err = db.DerivedSince(ctx)
		ring.DeriveSince(start)
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

// KeyFileMissing returns the error for a deployment whose key file is missing.
func KeyFileMissing(c configs.Config) error {
	return fmt.Errorf("the key file %s is missing, and the database holds secrets that were sealed with it: put it "+
		"back from your backup, or point keyring.key_file to it", c.Keyring.KeyFile)
}

// lostKeyring returns an error that lists the data that cannot be recovered without its keyring.
func lostKeyring(ctx context.Context, c configs.Config, db *sqlstore.Store, ring OpenedKeyring, cause error) error {
	n, err := connections.Credentials(ctx, db.DB)
	if err != nil {
		return errors.Join(cause, err)
	}
	consequence := fmt.Sprintf("the credentials of %s are sealed with it", Count(n, "connection"))
	if ring.isNew {
		return fmt.Errorf("%w; %s", KeyFileMissing(c), consequence)
	}
	return fmt.Errorf("%w; %s", cause, consequence)
}

// OpenPool opens a pool. If tracing is on, it traces the statements of requests and jobs, but not the queries that a
// node makes by itself each second.
func OpenPool(c driver.Connector) *sql.DB {
	if !otlp.Configured() {
		return sql.OpenDB(c)
	}
	return otelsql.OpenDB(c, otelsql.WithSpanOptions(otelsql.SpanOptions{
		DisableErrSkip: true, OmitConnResetSession: true, OmitRows: true, OmitConnectorConnect: true,
		SpanFilter: func(ctx context.Context, _ otelsql.Method, _ string, _ []driver.NamedValue) bool {
			return trace.SpanContextFromContext(ctx).IsValid()
		},
	}))
}

// NewStores returns the stores of db.
func NewStores(db *sqlstore.Store) ports.Stores { return db.Stores() }

// NewServices returns the use cases on the stores of the pool. One of them receives the events of sandboxes.
func NewServices(bind application.Bind, stores ports.Stores, external External) application.Services {
	services := bind(stores)
	external.Gateways.receiver = services.Payments
	return services
}
