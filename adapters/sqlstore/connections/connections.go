package connections

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Connections stores connections to warehouses.
type Connections struct{ db *Store }

var _ ports.Connections = (*Connections)(nil)

// Add implements ports.Connections.
func (s *Connections) Add(ctx context.Context, by identity.Actor,
	make func(others int) (*connection.Connection, error)) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if err := tx.LockLiveWorkspace(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		others, err := tx.liveConnections(ctx, by.Workspace, "")
		if err != nil {
			return err
		}
		c, err := make(others)
		if err != nil {
			return err
		}
		config, secrets, checks, err := encoded(c)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			INSERT INTO connections (id, org_id, workspace_id, kind, name, status, config, secrets, fingerprint,
			secret_updated_at, credential_revision,
				server_product, server_version, server_can_write, checks, failed, failed_at, failures, last_verified_at,
				created_by, owner_id, revoked_at, revision, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.ID, c.Org, c.Workspace, c.Kind, c.Name, c.Status, config, secrets, c.Fingerprint,
			db.Micros(c.SecretUpdatedAt), c.CredentialRevision,
			c.Server.Product, c.Server.Version, c.Server.CanWrite, checks, c.Failed, db.Micros(c.FailedAt), c.Failures,
			db.Micros(c.LastVerifiedAt),
			c.CreatedBy, c.Owner, db.Micros(c.RevokedAt), c.Revision,
			db.Micros(c.CreatedAt), db.Micros(c.UpdatedAt)); err != nil {
			return err
		}
		return tx.keepCredential(ctx, c)
	})
}

// liveConnections counts a workspace's live connections, without one of them.
func (store *Store) liveConnections(
	ctx context.Context, ws identity.WorkspaceID, but connection.ID,
) (n int, err error) {
	_, err = store.Get(ctx, &n,
		`SELECT COUNT(*) FROM connections WHERE workspace_id = ? AND revoked_at = 0 AND id <> ?`, ws, but)
	return n, err
}

// keepCredential stores c's new credential, or erases it if c is revoked, and records c's events.
func (store *Store) keepCredential(ctx context.Context, c *connection.Connection) error {
	if c.Status == connection.Revoked {
		if err := store.Erase(ctx, `DELETE FROM connection_credentials WHERE connection_id = ?`, c.ID); err != nil {
			return err
		}
	} else if c.Sealed != nil {
		revision := int64(0)
		if c.Bound {
			revision = c.CredentialRevision
		}
		if err := store.Erase(ctx, `
			INSERT INTO connection_credentials (connection_id, sealed, revision) VALUES (?, ?, ?)
			ON CONFLICT (connection_id) DO UPDATE
			SET sealed = excluded.sealed, revision = excluded.revision`, c.ID, c.Sealed, revision); err != nil {
			return err
		}
	}
	return store.Record(ctx, c.RecordedAt(c.Revision, string(c.ID)))
}

// Get implements ports.Connections.
func (s *Connections) Get(
	ctx context.Context, ws identity.WorkspaceID, id connection.ID,
) (*connection.Connection, error) {
	return s.db.connection(ctx, ws, id, "")
}

func (store *Store) connection(ctx context.Context, ws identity.WorkspaceID, id connection.ID,
	lock string) (*connection.Connection, error) {
	var row connectionRow
	found, err := store.Get(ctx, &row, `SELECT `+connectionColumns+` FROM connections t WHERE t.workspace_id = ?
		AND t.id = ?`+lock, ws, id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, connection.ErrNotFound
	}
	return row.connection()
}

// Live implements ports.Connections.
func (s *Connections) Live(ctx context.Context, ws identity.WorkspaceID) (int, error) {
	return s.db.liveConnections(ctx, ws, "")
}

