package events

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
)

const (
	chainsAtOnce = 20  // continued before the next look-up of chains that need it
	linksAtOnce  = 256 // of one chain in one transaction, so that other writers do not wait for long
	linksJoined  = 20  // in one statement, where the engine can join them
)

// Link links the events that are signed and not linked yet, each to the chain of its workspace, in the order of their
// ids, and moves them to the table that has the indexes. Several nodes may do so at once. No writer of events waits for
// a chain's lock. Followers in this process are notified of the events that any node has linked.
func (store *Store) Link(ctx context.Context, now time.Time) error {
	if store.Digester() == nil {
		return nil
	}
	tampering, err := store.linkAll(ctx, now)
	return errors.Join(tampering, err, store.TellFollowers(ctx))
}

// linkAll links and moves all new events. Events of tampered chains are only moved: tampering has their errors.
func (store *Store) linkAll(ctx context.Context, now time.Time) (tampering, err error) {
	d := store.Digester()
	if d == nil {
		return nil, nil
	}
	if err := store.beginChains(ctx, d, now); err != nil {
		return nil, err
	}
	for {
		var chains []chainKey
		if err := store.List(ctx, &chains, `
			SELECT org_id, workspace_id FROM new_events
			UNION SELECT org_id, workspace_id FROM events WHERE chain_seq = 0 AND signature IS NOT NULL
			ORDER BY workspace_id, org_id LIMIT ?`, chainsAtOnce); err != nil {
			return nil, err
		}
		count := 0
		var broken, failures []error
		for _, key := range chains {
			n, err := store.linkSome(ctx, d, key, now)
			if errors.Is(err, ErrChainChanged) {
				broken = append(broken, err)
				n, err = store.moveUnlinked(ctx, key)
			}
			if count += n; err != nil {
				failures = append(failures, err)
			}
		}
		tampering = errors.Join(broken...)
		if err := errors.Join(failures...); err != nil || count == 0 {
			return tampering, err
		}
	}
}

// unlinkedRow is an event without a place.
type unlinkedRow struct {
	ID        string `db:"id"`
	Signature []byte `db:"signature"`
	Moved     bool   `db:"moved"` // it is in the table events: a release before 0147 wrote it, or its chain was changed
}

// linkSome links at most linksAtOnce events of one chain in a transaction, and returns their number.
func (store *Store) linkSome(ctx context.Context, d event.Digest, key chainKey, now time.Time) (count int, err error) {
	err = store.inTx(ctx, func(tx *Store) error {
		c, err := tx.lockedChain(ctx, d, key, now)
		if err != nil {
			return err
		}
		eventID := tx.Dialect.EventID + ` AS id`
		var rows []unlinkedRow
		if err := tx.List(ctx, &rows, `
			SELECT `+eventID+`, signature, FALSE AS moved FROM new_events WHERE workspace_id = ? AND org_id = ?
			UNION ALL SELECT `+eventID+`, signature, TRUE FROM events WHERE workspace_id = ? AND org_id = ?
				AND chain_seq = 0 AND signature IS NOT NULL
			ORDER BY id LIMIT ?`, key.Workspace, key.Org, key.Workspace, key.Org, linksAtOnce); err != nil {
			return err
		}
		count = len(rows)
		if count == 0 { // another node was faster
			return nil
		}
		tx.DeclareChange(key.Workspace) // the events get their places
		tx.NoteLinks()
		for len(rows) > 0 {
			batch := rows
			if i := slices.IndexFunc(rows, func(r unlinkedRow) bool { return r.Moved != rows[0].Moved }); i > 0 {
				batch = rows[:i]
			}
			if err := tx.link(ctx, d, c, batch); err != nil {
				return err
			}
			rows = rows[len(batch):]
		}
		return tx.Run(ctx, saveChain(d, c), tx.hooks.Wake(key.Workspace, now))
	})
	return count, err
}

// link gives rows, which are all in the same table, the next places of a chain.
func (store *Store) link(ctx context.Context, d event.Digest, c *event.Chain, rows []unlinkedRow) error {
	last := c.Seq
	ids, hashes := make([]string, len(rows)), make([][]byte, len(rows))
	for i, r := range rows {
		ids[i], hashes[i] = r.ID, c.Append(d, r.Signature)
	}
	if !rows[0].Moved {
		return store.Run(ctx, store.moveWrites(ids, last, slices.Concat(hashes...))...)
	}
	links := make([]db.Write, len(rows))
	for i := range rows {
		links[i] = db.Write{Query: `UPDATE events SET chain_seq = ?, chain_hash = ? WHERE id = ?`,
			Args: []any{last + int64(i) + 1, hashes[i], ids[i]}}
	}
	return store.saveLinks(ctx, links)
}

// moveWrites returns the writes that move new events to the table events, where they get the places after seq in the
// order of their ids, with their hashes, which all have the same length; without hashes they get no place.
func (store *Store) moveWrites(ids []string, seq int64, hashes []byte) []db.Write {
	conditions := db.NewConditions(`TRUE`)
	db.OneOf(conditions, `id`, ids)
	place, args := `0, NULL`, []any(nil)
	if len(hashes) > 0 {
		number := `row_number() OVER (ORDER BY ` + store.Dialect.EventID + `)`
		place = `CAST(? AS BIGINT) + ` + number + `, substr(CAST(? AS ` + store.Dialect.Binary + `),
			CAST(1 + CAST(? AS BIGINT) * (` + number + ` - 1) AS INTEGER), CAST(? AS INTEGER))`
		size := len(hashes) / len(ids)
		args = []any{seq, hashes, size, size}
	}
	return []db.Write{
		{Query: `INSERT INTO events (` + db.RecordedColumns + `, chain_seq, chain_hash)
			SELECT ` + db.RecordedColumns + `, ` + place + ` FROM new_events WHERE ` + conditions.SQL(),
			Args: append(args, conditions.Args()...)},
		{Query: `DELETE FROM new_events WHERE ` + conditions.SQL(), Args: conditions.Args()},
	}
}

// saveLinks writes links in few statements. A remainder is written one by one, because each number of joined links is
// another statement to prepare.
func (store *Store) saveLinks(ctx context.Context, links []db.Write) error {
	for ; len(links) >= linksJoined; links = links[linksJoined:] {
		if err := store.Run(ctx, links[:linksJoined]...); err != nil {
			return err
		}
	}
	for _, link := range links {
		if err := store.Run(ctx, link); err != nil {
			return err
		}
	}
	return nil
}

// moveUnlinked moves new events of a chain that is not continued, so that few events are in the table without indexes.
func (store *Store) moveUnlinked(ctx context.Context, key chainKey) (count int, err error) {
	err = store.inTx(ctx, func(tx *Store) error {
		var ids []string
		if err := tx.List(ctx, &ids, `SELECT t.id FROM new_events t WHERE t.workspace_id = ? AND t.org_id = ?
			ORDER BY t.id LIMIT ?`+tx.Dialect.Lock, key.Workspace, key.Org, linksAtOnce); err != nil || len(ids) == 0 {
			return err
		}
		count = len(ids)
		return tx.Run(ctx, tx.moveWrites(ids, 0, nil)...)
	})
	return count, err
}
