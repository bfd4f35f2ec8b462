package events

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ErrNotSigning is returned by VerifyChains if SignEvents was not called.
var ErrNotSigning = errors.New("the key of the chains is not known")

// VerifyChains checks the chain of one workspace, or of all if ws is empty. It calls tell for each event that it has
// checked, and report with the result of each chain. It reads each chain in one snapshot, and changes nothing.
func (store *Store) VerifyChains(
	ctx context.Context, ws identity.WorkspaceID, tell func(), report func(event.Report) error,
) error {
	d := store.Digester()
	if d == nil {
		return ErrNotSigning
	}
	conditions := db.NewConditions(`TRUE`)
	conditions.When(ws != "", `workspace_id = ?`, ws)
	var all, chains []chainKey
	if err := store.List(ctx, &all, `SELECT DISTINCT org_id, workspace_id FROM recorded_events WHERE `+conditions.SQL(),
		conditions.Args()...); err != nil {
		return err
	}
	if err := store.List(ctx, &chains, `SELECT org_id, workspace_id FROM event_chains WHERE `+conditions.SQL()+
		` AND org_id <> ''`, conditions.Args()...); err != nil {
		return err
	}
	all = append(all, chains...)
	slices.SortFunc(all, func(a, b chainKey) int {
		return cmp.Or(cmp.Compare(a.Org, b.Org), cmp.Compare(a.Workspace, b.Workspace))
	})
	for _, key := range slices.Compact(all) {
		found, err := store.verifyChain(ctx, d, key, tell)
		if err == nil {
			err = report(found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Verify implements ports.Events.
func (s *Events) Verify(ctx context.Context, org identity.OrgID, ws identity.WorkspaceID, start event.Position,
	limit int) (part event.Part, err error) {
	d := s.db.Digester()
	if d == nil {
		return part, ErrNotSigning
	}
	err = s.db.snapshot(ctx, func(snapshot *Store) (err error) {
		part, err = snapshot.verifyPart(ctx, d, chainKey{Org: org, Workspace: ws}, start, limit, func() {})
		return err
	})
	return part, err
}

// verifyChain checks one chain, in one snapshot of the database.
func (store *Store) verifyChain(
	ctx context.Context, d event.Digest, key chainKey, tell func(),
) (event.Report, error) {
	var all event.Part
	err := store.snapshot(ctx, func(snapshot *Store) (err error) {
		all, err = snapshot.verifyPart(ctx, d, key, event.Position{}, math.MaxInt, tell)
		return err
	})
	return all.Report, err
}

// verifyPart checks about limit events after a position: links, and after the last link the events without one. It
// calls tell after each.
func (store *Store) verifyPart(
	ctx context.Context, d event.Digest, key chainKey, from event.Position, limit int, tell func(),
) (event.Part, error) {
	start, err := store.storedChain(ctx, chainKey{})
	if err != nil {
		return event.Part{}, err
	}
	c, err := store.storedChain(ctx, key)
	if err != nil {
		return event.Part{}, err
	}
	v, count := event.NewVerifier(d, key.Org, key.Workspace, c, start), 0
	check := func(one func(*event.Link)) func(*event.Link) {
		return func(l *event.Link) { one(l); count++; tell() }
	}
	if from.Event == "" {
		if err := store.resume(ctx, v, key, from.Seq); err != nil {
			return event.Part{}, err
		}
		hasMore, err := store.eachLink(ctx, key, from.Seq+1, limit, check(v.CheckLink))
		if err != nil || hasMore {
			return v.Part(), err
		}
	} else {
		v.SkipLinks()
	}
	last, err := store.eachUnlinked(ctx, key, from.Event, max(limit-count, 1), check(v.Unlinked))
	return event.Part{Report: v.Report(), Next: event.Position{Event: last}}, err
}

// resume continues a verification after the link in a place; 0: it begins.
func (store *Store) resume(ctx context.Context, v *event.Verifier, key chainKey, seq int64) error {
	if seq == 0 {
		return nil
	}
	var hash []byte
	if _, err := store.Get(ctx, &hash, `SELECT chain_hash FROM events WHERE workspace_id = ? AND org_id = ?
		AND chain_seq = ?`, key.Workspace, key.Org, seq); err != nil {
		return err
	}
	v.Resume(seq, hash)
	return nil
}

// storedChain returns a chain, or nil.
func (store *Store) storedChain(ctx context.Context, key chainKey) (*event.Chain, error) {
	var row chainRow
	found, err := store.Get(ctx, &row, `SELECT `+chainColumns+` FROM event_chains t WHERE t.workspace_id = ?
		AND t.org_id = ?`, key.Workspace, key.Org)
	if err != nil || !found {
		return nil, err
	}
	return row.chain(), nil
}

// linkRow is an event with its place in the chain.
type linkRow struct {
	eventRow
	Signature []byte `db:"signature"`
	Redaction []byte `db:"redaction"`
	Seq       int64  `db:"chain_seq"`
	Hash      []byte `db:"chain_hash"`
}

const linkColumns = `id, org_id, workspace_id, type, actor_id, key_id, session_id, subject, data, created_at,
	request_id, address, signature, redaction, chain_seq, chain_hash`

func (r *linkRow) link() *event.Link {
	return &event.Link{Event: r.event(), Encoded: r.Data, Signature: r.Signature, Redaction: r.Redaction, Seq: r.Seq,
		Hash: r.Hash}
}

// verifiedAtOnce is how many events one statement of a verification reads.
const verifiedAtOnce = 1000

// eachLink calls f for a workspace's links, in the order of the chain: about as many as limit, from place seq on. It
// reports whether there are more.
func (store *Store) eachLink(
	ctx context.Context, key chainKey, seq int64, limit int, f func(*event.Link),
) (hasMore bool, err error) {
	for id, count := "", 0; ; {
		var rows []linkRow
		if err := store.List(ctx, &rows, `SELECT `+linkColumns+` FROM events
			WHERE chain_seq > 0 AND workspace_id = ? AND org_id = ? AND (chain_seq > ? OR (chain_seq = ? AND id > ?))
			ORDER BY chain_seq, id LIMIT ?`, key.Workspace, key.Org, seq, seq, id, verifiedAtOnce); err != nil {
			return false, err
		}
		for i := range rows {
			r := &rows[i]
			if count++; count > limit && r.Seq != seq { // two events in one place are in one part
				return true, nil
			}
			f(r.link())
			seq, id = r.Seq, r.ID
		}
		if len(rows) < verifiedAtOnce {
			return false, nil
		}
	}
}

// eachUnlinked calls f for a workspace's events without a place in the chain that follow the event id, at most limit of
// them, in the order of an index: there can be hundreds of thousands that a release without chains has written. It
// returns the id of the last one if there are more.
func (store *Store) eachUnlinked(
	ctx context.Context, key chainKey, id string, limit int, f func(*event.Link),
) (last string, err error) {
	for count := 0; ; {
		var rows []linkRow
		if err := store.List(ctx, &rows, `SELECT `+linkColumns+` FROM recorded_events
			WHERE workspace_id = ? AND id > ? AND org_id = ? AND chain_seq <= 0
			ORDER BY id LIMIT ?`, key.Workspace, id, key.Org, verifiedAtOnce); err != nil {
			return "", err
		}
		for i := range rows {
			if count == limit {
				return id, nil
			}
			f(rows[i].link())
			id, count = rows[i].ID, count+1
		}
		if len(rows) < verifiedAtOnce {
			return "", nil
		}
	}
}
