package presences

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/ports"
)

// Presences keeps the presences of users.
type Presences struct{ db *Store }

var _ ports.Presences = (*Presences)(nil)

type presenceRow struct {
	ID            presence.ID     `db:"id"`
	Org           identity.OrgID  `db:"org_id"`
	User          identity.UserID `db:"user_id"`
	LastingStatus presence.Manual `db:"lasting_status"`
	LastingText   string          `db:"lasting_text"`
	LastingEmoji  string          `db:"lasting_emoji"`
	PassingStatus presence.Manual `db:"passing_status"`
	PassingText   string          `db:"passing_text"`
	PassingEmoji  string          `db:"passing_emoji"`
	Until         int64           `db:"passing_until"`
	Since         int64           `db:"claimed_at"`
	Devices       []byte          `db:"devices"`
	ActiveAt      int64           `db:"active_at"`
	SeenAt        int64           `db:"seen_at"`
	Shown         presence.Status `db:"shown"`
	Due           int64           `db:"due_at"`
	Seq           int64           `db:"seq"`
	Life          int64           `db:"life"`
	Deleted       bool            `db:"deleted"`

	HiddenSeq      int64  `db:"hidden_seq"`
	HiddenText     string `db:"hidden_text"`
	HiddenEmoji    string `db:"hidden_emoji"`
	HiddenActiveAt int64  `db:"hidden_active_at"`
	HiddenSeenAt   int64  `db:"hidden_seen_at"`
}

const selectPresence = `
	SELECT id, org_id, user_id, lasting_status, lasting_text, lasting_emoji,
		passing_status, passing_text, passing_emoji, passing_until, claimed_at, devices, active_at, seen_at, shown,
		due_at, seq, life, deleted, hidden_seq, hidden_text, hidden_emoji, hidden_active_at, hidden_seen_at
	FROM presences WHERE `

// deviceJSON is the stored form of a device.
type deviceJSON struct {
	ID     string        `json:"id"`
	Kind   presence.Kind `json:"kind"`
	Idle   bool          `json:"idle,omitempty"`
	SeenAt int64         `json:"seen_at"`
	TTL    int           `json:"ttl"` // seconds
}

func (row *presenceRow) record() (*presence.Record, error) {
	var devices []deviceJSON
	if err := json.Unmarshal(row.Devices, &devices); err != nil {
		return nil, err
	}
	r := &presence.Record{
		ID: row.ID, Org: row.Org, User: row.User,
		Default: presence.Claim{Status: row.LastingStatus, Text: row.LastingText, Emoji: row.LastingEmoji},
		Since:   db.FromMicros(row.Since), ActiveAt: db.FromMicros(row.ActiveAt), SeenAt: db.FromMicros(row.SeenAt),
		Shown: row.Shown, Due: db.FromMicros(row.Due), Seq: row.Seq, Generation: row.Life, Deleted: row.Deleted,
	}
	if row.Until != 0 {
		r.Temporary = &presence.Temporary{Claim: presence.Claim{Status: row.PassingStatus, Text: row.PassingText,
			Emoji: row.PassingEmoji}, Until: db.FromMicros(row.Until)}
	}
	if row.HiddenSeq != 0 {
		r.Mask = &presence.Mask{
			Text: row.HiddenText, Emoji: row.HiddenEmoji, Seq: row.HiddenSeq,
			ActiveAt: db.FromMicros(row.HiddenActiveAt), SeenAt: db.FromMicros(row.HiddenSeenAt),
		}
	}
	for _, d := range devices {
		r.Devices = append(r.Devices, presence.Device{ID: d.ID, Kind: d.Kind, Idle: d.Idle,
			SeenAt: db.FromMicros(d.SeenAt), TTL: time.Duration(d.TTL) * time.Second})
	}
	return r, nil
}

// Get implements ports.Presences.
func (s *Presences) Get(ctx context.Context, org identity.OrgID, id presence.ID) (*presence.Record, error) {
	return s.db.presence(ctx, `org_id = ? AND id = ?`, org, id)
}

// ByUser implements ports.Presences.
func (s *Presences) ByUser(ctx context.Context, org identity.OrgID, user identity.UserID) (*presence.Record, error) {
	return s.db.presence(ctx, `org_id = ? AND user_id = ?`, org, user)
}

func (store *Store) presence(ctx context.Context, condition string, args ...any) (*presence.Record, error) {
	var row presenceRow
	found, err := store.Get(ctx, &row, selectPresence+condition, args...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, presence.ErrNotFound
	}
	return row.record()
}

