package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// crowdRow is somebody as crowd stores them.
type crowdRow struct {
	User      string `db:"user"`
	Key       string `db:"key"`
	Org       string `db:"org"`
	Workspace string `db:"workspace"`
	Email     string `db:"email"`
	Role      int    `db:"role"`
	Operator  bool   `db:"operator"`
	Hash      []byte `db:"hash"`
	At        int64  `db:"at"`
	token     string
}

// crowd adds n members to owner's workspace, each with an API key, and returns them. The first operators of them are
// operators, who see all presences. It writes rows, because the same through the API would last minutes. Their
// words_revision says that the words of their names are stored, which no measurement searches: the server would else
// store them while it is measured.
func crowd(ctx context.Context, d database, owner person, n, operators int) ([]person, error) {
	db, err := d.open("&_pragma=synchronous(off)")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	org, err := orgOf(ctx, db, owner)
	if err != nil {
		return nil, err
	}
	rows, people := make([]crowdRow, n), make([]person, n)
	for i := range rows {
		token := account.NewToken()
		hash := token.Hash()
		rows[i] = crowdRow{
			User: id.New("usr"), Key: id.New("key"), Org: org, Workspace: owner.Workspace,
			Email: fmt.Sprintf("person-%d@example.com", i),
			Role:  int(identity.Member), Operator: i < operators, Hash: hash[:], At: time.Now().UnixMicro(),
			token: token.Reveal(),
		}
		people[i] = person{User: rows[i].User, Workspace: owner.Workspace, Token: rows[i].token}
	}
	return people, insert(ctx, db, rows, crowdUsers, crowdMemberships, crowdKeys)
}

const (
	crowdUsers = `INSERT INTO users (id, org_id, email, email_key, email_verified, name, service, operator,
		operator_by_hand, default_workspace_id, revision, words_revision, created_at, updated_at)
		VALUES (:user, :org, :email, :email, TRUE, 'Somebody', FALSE, :operator, :operator, '', 1, 1, :at, :at)`
	crowdMemberships = `INSERT INTO memberships (workspace_id, user_id, role, by_hand, revision, created_at, updated_at)
		VALUES (:workspace, :user, :role, :role, 1, :at, :at)`
	crowdKeys = `INSERT INTO api_keys (id, org_id, workspace_id, user_id, service, name, ceiling, hash, hint,
		expires_at, last_used_at, revoked_at, created_by, made_by_key, revision, created_at, updated_at)
		VALUES (:key, :org, :workspace, :user, FALSE, 'k', :role, :hash, '0000', 0, :at, 0, :user, '', 1, :at, :at)`
)

// orgOf is the org that somebody is in.
func orgOf(ctx context.Context, db *sqlx.DB, p person) (org string, err error) {
	err = db.GetContext(ctx, &org, db.Rebind(`SELECT org_id FROM workspaces WHERE id = ?`), p.Workspace)
	return org, err
}

// insert writes rows by each of the statements, in one transaction, and lets the database settle.
func insert[R any](ctx context.Context, db *sqlx.DB, rows []R, statements ...string) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, statement := range statements {
		for batch := range slices.Chunk(rows, 500) {
			if _, err := tx.NamedExecContext(ctx, statement, batch); err != nil {
				return err
			}
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return settle(ctx, db)
}

// settle does what PostgreSQL itself does within a minute of such a change.
func settle(ctx context.Context, db *sqlx.DB) error {
	if db.DriverName() != "postgres" {
		return nil
	}
	_, err := db.ExecContext(ctx, `VACUUM ANALYZE`)
	return err
}
