package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrNotSigning is returned by VerifyEvents if SignEvents was not called.
var ErrNotSigning = errors.New("the key of the chains is not known")

// VerifyEvents checks the chain of one workspace, or of all if ws is empty, and calls report with each result.
// It reads each chain in one snapshot, and changes nothing.
func (db *DB) VerifyEvents(ctx context.Context, ws identity.WorkspaceID, report func(event.Report) error) error {
	d := db.digester()
	if d == nil {
		return ErrNotSigning
	}
	where := newConditions(`TRUE`)
	where.when(ws != "", `workspace_id = ?`, ws)
	var all, linked []chainKey
	if err := db.list(ctx, &all, `SELECT DISTINCT org_id, workspace_id FROM events WHERE `+where.sql(),
		where.args()...); err != nil {
		return err
	}
	if err := db.list(ctx, &linked, `SELECT org_id, workspace_id FROM event_chains WHERE `+where.sql()+
		` AND org_id <> ''`, where.args()...); err != nil {
		return err
	}
	all = append(all, linked...)
	slices.SortFunc(all, func(a, b chainKey) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Workspace, b.Workspace))
	})
	for _, key := range slices.Compact(all) {
		found, err := db.verifyChain(ctx, d, key)
		if err == nil {
			err = report(found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// verifyChain checks one chain, in one snapshot of the database.
func (db *DB) verifyChain(ctx context.Context, d event.Digest, key chainKey) (event.Report, error) {
	options := &sql.TxOptions{ReadOnly: true}
	if db.dialect.Name == engine.Postgres.Name { // SQLite's transactions are snapshots anyway
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := db.reader.BeginTxx(ctx, options)
	if err != nil {
		return event.Report{}, db.wrapErr(ctx, err)
	}
	defer func() { _ = tx.Rollback() }() // it only read
	snapshot := &DB{shared: db.shared, tx: &transaction{Tx: tx}}
	began, err := snapshot.storedChain(ctx, chainKey{})
	if err != nil {
		return event.Report{}, err
	}
	c, err := snapshot.storedChain(ctx, key)
	if err != nil {
		return event.Report{}, err
	}
	v := event.NewVerifier(d, key.Org, key.Workspace, c, began)
	if err := snapshot.eachLink(ctx, key, `chain_seq > 0`, v.Linked); err != nil {
		return event.Report{}, err
	}
	if err := snapshot.eachLink(ctx, key, `chain_seq <= 0`, v.Unlinked); err != nil {
		return event.Report{}, err
	}
	return v.Report(), nil
}

// storedChain reads a chain; nil if there is none.
func (db *DB) storedChain(ctx context.Context, key chainKey) (*event.Chain, error) {
	var row chainRow
	found, err := db.get(ctx, &row, `SELECT `+chainColumns+` FROM event_chains t WHERE t.workspace_id = ?
		AND t.org_id = ?`, key.Workspace, key.Org)
	if err != nil || !found {
		return nil, err
	}
	return row.chain(), nil
}

// eachLink calls f for the events of a workspace that fit where, in the order of the chain.
func (db *DB) eachLink(ctx context.Context, key chainKey, where string, f func(*event.Link)) error {
	const atOnce = 1000
	seq, id := int64(-1<<63), ""
	for {
		var rows []struct {
			eventRow
			Signature []byte `db:"signature"`
			Redaction []byte `db:"redaction"`
			Seq       int64  `db:"chain_seq"`
			Hash      []byte `db:"chain_hash"`
		}
		if err := db.list(ctx, &rows, `
			SELECT id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at, request_id,
			address, signature, redaction, chain_seq, chain_hash
			FROM events WHERE workspace_id = ? AND org_id = ?
			AND `+where+` AND (chain_seq > ? OR chain_seq = ? AND id > ?)
			ORDER BY chain_seq, id LIMIT ?`, key.Workspace, key.Org, seq, seq, id, atOnce); err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			f(&event.Link{
				Event: r.event(), Encoded: r.Data, Signature: r.Signature, Redaction: r.Redaction, Seq: r.Seq,
				Hash: r.Hash,
			})
			seq, id = r.Seq, r.ID
		}
		if len(rows) < atOnce {
			return nil
		}
	}
}
