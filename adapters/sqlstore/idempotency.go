package sqlstore

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Idempotency stores responses by Idempotency-Key.
type Idempotency struct {
	db         *DB
	renewEvery time.Duration
}

var _ ports.Idempotency = (*Idempotency)(nil)

// NewIdempotency returns the records in db.
func NewIdempotency(db *DB) *Idempotency { return &Idempotency{db, renewEvery} }

const (
	answersKept = 24 * time.Hour
	secretsKept = time.Hour

	// inFlight is how long a key stays reserved after its node has died: then the request may be repeated. A running
	// node renews the reservations of its requests.
	inFlight   = 8 * time.Second
	renewEvery = 2 * time.Second
)

type answerRow struct {
	Request []byte `db:"request"`
	Attempt string `db:"attempt"`
	Until   int64  `db:"until"` // of the reservation; 0 once there is an answer
	Status  int    `db:"status"`
	Header  string `db:"header"`
	Body    []byte `db:"body"`
	Reveals string `db:"reveals"`
	Shows   string `db:"shows"`    // v0.1.0 leaves it as it was: it counts where body is empty
	EraseAt int64  `db:"erase_at"` // when the secret in body must be gone; 0 for none, or gone
}

// Once implements ports.Idempotency. It reserves the key in a separate transaction, so that other requests see that it
// runs. Then it runs before outside of a transaction, and fn in one that also records the answer. The answer is only
// recorded for this attempt: if another request has taken over the reservation, the transaction is rolled back. So the
// effect happens once, even if the process is suspended for a minute.
func (s *Idempotency) Once(ctx context.Context, key ports.IdempotencyKey, before func(context.Context) error,
	fn func(ports.Stores) (ports.Answer, error), keep func(error) (ports.Answer, bool)) (ports.Answer, bool, error) {
	attempt := id.New("try")
	key, stored, err := s.reserve(ctx, key, attempt)
	if err != nil {
		return ports.Answer{}, false, err
	}
	if stored != nil {
		answer, err := s.answer(key, stored)
		return answer, err == nil, err
	}
	defer s.keepReserved(ctx, key, attempt)()
	var answer ports.Answer
	if before != nil {
		err = before(ctx)
	}
	if err == nil {
		err = s.db.inTx(ctx, func(tx *DB) (err error) {
			if answer, err = fn(tx.Stores()); err != nil {
				return err
			}
			return s.finish(ctx, tx, key, attempt, answer)
		})
	}
	if err == nil {
		return answer, false, nil
	}
	// The client may have gone away; the reservation must be settled nevertheless.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), settledBy(ctx, time.Now()))
	defer cancel()
	if refusal, outcome := keep(err); outcome {
		if finishErr := s.db.inTx(ctx,
			func(tx *DB) error { return s.finish(ctx, tx, key, attempt, refusal) }); finishErr != nil {
			return ports.Answer{}, false, finishErr
		}
		return refusal, false, nil
	}
	// if it fails, the reservation expires
	_, _ = s.db.exec(ctx, `DELETE FROM idempotency_keys WHERE scope = ? AND attempt = ?`, key.Scope[:], attempt)
	return ports.Answer{}, false, err
}

