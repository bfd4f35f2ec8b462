package ports

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// What can go wrong with an Idempotency-Key.
var (
	ErrKeyReused    = &fault.Error{Kind: fault.Invalid, Code: "idempotency_key_reused", Detail: "This Idempotency-Key was used for another request."}
	ErrAnswerErased = &fault.Error{Kind: fault.Conflict, Code: "idempotency_answer_erased", Detail: "This request was carried out. What was kept of it is erased."}
	ErrKeyInFlight  = &fault.Error{Kind: fault.Conflict, Code: "idempotency_in_flight", Detail: "A request with this Idempotency-Key is still running."}
)

// IdempotencyKey is an Idempotency-Key within its scope, and the request that it was sent with.
//
// Scope and Request are keyed digests (Digester): a copy of the database is no help in guessing what was sent.
type IdempotencyKey struct {
	Org     identity.OrgID
	Scope   [sha256.Size]byte // of caller, credential, workspace, method, path and the key itself
	Request [sha256.Size]byte // of query and body
	At      time.Time

	// Plain are the same digests without a key, as v0.1.0 computes them: stores look for what it stored, and
	// store them as long as its nodes may run.
	Plain PlainDigests

	// Secret says that the body may hold a secret: its plain digest is never stored.
	Secret bool
}

// PlainDigests are SHA-256 of scope and request.
type PlainDigests struct {
	Scope   [sha256.Size]byte
	Request [sha256.Size]byte
}

// Answer is what a request was answered.
type Answer struct {
	Status int
	Header map[string]string // only what belongs to the outcome
	Body   []byte

	// Reveals names the thing whose secret the body shows, if it shows one: such an answer is kept
	// sealed, for an hour at most, and erased when the thing is revoked.
	Reveals string

	// Brought names the thing whose secret came with the request, if one did: what is kept of the request is
	// erased when the thing is revoked or its secret is replaced.
	Brought string

	// Shows is the path whose GET returns the body to the same caller; empty if none does. Body is not kept
	// then: a replayed answer has none, and the caller of Once reads it again.
	Shows string
}

// Idempotency keeps the answers to requests with an Idempotency-Key for 24 hours, so that a
// request that is repeated takes effect once.
type Idempotency interface {
	// Once answers key's stored answer if there is one (replayed). Otherwise it runs fn, whose
	// stores share one transaction with the record of its answer: both are kept, or neither is,
	// wherever the process dies. If fn fails, what it did is undone; keep decides whether the
	// error is an outcome, whose answer is then recorded too, or none, so that the request may be
	// repeated. fn may run again after a conflict.
	//
	// before, unless it is nil, runs once after the key is reserved and before fn, outside of any
	// transaction: it is for what reaches another system. Its error ends the request as one of fn's
	// does. What it did is not undone, so that it is for what may happen twice, or is told apart by
	// key at the other end.
	//
	// ErrKeyReused if key came with another request, ErrAnswerErased if the stored answer showed a
	// secret and its time is over, or what was kept of the request is erased, ErrKeyInFlight while the first one runs, for
	// 30 seconds at most: a process that died leaves a key that can be used again after that.
	Once(ctx context.Context, key IdempotencyKey, before func(context.Context) error, fn func(Stores) (Answer, error), keep func(error) (Answer, bool)) (a Answer, replayed bool, err error)
}
