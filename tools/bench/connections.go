package main

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
)

// connectionRow is a connection as connect stores it.
type connectionRow struct {
	ID        string `db:"id"`
	Workspace string `db:"workspace"`
	Owner     string `db:"owner"`
	Config    string `db:"config"`
	Checks    string `db:"checks"`
	At        int64  `db:"at"`
}

// connect gives the workspace n connections. It writes rows: each would need a warehouse of its own.
func connect(ctx context.Context, d database, owner person, n int) error {
	db, err := d.open("")
	if err != nil {
		return err
	}
	defer db.Close()
	// As values, since sqlx takes their colons for names.
	config := `{"host":"db.example.com","port":5432,"database":"shop","username":"reader","tls":"verify_full"}`
	checks := `[{"step":"resolve","result":"ok","us":310},{"step":"policy","result":"ok","us":2},{"step":"connect","result":"ok","us":1140},{"step":"tls","result":"ok","us":9120},` +
		`{"step":"authenticate","result":"ok","us":7300},{"step":"database","result":"ok","us":410},{"step":"read","result":"ok","us":900},{"step":"privileges","result":"warning","us":700,"code":"credential_can_write"}]`
	rows := make([]connectionRow, n)
	for i := range rows {
		rows[i] = connectionRow{ID: id.New("con"), Workspace: owner.Workspace, Owner: owner.User, Config: config,
			Checks: checks, At: time.Now().UnixMicro()}
	}
	_, err = db.NamedExecContext(ctx, `
		INSERT INTO connections (id, org_id, workspace_id, kind, name, status, config, secrets, fingerprint,
		secret_updated_at, credential_revision,
			server_product, server_version, server_can_write, checks, failed, failed_at, failures, last_verified_at,
			created_by, revoked_at, revision, created_at, updated_at)
		VALUES (:id, '', :workspace, 'postgres', 'The shop', 'active', :config, '["password"]', '0123456789abcdef', :at,
		1, 'PostgreSQL', '15.4', TRUE, :checks, '', 0, 0, :at, :owner, 0, 1, :at, :at)`, rows)
	return err
}
