// Package idempotency stores responses by Idempotency-Key in SQLite or PostgreSQL.
package idempotency

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/ports"
)

// Store stores responses by Idempotency-Key.
type Store struct {
	db         *db.DB
	stores     func(*db.DB) ports.Stores
	renewEvery time.Duration
}

var _ ports.Idempotency = (*Store)(nil)

// NewStore returns the responses in a database. stores returns all stores in a transaction.
func NewStore(d *db.DB, stores func(*db.DB) ports.Stores) *Store {
	return &Store{d, stores, renewEvery}
}

const (
	answersKept = 24 * time.Hour
	secretsKept = time.Hour

	// inFlight is the time for which a key stays reserved after its node has died. After it the request may be
	// repeated. A running node renews the reservations of its requests.
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
	Shows   string `db:"shows"`    // v0.1.0 does not change it: it is valid only where body is empty
	EraseAt int64  `db:"erase_at"` // when the secret in body must be erased; 0 without a secret
}

// attempt is one call of Once.
type attempt struct {
	id    string
	given ports.IdempotencyKey
	key   ports.IdempotencyKey // with the scope of the row; set by reserve
	held  bool                 // the reservation has been committed

	answer ports.Answer // set by record
}

// Once implements ports.Idempotency. The reservation of the key, fn and the record of its answer are one transaction.
// If a call to another system comes first, the key is reserved in a separate transaction. The response is then recorded
// only for this attempt: if another request has taken over the reservation, the transaction is rolled back. So the
// effect happens once, even if the process is suspended for a minute.
func (s *Store) Once(ctx context.Context, key ports.IdempotencyKey, call func(context.Context) error,
	fn func(ports.Stores) (ports.Answer, error), keep func(error) (ports.Answer, bool)) (
	answer ports.Answer, isReplay bool, err error,
) {
	a := &attempt{id: id.New("try"), given: key}
	if call != nil {
		if answer, isReplay, err = s.hold(ctx, a); err != nil || isReplay {
			return answer, isReplay, err
		}
		defer s.keepReserved(ctx, a)()
		err = call(ctx)
		var cancel context.CancelFunc
		ctx, cancel = outlast(ctx) // the other system's response is recorded even if the client has gone away
		defer cancel()
	}
	if err == nil {
		answer, isReplay, err = s.record(ctx, a, fn)
	}
	if err == nil || isAboutKey(err) {
		return answer, isReplay, err
	}
	// The client may have gone away; the key must be settled nevertheless.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), settledBy(ctx, time.Now()))
	defer cancel()
	if refusal, outcome := keep(err); outcome {
		return s.record(ctx, a, func(ports.Stores) (ports.Answer, error) { return refusal, nil })
	}
	if a.held { // if it fails, the reservation expires
		_, _ = s.db.Exec(ctx, `DELETE FROM idempotency_keys WHERE scope = ? AND attempt = ?`, a.key.Scope[:], a.id)
	}
	return ports.Answer{}, false, err
}

func isAboutKey(err error) bool {
	return errors.Is(err, ports.ErrKeyInFlight) || errors.Is(err, ports.ErrKeyReused) ||
		errors.Is(err, ports.ErrAnswerErased)
}

// hold reserves the key of a in a separate transaction, so that other requests see that it runs. It returns the answer
// that is stored under the key, if there is one.
func (s *Store) hold(ctx context.Context, a *attempt) (answer ports.Answer, isReplay bool, err error) {
	var row *answerRow
	err = s.db.InTx(ctx, func(tx *db.DB) (err error) {
		row, err = s.reserve(ctx, tx, a)
		return err
	})
	a.held = err == nil && row == nil
	return s.replay(a, row, err)
}

// record runs fn and records its answer in one transaction, in which it also reserves the key, unless a holds it
// already. It returns the answer that is stored under the key, if there is one.
func (s *Store) record(ctx context.Context, a *attempt, fn func(ports.Stores) (ports.Answer, error)) (
	answer ports.Answer, isReplay bool, err error,
) {
	var row *answerRow
	err = s.db.InTx(ctx, func(tx *db.DB) (err error) {
		if !a.held {
			if row, err = s.reserve(ctx, tx, a); err != nil || row != nil {
				return err
			}
		}
		if a.answer, err = fn(s.stores(tx)); err != nil {
			return err
		}
		return s.finish(ctx, tx, a)
	})
	if err != nil || row != nil {
		return s.replay(a, row, err)
	}
	return a.answer, false, nil
}