// Update implements ports.Presences. Changes within an org are serialised: the transaction that has locked
// the org's counter assigns the next numbers.
func (s *Presences) Update(ctx context.Context, org identity.OrgID, users []identity.UserID,
	change func(*presence.Record) error) (records []*presence.Record, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		records = records[:0]
		seq, err := tx.lockPresences(ctx, org)
		if err != nil {
			return err
		}
		number := seq
		for _, user := range users {
			r, err := tx.presence(ctx, `org_id = ? AND user_id = ?`, org, user)
			if errors.Is(err, presence.ErrNotFound) {
				r, err = presence.New(org, user, presence.ID(id.New(presence.Prefix))), nil
			}
			if err != nil {
				return err
			}
			previous := r.Copy()
			if err := change(r); err != nil {
				return err
			}
			number = r.Number(previous, number)
			if !r.Equal(previous) {
				if err := tx.savePresence(ctx, r); err != nil {
					return err
				}
			}
			if err := tx.Record(ctx, r.Recorded()); err != nil {
				return err
			}
			records = append(records, r)
		}
		if number > seq {
			_, err = tx.Exec(ctx, `UPDATE presence_seqs SET seq = ? WHERE org_id = ?`, number, org)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return records, nil
}

// lockPresences locks the org's counter and returns the last number that was assigned.
func (store *Store) lockPresences(ctx context.Context, org identity.OrgID) (seq int64, err error) {
	take := `SELECT t.seq FROM presence_seqs t WHERE t.org_id = ?` + store.Dialect.Lock
	found, err := store.Get(ctx, &seq, take, org)
	if err != nil || found {
		return seq, err
	}
	if _, err := store.Exec(ctx, `INSERT INTO presence_seqs (org_id, seq) VALUES (?, 0) ON CONFLICT (org_id) DO NOTHING`,
		org); err != nil {
		return 0, err
	}
	_, err = store.Get(ctx, &seq, take, org)
	return seq, err
}

// savePresence writes a user's record, new or changed.
func (store *Store) savePresence(ctx context.Context, r *presence.Record) error {
	devices := make([]deviceJSON, len(r.Devices))
	for i, d := range r.Devices {
		devices[i] = deviceJSON{ID: d.ID, Kind: d.Kind, Idle: d.Idle, SeenAt: db.Micros(d.SeenAt),
			TTL: int(d.TTL / time.Second)}
	}
	text, err := json.Marshal(devices)
	if err != nil {
		return err
	}
	var temporary presence.Temporary
	if r.Temporary != nil {
		temporary = *r.Temporary
	}
	var mask presence.Mask
	if r.Mask != nil {
		mask = *r.Mask
	}
	_, err = store.Exec(ctx, `
		INSERT INTO presences (id, org_id, user_id, lasting_status, lasting_text, lasting_emoji,
			passing_status, passing_text, passing_emoji, passing_until, claimed_at, devices, active_at, seen_at,
			shown, due_at, seq, life, deleted, hidden_seq, hidden_text, hidden_emoji, hidden_active_at, hidden_seen_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (org_id, user_id) DO UPDATE SET
			lasting_status = excluded.lasting_status, lasting_text = excluded.lasting_text,
			lasting_emoji = excluded.lasting_emoji, passing_status = excluded.passing_status,
			passing_text = excluded.passing_text, passing_emoji = excluded.passing_emoji,
			passing_until = excluded.passing_until, claimed_at = excluded.claimed_at, devices = excluded.devices,
			active_at = excluded.active_at, seen_at = excluded.seen_at, shown = excluded.shown,
			due_at = excluded.due_at, seq = excluded.seq, life = excluded.life, deleted = excluded.deleted,
			hidden_seq = excluded.hidden_seq, hidden_text = excluded.hidden_text,
			hidden_emoji = excluded.hidden_emoji, hidden_active_at = excluded.hidden_active_at,
			hidden_seen_at = excluded.hidden_seen_at`,
		r.ID, r.Org, r.User, r.Default.Status, r.Default.Text, r.Default.Emoji,
		temporary.Status, temporary.Text, temporary.Emoji, db.Micros(temporary.Until), db.Micros(r.Since),
		string(text),
		db.Micros(r.ActiveAt), db.Micros(r.SeenAt), r.Shown, db.Micros(r.Due), r.Seq, r.Generation, r.Deleted,
		mask.Seq, mask.Text, mask.Emoji, db.Micros(mask.ActiveAt), db.Micros(mask.SeenAt))
	return err
}
