package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

// otherSystems is the part of the suite for ports.Idempotency about requests that call another system before they
// store anything.
func otherSystems(t *testing.T, a Adapter) {
	ctx := t.Context()
	untouchedCall := func(context.Context) error {
		t.Error("the other system was reached again")
		return nil
	}
	t.Run("the other system is called once, before the effect and while the key is reserved", func(t *testing.T) {
		r := newRequests(t, a)
		reach := 0
		previousOf := func(context.Context) error {
			reach++
			same(t, "made", r.made(t), 0)
			// Others can write now, because no transaction is open.
			other, _, err := a.Idempotency.Once(ctx, r.key("other", "", 0), nil,
				func(ports.Stores) (ports.Answer, error) { return answer("other"), nil }, noOutcome)
			must(t, err)
			same(t, "the other answer", other, answer("other"))
			_, _, err = a.Idempotency.Once(ctx, r.key("k", "", 0), untouchedCall, never(t), noOutcome)
			wantErr(t, err, ports.ErrKeyInFlight)
			return nil
		}
		got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), previousOf, r.make(t, "first"), noOutcome)
		must(t, err)
		same(t, "answer", got, answer("first"))
		if isReplay || reach != 1 || r.made(t) != 1 {
			t.Fatalf("replayed %v, reached %d times, %d made", isReplay, reach, r.made(t))
		}
		got, isReplay, err = a.Idempotency.Once(ctx, r.key("k", "", 0), untouchedCall, never(t), noOutcome)
		must(t, err)
		same(t, "answer", got, answer("first"))
		same(t, "replayed", isReplay, true)
	})
	t.Run("if the other system cannot be reached the key can be used again", func(t *testing.T) {
		r := newRequests(t, a)
		_, _, err := a.Idempotency.Once(ctx, r.key("k", "", 0), func(context.Context) error { return errBoom },
			never(t), noOutcome)
		wantErr(t, err, errBoom)
		_, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil, r.make(t, "first"), noOutcome)
		must(t, err)
		if isReplay || r.made(t) != 1 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
	})
	t.Run("a refusal of the other system is stored if the caller calls it an outcome", func(t *testing.T) {
		r := newRequests(t, a)
		refusal := ports.Answer{Status: 422, Header: map[string]string{}, Body: []byte(`{"code":"boom"}`)}
		previousOf := func(context.Context) error { return errBoom }
		for _, want := range []bool{false, true} {
			got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), previousOf, never(t),
				func(err error) (ports.Answer, bool) { return refusal, errors.Is(err, errBoom) })
			must(t, err)
			same(t, "answer", got, refusal)
			same(t, "replayed", isReplay, want)
			previousOf = untouchedCall
		}
	})
	t.Run("the response is stored though the caller went away during the call of the other system", func(t *testing.T) {
		refusal := ports.Answer{Status: 422, Header: map[string]string{}, Body: []byte(`{"code":"boom"}`)}
		refuse := func(error) (ports.Answer, bool) { return refusal, true }
		for want, failure := range map[*ports.Answer]error{new(answer("first")): nil, &refusal: errBoom} {
			r := newRequests(t, a)
			leaving, leave := context.WithCancel(ctx)
			previousOf := func(context.Context) error { leave(); return failure }
			_, _, _ = a.Idempotency.Once(leaving, r.key("k", "", 0), previousOf, r.make(t, "first"), refuse)
			got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), untouchedCall, never(t), noOutcome)
			must(t, err)
			same(t, "answer", got, *want)
			same(t, "replayed", isReplay, true)
		}
	})
	t.Run("a request whose key was taken over meanwhile has no effect", func(t *testing.T) {
		r := newRequests(t, a)
		slow := func(context.Context) error {
			_, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 31*time.Second), nil, r.make(t, "by the other"),
				noOutcome)
			must(t, err)
			same(t, "replayed", isReplay, false)
			return nil
		}
		_, _, err := a.Idempotency.Once(ctx, r.key("k", "", 0), slow, r.make(t, "too late"), noOutcome)
		wantErr(t, err, ports.ErrKeyInFlight)
		same(t, "made", r.made(t), 1)
	})
	// die is a process that dies while it calls the other system.
	die := func(r requests, key ports.IdempotencyKey) {
		defer func() { _ = recover() }()
		_, _, _ = a.Idempotency.Once(ctx, key, func(context.Context) error { panic("on purpose") }, never(t), noOutcome)
	}
	t.Run("a key whose process died is in flight for 8 seconds, then it can be used", func(t *testing.T) {
		r := newRequests(t, a)
		die(r, r.key("k", "", 0))
		_, _, err := a.Idempotency.Once(ctx, r.key("k", "", 8*time.Second-time.Microsecond), nil, never(t), noOutcome)
		wantErr(t, err, ports.ErrKeyInFlight)
		_, _, err = a.Idempotency.Once(ctx, r.key("k", "another body", time.Minute), nil, never(t), noOutcome)
		wantErr(t, err, ports.ErrKeyReused)
		same(t, "made", r.made(t), 0)
		got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 8*time.Second), nil,
			r.make(t, "second try"), noOutcome)
		must(t, err)
		same(t, "answer", got, answer("second try"))
		if isReplay || r.made(t) != 1 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
	})
	t.Run("a request that takes over a key has 8 seconds", func(t *testing.T) {
		r := newRequests(t, a)
		die(r, r.key("k", "", 0))
		die(r, r.key("k", "", time.Minute))
		_, _, err := a.Idempotency.Once(ctx, r.key("k", "", 67*time.Second), nil, never(t), noOutcome)
		wantErr(t, err, ports.ErrKeyInFlight)
		_, _, err = a.Idempotency.Once(ctx, r.key("k", "", 68*time.Second), nil, r.make(t, "third try"), noOutcome)
		must(t, err)
	})
}
