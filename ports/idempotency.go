package ports

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// Errors about an Idempotency-Key.
var (
	ErrKeyReused = &fault.Error{Kind: fault.Invalid, Code: "idempotency_key_reused",
		Detail: "This Idempotency-Key was used for another request."}
	ErrAnswerErased = &fault.Error{Kind: fault.Conflict, Code: "idempotency_answer_erased",
		Detail: "The request was carried out, but its stored response has been erased."}
	ErrKeyInFlight = &fault.Error{Kind: fault.Conflict, Code: "idempotency_in_flight",
		Detail: "A request with this Idempotency-Key is still running.", RetryAfter: 2 * time.Second}
)

// IdempotencyKey is an Idempotency-Key within its scope, and the request that it was sent with.
//
// Scope and Request are keyed digests (Digester), so that a copy of the database does not help to guess
// what was sent.
type IdempotencyKey struct {
	Org     identity.OrgID
	Scope   [sha256.Size]byte // of caller, credential, workspace, method, path and the key itself
	Request [sha256.Size]byte // of query and body
	At      time.Time

	// Plain holds the same digests without a key, as v0.1.0 computes them. Stores look up what v0.1.0
	// stored, and store plain digests as long as its nodes may run.
	Plain PlainDigests

	// Secret reports that the body may hold a secret: its plain digest is never stored.
	Secret bool
}

// PlainDigests are SHA-256 of scope and request.
type PlainDigests struct {
	Scope   [sha256.Size]byte
	Request [sha256.Size]byte
}

// Answer is the stored response to a request.
type Answer struct {
	Status int
	Header map[string]string // only what belongs to the outcome
	Body   []byte

	// Reveals names the object whose secret the body shows, if any. Such a response is stored sealed,
	// for one hour at most, and erased when the object is revoked.
	Reveals string

	// Brought names the object whose secret the request contained, if any. What is stored of the
	// request is erased when the object is revoked or its secret is replaced.
	Brought string

	// Shows is the path whose GET returns the body to the same caller; empty if no GET does. Body is
	// not stored then: a replayed response has none, and the caller of Once reads it again.
	Shows string
}

// Idempotency stores the responses to requests with an Idempotency-Key for 24 hours, so that a repeated
// request takes effect once.
type Idempotency interface {
	// Once returns key's stored response if there is one (replayed). Otherwise it runs fn with stores
	// that share one transaction with the record of its response: both are saved, or neither is,
	// even if the process dies in between. If fn fails, its changes are rolled back. keep decides whether the
	// error is an outcome, whose response is recorded too, or none, so that the request can be
	// repeated. fn may run again after a conflict.
	//
	// before, unless nil, runs once after the key is reserved and before fn, outside any transaction.
	// It is for calls to other systems. Its error ends the request as an error of fn does. Its effects
	// are not undone, so it must only do what can happen twice, or what the other system deduplicates
	// by key. The response after it is recorded even if ctx is cancelled in the meantime.
	//
	// ErrKeyReused if key was used with a different request. ErrAnswerErased if the stored response
	// showed a secret and has expired, or if what was stored of the request is erased. ErrKeyInFlight
	// while the first request runs, but the store may also wait for its response. A key left by a process that
	// died can be used again at once, or after 10 seconds if before had begun.
	Once(ctx context.Context, key IdempotencyKey, prepare func(context.Context) error, fn func(Stores) (Answer, error),
		keep func(error) (Answer, bool)) (a Answer, isReplay bool, err error)
}