// Sealed implements ports.Connections.
func (s *Connections) Sealed(
	ctx context.Context, ws identity.WorkspaceID, id connection.ID,
) (connection.Stored, error) {
	var row struct {
		Revision int64  `db:"credential_revision"`
		Sealed   []byte `db:"sealed"`
		For      int64  `db:"sealed_for"`
	}
	found, err := s.db.Get(ctx, &row, `
		SELECT t.credential_revision, k.sealed, COALESCE(k.revision, 0) AS sealed_for FROM connections t LEFT
		JOIN connection_credentials k ON k.connection_id = t.id
		WHERE t.workspace_id = ? AND t.id = ?`, ws, id)
	switch {
	case err != nil:
		return connection.Stored{}, err
	case !found:
		return connection.Stored{}, connection.ErrNotFound
	case row.Sealed == nil:
		return connection.Stored{}, connection.ErrRevoked
	}
	return connection.Stored{Sealed: row.Sealed, Revision: row.Revision, Bound: row.For != 0}, nil
}

// Lock implements ports.Connections.
func (s *Connections) Lock(
	ctx context.Context, ws identity.WorkspaceID, id connection.ID,
) (*connection.Connection, error) {
	return s.db.connection(ctx, ws, id, s.db.Dialect.Lock)
}

// Update implements ports.Connections.
func (s *Connections) Update(ctx context.Context, ws identity.WorkspaceID, id connection.ID,
	change func(*connection.Connection, int) error) (*connection.Connection, error) {
	var c *connection.Connection
	err := s.db.inTx(ctx, func(tx *Store) (err error) {
		tx.DeclareChange(ws)
		if c, err = tx.connection(ctx, ws, id, tx.Dialect.Lock); err != nil {
			return err
		}
		if c.Status == connection.Revoked { // the change may restore it, which counts
			if err := tx.LockLiveWorkspace(ctx, c.Org, ws); err != nil {
				return err
			}
		}
		others, err := tx.liveConnections(ctx, ws, id)
		if err != nil {
			return err
		}
		previous, err := connectionValues(c)
		if err != nil {
			return err
		}
		if err := change(c, others); err != nil {
			return err
		}
		if err := tx.saveConnection(ctx, previous, c); err != nil {
			return err
		}
		if c.Status == connection.Revoked || c.Sealed != nil {
			if err := tx.EraseRequests(ctx, c.Org, string(c.ID)); err != nil {
				return err
			}
		}
		return tx.keepCredential(ctx, c)
	})
	if err != nil {
		return nil, err
	}
	c.Sealed, c.Bound = nil, false
	return c, nil
}

// connectionValues returns the values of the columns that may change, in the order of saveConnection.
func connectionValues(c *connection.Connection) ([]any, error) {
	config, secrets, checks, err := encoded(c)
	return []any{
		c.Name, c.Status, config, secrets, c.Fingerprint, db.Micros(c.SecretUpdatedAt), c.CredentialRevision,
		c.Server.Product, c.Server.Version, c.Server.CanWrite, checks, c.Failed, db.Micros(c.FailedAt), c.Failures,
		db.Micros(c.LastVerifiedAt), db.Micros(c.RevokedAt), c.Owner, c.Ownerless, c.Revision, db.Micros(c.UpdatedAt),
	}, err
}

// saveConnection writes a locked connection if its values changed.
func (store *Store) saveConnection(ctx context.Context, previous []any, c *connection.Connection) error {
	values, err := connectionValues(c)
	if err != nil || slices.Equal(values, previous) {
		return err
	}
	_, err = store.Exec(ctx, `
		UPDATE connections SET name = ?, status = ?, config = ?, secrets = ?, fingerprint = ?, secret_updated_at = ?,
		credential_revision = ?,
			server_product = ?, server_version = ?, server_can_write = ?, checks = ?, failed = ?, failed_at = ?,
			failures = ?, last_verified_at = ?, revoked_at = ?, owner_id = ?, ownerless = ?, revision = ?,
			updated_at = ?
		WHERE workspace_id = ? AND id = ?`, append(values, c.Workspace, c.ID)...)
	return err
}
