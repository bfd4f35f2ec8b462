package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrChainChanged means that the first or last link of an event chain was tampered with. Such a chain is neither
// continued nor cut, so that the evidence stays.
var ErrChainChanged = errors.New("the chain of events was changed: see atrium events verify")

type chainRow struct {
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
	Since     int64                `db:"since"`
	BaseSeq   int64                `db:"base_seq"`
	BaseHash  []byte               `db:"base_hash"`
	Seq       int64                `db:"seq"`
	Hash      []byte               `db:"hash"`
	MAC       []byte               `db:"mac"`
}

const chainColumns = `t.org_id, t.workspace_id, t.since, t.base_seq, t.base_hash, t.seq, t.hash, t.mac`

func (r *chainRow) chain() *event.Chain {
	return &event.Chain{
		Org: r.Org, Workspace: r.Workspace, Since: db.FromMicros(r.Since),
		BaseSeq: r.BaseSeq, BaseHash: r.BaseHash, Seq: r.Seq, Hash: r.Hash, MAC: r.MAC,
	}
}

// chainKey names a chain.
type chainKey struct {
	Org       identity.OrgID       `db:"org_id"`
	Workspace identity.WorkspaceID `db:"workspace_id"`
}

// beginChains records when chains began, unless that is already recorded.
func (store *Store) beginChains(ctx context.Context, d event.Digest, now time.Time) error {
	if store.HaveChainsBegun() {
		return nil
	}
	start := &event.Chain{Since: now.UTC().Truncate(time.Microsecond)}
	start.Seal(d)
	if _, err := store.Exec(ctx, insertChain, chainArgs(start)...); err != nil {
		return err
	}
	store.NoteChains()
	return nil
}

const insertChain = `
	INSERT INTO event_chains (org_id, workspace_id, since, base_seq, base_hash, seq, hash, mac)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (workspace_id, org_id) DO NOTHING`

func chainArgs(c *event.Chain) []any {
	return []any{c.Org, c.Workspace, db.Micros(c.Since), c.BaseSeq, c.BaseHash, c.Seq, c.Hash, c.MAC}
}

// lockedChain locks and reads a chain. If it does not exist, it begins now.
func (store *Store) lockedChain(
	ctx context.Context, d event.Digest, key chainKey, now time.Time,
) (*event.Chain, error) {
	fresh := &event.Chain{Org: key.Org, Workspace: key.Workspace, Since: now.UTC().Truncate(time.Microsecond)}
	fresh.Seal(d)
	if _, err := store.Exec(ctx, insertChain, chainArgs(fresh)...); err != nil {
		return nil, err
	}
	var row chainRow
	if _, err := store.Get(ctx, &row, `SELECT `+chainColumns+` FROM event_chains t WHERE t.workspace_id = ?
		AND t.org_id = ?`+store.Dialect.Lock,
		key.Workspace, key.Org); err != nil {
		return nil, err
	}
	c := row.chain()
	if !c.IsGenuine(d) {
		return nil, fmt.Errorf("workspace %q: %w", key.Workspace, ErrChainChanged)
	}
	return c, nil
}

// saveChain returns the write that saves a chain.
func saveChain(d event.Digest, c *event.Chain) db.Write {
	c.Seal(d)
	return db.Write{Query: `UPDATE event_chains SET base_seq = ?, base_hash = ?, seq = ?, hash = ?, mac = ?
		WHERE workspace_id = ? AND org_id = ?`,
		Args: []any{c.BaseSeq, c.BaseHash, c.Seq, c.Hash, c.MAC, c.Workspace, c.Org}}
}

// sweep removes events that are older than end. From a chain it removes only the first links, so that the rest still
// verifies from its new beginning.
func (store *Store) sweep(ctx context.Context, end time.Time) error {
	failures := []error{
		store.InBatches(ctx, `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE created_at < ?
			AND chain_seq = 0 LIMIT ?)`, db.Micros(end)),
	}
	d := store.Digester()
	if d == nil {
		return errors.Join(failures...)
	}
	var chains []chainKey
	if err := store.List(ctx, &chains, `SELECT DISTINCT org_id, workspace_id FROM events WHERE created_at < ?
		AND chain_seq > 0`, db.Micros(end)); err != nil {
		return errors.Join(append(failures, err)...)
	}
	for _, key := range chains {
		for {
			count, err := store.cutChain(ctx, d, key, end)
			if err != nil {
				failures = append(failures, err)
			}
			if err != nil || count == 0 {
				break
			}
		}
	}
	return errors.Join(failures...)
}

// cutChain removes the first links of a chain that are older than limit, at most db.SweepBatch.
func (store *Store) cutChain(ctx context.Context, d event.Digest, key chainKey, limit time.Time) (count int64,
	err error) {
	err = store.inTx(ctx, func(tx *Store) error {
		count = 0
		c, err := tx.lockedChain(ctx, d, key, limit)
		if err != nil {
			return err
		}
		end := min(c.Seq, c.BaseSeq+db.SweepBatch) + 1
		stays := end
		if _, err := tx.Get(ctx, &stays, `
			SELECT COALESCE(MIN(chain_seq), ?) FROM events
			WHERE workspace_id = ? AND org_id = ? AND chain_seq > 0 AND chain_seq < ?
			AND created_at >= ?`, end, key.Workspace, key.Org, end, db.Micros(limit)); err != nil {
			return err
		}
		last := stays - 1
		if last <= c.BaseSeq {
			return nil
		}
		var hash []byte
		found, err := tx.Get(ctx, &hash, `
			SELECT chain_hash FROM events WHERE workspace_id = ? AND org_id = ? AND chain_seq > 0
			AND chain_seq = ?`, key.Workspace, key.Org, last)
		if err != nil || !found { // deleted in another way: the evidence stays
			return err
		}
		c.BaseSeq, c.BaseHash = last, hash
		if count, err = tx.Exec(ctx, `
			DELETE FROM events WHERE workspace_id = ? AND org_id = ? AND chain_seq > 0
			AND chain_seq <= ?`, key.Workspace, key.Org, last); err != nil {
			return err
		}
		return tx.Run(ctx, saveChain(d, c))
	})
	return count, err
}