// keepReserved renews the reservation of attempt periodically, until stop is called. Most requests end before the first
// renewal.
func (s *Idempotency) keepReserved(ctx context.Context, key ports.IdempotencyKey, attempt string) (stop func()) {
	begun := time.Now()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	renew := func() {
		ctx, cancel := context.WithTimeout(ctx, s.renewEvery)
		defer cancel()
		until := key.At.Add(time.Since(begun)).Add(inFlight)
		// If it fails, the next one may succeed; if none does, another request takes over, and this one has no effect.
		_, _ = s.db.exec(ctx, `UPDATE idempotency_keys SET until = ? WHERE scope = ? AND attempt = ? AND until > 0`,
			micros(until), key.Scope[:], attempt)
	}
	timer := time.AfterFunc(s.renewEvery, func() {
		for tick := time.NewTicker(s.renewEvery); ; {
			renew()
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		timer.Stop()
		cancel()
	}
}

// settledBy returns the deadline for settling a request: two seconds from now, but not much beyond the deadline of a
// waiting caller. If the database does not respond, engine.Grace is added before and after it.
func settledBy(ctx context.Context, now time.Time) time.Time {
	by := now.Add(2 * time.Second)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(engine.Grace).Before(by) {
		return later(deadline.Add(engine.Grace), now.Add(engine.Grace/4))
	}
	return by
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reserve takes key for attempt, or returns the answer that is stored under it. The returned key has the scope
// of the row.
func (s *Idempotency) reserve(
	ctx context.Context, key ports.IdempotencyKey, attempt string,
) (_ ports.IdempotencyKey, stored *answerRow, err error) {
	own, other := s.forms(key)
	now := key.At
	err = s.db.inTx(ctx, func(tx *DB) error {
		stored = nil
		if other != nil {
			row, err := tx.answerOf(ctx, other.Scope, now)
			if err != nil {
				return err
			}
			if row != nil {
				key.Scope = other.Scope
				stored, err = tx.takeOver(ctx, key, attempt, row)
				return err
			}
		}
		key.Scope = own.Scope
		reserved, err := tx.exec(ctx, `
			INSERT INTO idempotency_keys (scope, org_id, request, attempt, until, status, header, body, reveals, shows,
			brought, erase_at, expires_at)
			VALUES (?, ?, ?, ?, ?, 0, '', ?, '', '', '', 0, ?)
			ON CONFLICT (scope) DO UPDATE SET request = excluded.request, attempt = excluded.attempt,
			until = excluded.until, status = 0,
				header = '', body = excluded.body, reveals = '', shows = '', brought = '', erase_at = 0, expires_at =
				excluded.expires_at
			WHERE idempotency_keys.expires_at <= ?`,
			own.Scope[:], key.Org, own.Request[:], attempt, micros(now.Add(inFlight)), []byte{},
			micros(now.Add(answersKept)), micros(now))
		if err != nil || reserved == 1 {
			return err
		}
		row, err := tx.answerOf(ctx, key.Scope, time.Time{})
		if err == nil && row != nil {
			stored, err = tx.takeOver(ctx, key, attempt, row)
		}
		return err
	})
	return key, stored, err
}

// forms returns the form in which key is stored now, and the other form in which it may have been stored in the last
// 24 hours: nil if no node of v0.1.0 has run lately. Until derived keys are used, nodes of v0.1.0 must find the
// stored form; but the plain digest of a secret is never stored.
func (s *Idempotency) forms(key ports.IdempotencyKey) (own ports.IdempotencyKey, other *ports.IdempotencyKey) {
	since := s.db.derivedSince.Load()
	if since == nil || !key.At.Before(since.Add(answersKept)) {
		return key, nil
	}
	released := key
	released.Scope = key.Plain.Scope
	if !key.Secret {
		released.Request = key.Plain.Request
	}
	if key.At.Before(*since) {
		return released, &key
	}
	return key, &released
}

// answerOf locks and returns the row of a scope that expires after a time. It returns nil if there is none.
func (db *DB) answerOf(ctx context.Context, scope [32]byte, after time.Time) (*answerRow, error) {
	var row answerRow
	found, err := db.get(ctx, &row, `
		SELECT request, attempt, until, status, header, body, reveals, shows, erase_at FROM idempotency_keys t
		WHERE scope = ? AND expires_at > ?`+db.dialect.Lock, scope[:], micros(after))
	if !found {
		return nil, err
	}
	return &row, err
}

// takeOver returns row if it is the answer to key's request. It takes over the reservation of an attempt that
// never ended.
func (db *DB) takeOver(ctx context.Context, key ports.IdempotencyKey, attempt string,
	row *answerRow) (stored *answerRow, err error) {
	switch now := key.At; {
	case len(row.Request) == 0:
		return nil, ports.ErrAnswerErased
	case !bytes.Equal(row.Request, key.Request[:]) && !bytes.Equal(row.Request, key.Plain.Request[:]):
		return nil, ports.ErrKeyReused
	case row.Until == 0:
		return row, nil
	case micros(now) < row.Until:
		return nil, ports.ErrKeyInFlight
	default:
		_, err = db.exec(ctx, `UPDATE idempotency_keys SET attempt = ?, until = ? WHERE scope = ?`, attempt,
			micros(now.Add(inFlight)), key.Scope[:])
		return nil, err
	}
}

// finish records the answer of attempt, unless another attempt has taken over.
func (s *Idempotency) finish(ctx context.Context, tx *DB, key ports.IdempotencyKey, attempt string,
	a ports.Answer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return err
	}
	body, eraseAt := a.Body, time.Time{}
	if a.Reveals != "" {
		eraseAt = key.At.Add(secretsKept)
		if body, err = s.db.sealer.Seal(body, key.Scope[:]); err != nil {
			return err
		}
	}
	if since := s.db.derivedSince.Load(); since != nil && key.At.Before(*since) {
		a.Shows = "" // nodes of v0.1.0 cannot read answers again, and may have to replay this one
	}
	if body == nil || a.Shows != "" {
		body = []byte{}
	}
	changed, err := tx.exec(ctx, `UPDATE idempotency_keys SET until = 0, status = ?, header = ?, body = ?, reveals = ?,
		shows = ?, brought = ?, erase_at = ? WHERE scope = ? AND attempt = ?`,
		a.Status, string(header), body, a.Reveals, a.Shows, a.Brought, micros(eraseAt), key.Scope[:], attempt)
	if err == nil && changed == 0 {
		return ports.ErrKeyInFlight
	}
	return err
}

func (s *Idempotency) answer(key ports.IdempotencyKey, row *answerRow) (ports.Answer, error) {
	a := ports.Answer{Status: row.Status, Body: row.Body, Reveals: row.Reveals}
	if err := json.Unmarshal([]byte(row.Header), &a.Header); err != nil {
		return ports.Answer{}, err
	}
	if len(row.Body) == 0 && row.Status != 204 {
		a.Shows = row.Shows
	}
	if row.Reveals != "" {
		if micros(key.At) >= row.EraseAt {
			return ports.Answer{}, ports.ErrAnswerErased
		}
		var err error
		if a.Body, err = s.db.sealer.Open(row.Body, key.Scope[:]); err != nil {
			return ports.Answer{}, err
		}
	}
	return a, nil
}

// eraseAnswers removes a secret from the answers that showed it, and the digests of their requests. The records
// themselves stay.
func (db *DB) eraseAnswers(ctx context.Context, org identity.OrgID, reveals string) error {
	_, err := db.exec(ctx, `UPDATE idempotency_keys SET body = ?, request = ?, erase_at = 0 WHERE org_id = ?
		AND reveals = ? AND reveals <> ''`, []byte{}, []byte{}, org, reveals)
	return err
}

// eraseRequests removes the digests of the requests that contained a secret of an object.
func (db *DB) eraseRequests(ctx context.Context, org identity.OrgID, brought string) error {
	_, err := db.exec(ctx, `UPDATE idempotency_keys SET request = ? WHERE org_id = ? AND brought = ? AND brought <> ''`,
		[]byte{}, org, brought)
	return err
}
