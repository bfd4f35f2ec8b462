package connections

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

const connectionColumns = `t.id, t.org_id, t.workspace_id, t.kind, t.name, t.status, t.config, t.secrets, t.fingerprint,
	t.secret_updated_at, t.credential_revision,
	t.server_product, t.server_version, t.server_can_write, t.checks, t.failed, t.failed_at, t.failures,
	t.last_verified_at, t.created_by, COALESCE(NULLIF(t.owner_id, ''), t.created_by) AS owner_id, t.ownerless,
	t.revoked_at, t.revision, t.created_at, t.updated_at,
	COALESCE((SELECT j.due_at FROM jobs j WHERE j.workspace_id = t.workspace_id AND j.subject = t.id
	AND j.kind = 'connection.check' AND j.state = 'queued' AND j.ended_at = 0), 0) AS next_check_at`

type connectionRow struct {
	ID                 connection.ID        `db:"id"`
	Org                identity.OrgID       `db:"org_id"`
	Workspace          identity.WorkspaceID `db:"workspace_id"`
	Kind               connection.Kind      `db:"kind"`
	Name               string               `db:"name"`
	Status             connection.Status    `db:"status"`
	Config             []byte               `db:"config"`
	Secrets            string               `db:"secrets"`
	Fingerprint        string               `db:"fingerprint"`
	SecretUpdatedAt    int64                `db:"secret_updated_at"`
	CredentialRevision int64                `db:"credential_revision"`
	ServerProduct      string               `db:"server_product"`
	ServerVersion      string               `db:"server_version"`
	ServerCanWrite     bool                 `db:"server_can_write"`
	Checks             string               `db:"checks"`
	Failed             connection.Code      `db:"failed"`
	FailedAt           int64                `db:"failed_at"`
	Failures           int                  `db:"failures"`
	LastVerifiedAt     int64                `db:"last_verified_at"`
	CreatedBy          identity.UserID      `db:"created_by"`
	Owner              identity.UserID      `db:"owner_id"`
	Ownerless          bool                 `db:"ownerless"`
	RevokedAt          int64                `db:"revoked_at"`
	Revision           int64                `db:"revision"`
	CreatedAt          int64                `db:"created_at"`
	UpdatedAt          int64                `db:"updated_at"`
	NextCheckAt        int64                `db:"next_check_at"`
}

var errConfig = errors.New("the stored configuration of a connection is not JSON")

// checkRow is a connection.Check as it is stored.
type checkRow struct {
	Step   connection.Step   `json:"step"`
	Result connection.Result `json:"result"`
	Took   int64             `json:"us"`
	Code   connection.Code   `json:"code,omitempty"`

	Answered connection.Service `json:"answered,omitempty"`
}

func (r *connectionRow) connection() (*connection.Connection, error) {
	c := new(connection.Connection)
	return c, r.fill(c)
}

// fill sets all fields of c.
func (r *connectionRow) fill(c *connection.Connection) (err error) {
	*c = connection.Connection{
		ID: r.ID, Org: r.Org, Workspace: r.Workspace, Kind: r.Kind, Name: r.Name, Status: r.Status,
		Config: r.Config, Fingerprint: r.Fingerprint,
		SecretUpdatedAt: db.FromMicros(r.SecretUpdatedAt), CredentialRevision: r.CredentialRevision,
		Server: connection.Server{Product: r.ServerProduct, Version: r.ServerVersion, CanWrite: r.ServerCanWrite},
		Failed: r.Failed, FailedAt: db.FromMicros(r.FailedAt), Failures: r.Failures,
		LastVerifiedAt: db.FromMicros(r.LastVerifiedAt),
		CreatedBy:      r.CreatedBy, Owner: r.Owner, Ownerless: r.Ownerless, RevokedAt: db.FromMicros(r.RevokedAt),
		Revision:  r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
		NextCheckAt: db.FromMicros(r.NextCheckAt),
	}
	if !json.Valid(c.Config) {
		return errConfig
	}
	if c.Secrets, err = db.TextList(r.Secrets); err != nil {
		return err
	}
	c.Checks, err = checks(r.Checks)
	return err
}

// checks decodes a probe's checks.
func checks(array string) ([]connection.Check, error) {
	return db.DecodeList(array, func(r checkRow) connection.Check {
		return connection.Check{Step: r.Step, Result: r.Result, Took: time.Duration(r.Took) * time.Microsecond,
			Code: r.Code, Answered: r.Answered}
	})
}

// storedChecks is the inverse of checks.
func storedChecks(all []connection.Check) (string, error) {
	return db.EncodeList(all, func(c connection.Check) checkRow {
		return checkRow{Step: c.Step, Result: c.Result, Took: c.Took.Microseconds(), Code: c.Code, Answered: c.Answered}
	})
}

// encoded returns the parts of c that are stored as JSON.
func encoded(c *connection.Connection) (config, secrets, checks string, err error) {
	names, err := json.Marshal(c.Secrets)
	if err != nil {
		return "", "", "", err
	}
	checks, err = storedChecks(c.Checks)
	return string(c.Config), string(names), checks, err
}