// keepReserved renews the reservation of a periodically, until stop is called. Most requests are finished before the
// first renewal.
func (s *Store) keepReserved(ctx context.Context, a *attempt) (stop func()) {
	start := time.Now()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	renew := func() {
		ctx, cancel := context.WithTimeout(ctx, s.renewEvery)
		defer cancel()
		expiry := a.key.At.Add(time.Since(start)).Add(inFlight)
		// If it fails, the next one may succeed; if none does, another request takes over, and this one has no effect.
		_, _ = s.db.Exec(ctx, `UPDATE idempotency_keys SET until = ? WHERE scope = ? AND attempt = ? AND until > 0`,
			db.Micros(expiry), a.key.Scope[:], a.id)
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

// settledBy returns the deadline for settling a request: two seconds from now, but not much after a waiting caller's
// deadline. If the database does not respond, engine.Grace is added before and after it.
func settledBy(ctx context.Context, now time.Time) time.Time {
	by := now.Add(2 * time.Second)
	if deadline, ok := ctx.Deadline(); ok && deadline.Add(engine.Grace).Before(by) {
		return later(deadline.Add(engine.Grace), now.Add(engine.Grace/4))
	}
	return by
}

// outlast returns a context that is not cancelled with ctx, but a moment after its deadline.
func outlast(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return context.WithDeadline(context.WithoutCancel(ctx), later(deadline, settledBy(ctx, time.Now())))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// reserve takes the key for a, or returns the answer that is stored under it.
//
// If another request's open transaction has reserved the key, PostgreSQL would wait for its end to insert the row. With
// the lock it does not wait: the row is then neither inserted nor visible.
func (s *Store) reserve(ctx context.Context, tx *db.DB, a *attempt) (answer *answerRow, err error) {
	current, other := s.forms(a.given)
	now := current.At
	a.key = a.given
	if other != nil {
		row, err := answerOf(ctx, tx, other.Scope, now)
		if err != nil {
			return nil, err
		}
		if row != nil {
			a.key.Scope = other.Scope
			return takeOver(ctx, tx, a, row)
		}
	}
	a.key.Scope = current.Scope
	lock, args := "1 = 1", []any{current.Scope[:], current.Org, current.Request[:], a.id, db.Micros(now.Add(inFlight)),
		[]byte{}, db.Micros(now.Add(answersKept))}
	if tx.Dialect.TryLock != "" { // SQLite has only one writer
		lock, args = "("+tx.Dialect.TryLock+")", append(args, "idempotency key "+hex.EncodeToString(current.Scope[:]))
	}
	count, err := tx.Exec(ctx, `
		INSERT INTO idempotency_keys (scope, org_id, request, attempt, until, status, header, body, reveals, shows,
		brought, erase_at, expires_at)
		SELECT ?, ?, ?, ?, ?, 0, '', ?, '', '', '', 0, ? WHERE `+lock+`
		ON CONFLICT (scope) DO UPDATE SET request = excluded.request, attempt = excluded.attempt,
		until = excluded.until, status = 0,
			header = '', body = excluded.body, reveals = '', shows = '', brought = '', erase_at = 0, expires_at =
			excluded.expires_at
		WHERE idempotency_keys.expires_at <= ?`, append(args, db.Micros(now))...)
	if err != nil || count == 1 {
		return nil, err
	}
	row, err := answerOf(ctx, tx, current.Scope, now)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, ports.ErrKeyInFlight
	default:
		return takeOver(ctx, tx, a, row)
	}
}

// forms returns the form in which key is stored now, and the other form in which it may have been stored in the last
// 24 hours: nil if no node of v0.1.0 has run lately. Until derived keys are used, nodes of v0.1.0 must find the
// stored form; but the plain digest of a secret is never stored.
func (s *Store) forms(key ports.IdempotencyKey) (current ports.IdempotencyKey, other *ports.IdempotencyKey) {
	start := s.db.DerivedFrom()
	if start == nil || !key.At.Before(start.Add(answersKept)) {
		return key, nil
	}
	plain := key
	plain.Scope = key.Plain.Scope
	if !key.Secret {
		plain.Request = key.Plain.Request
	}
	if key.At.Before(*start) {
		return plain, &key
	}
	return key, &plain
}

// answerOf locks and returns a scope's row, or nil if it does not exist or has expired.
func answerOf(ctx context.Context, tx *db.DB, scope [32]byte, now time.Time) (*answerRow, error) {
	var row answerRow
	found, err := tx.Get(ctx, &row, `
		SELECT request, attempt, until, status, header, body, reveals, shows, erase_at FROM idempotency_keys t
		WHERE scope = ? AND expires_at > ?`+tx.Dialect.Lock, scope[:], db.Micros(now))
	if !found {
		return nil, err
	}
	return &row, err
}

// takeOver returns row if it is the response to a's request. If row is the reservation of an attempt that never
// finished, it reserves the key for a instead.
func takeOver(ctx context.Context, tx *db.DB, a *attempt, row *answerRow) (answer *answerRow, err error) {
	switch key, now := a.key, a.key.At; {
	case len(row.Request) == 0:
		return nil, ports.ErrAnswerErased
	case !bytes.Equal(row.Request, key.Request[:]) && !bytes.Equal(row.Request, key.Plain.Request[:]):
		return nil, ports.ErrKeyReused
	case row.Until == 0:
		return row, nil
	case db.Micros(now) < row.Until:
		return nil, ports.ErrKeyInFlight
	default:
		_, err = tx.Exec(ctx, `UPDATE idempotency_keys SET attempt = ?, until = ? WHERE scope = ?`, a.id,
			db.Micros(now.Add(inFlight)), key.Scope[:])
		return nil, err
	}
}

// finish records a's response, unless another attempt has taken over.
func (s *Store) finish(ctx context.Context, tx *db.DB, a *attempt) error {
	answer := a.answer
	header, err := json.Marshal(answer.Header)
	if err != nil {
		return err
	}
	key, body, eraseAt := a.key, answer.Body, time.Time{}
	if answer.Reveals != "" {
		eraseAt = key.At.Add(secretsKept)
		if body, err = s.db.Sealer.Seal(body, key.Scope[:]); err != nil {
			return err
		}
	}
	shows := answer.Shows
	if start := s.db.DerivedFrom(); start != nil && key.At.Before(*start) {
		shows = "" // nodes of v0.1.0 cannot read answers again, and may have to replay this one
	}
	if body == nil || shows != "" {
		body = []byte{}
	}
	count, err := tx.Exec(ctx, `UPDATE idempotency_keys SET until = 0, status = ?, header = ?, body = ?, reveals = ?,
		shows = ?, brought = ?, erase_at = ? WHERE scope = ? AND attempt = ?`, answer.Status, string(header), body,
		answer.Reveals, shows, answer.Brought, db.Micros(eraseAt), key.Scope[:], a.id)
	if err == nil && count == 0 {
		return ports.ErrKeyInFlight
	}
	return err
}

// replay returns the response that is stored under a's key, or nil for no row.
func (s *Store) replay(a *attempt, row *answerRow, err error) (answer ports.Answer, isReplay bool, _ error) {
	if err != nil || row == nil {
		return ports.Answer{}, false, err
	}
	answer = ports.Answer{Status: row.Status, Body: row.Body, Reveals: row.Reveals}
	if err := json.Unmarshal([]byte(row.Header), &answer.Header); err != nil {
		return ports.Answer{}, false, err
	}
	if len(row.Body) == 0 && row.Status != 204 {
		answer.Shows = row.Shows
	}
	if row.Reveals != "" {
		if db.Micros(a.key.At) >= row.EraseAt {
			return ports.Answer{}, false, ports.ErrAnswerErased
		}
		if answer.Body, err = s.db.Sealer.Open(row.Body, a.key.Scope[:]); err != nil {
			return ports.Answer{}, false, err
		}
	}
	return answer, true, nil
}
