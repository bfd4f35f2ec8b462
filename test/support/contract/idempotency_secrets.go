package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func secretsKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	r := newRequests(t, a)
	by := r.team.Member
	runOnce := func(name string, delay time.Duration, fn func(ports.Stores) (ports.Answer, error)) (ports.Answer,
		bool, error) {
		return a.Idempotency.Once(ctx, r.key(name, "", delay), nil, fn, noOutcome)
	}
	showing := func(k **account.Key, token *string) func(ports.Stores) (ports.Answer, error) {
		return func(s ports.Stores) (ports.Answer, error) {
			newKey, secret, err := fixture.TryKey(t, s, by, account.KeyDraft{Name: "k"})
			if err != nil {
				return ports.Answer{}, err
			}
			*k, *token = newKey, secret.Reveal()
			return ports.Answer{Status: 201, Body: []byte(*token), Reveals: string(newKey.ID)}, nil
		}
	}
	var k, other *account.Key
	var token, otherToken string
	for name, target := range map[string]struct {
		key   **account.Key
		token *string
	}{"k": {&k, &token}, "other": {&other, &otherToken}} {
		_, _, err := runOnce(name, 0, showing(target.key, target.token))
		must(t, err)
	}

	t.Run("a response with a secret is replayed for an hour, then erased", func(t *testing.T) {
		for _, delay := range []time.Duration{0, time.Hour - time.Microsecond} {
			got, isReplay, err := runOnce("k", delay, never(t))
			must(t, err)
			if !isReplay || string(got.Body) != token || got.Reveals != string(k.ID) || got.Status != 201 {
				t.Fatalf("replayed %v, %d bytes, reveals %q", isReplay, len(got.Body), got.Reveals)
			}
		}
		for _, delay := range []time.Duration{time.Hour, 23 * time.Hour} {
			got, isReplay, err := runOnce("k", delay, never(t))
			wantErr(t, err, ports.ErrAnswerErased)
			if isReplay || len(got.Body) != 0 {
				t.Fatalf("replayed %v, %d bytes", isReplay, len(got.Body))
			}
		}
	})
	t.Run("what is stored of a request with a secret is erased with the credential", func(t *testing.T) {
		creation, replacement := r.key("creation", "the first password", 0),
			r.key("replacement", "the second password", 0)
		var newConnection *connection.Connection
		_, _, err := a.Idempotency.Once(ctx, creation, nil, func(s ports.Stores) (ports.Answer, error) {
			newConnection = fixture.Connection(t, s, by)
			return ports.Answer{Status: 201, Brought: string(newConnection.ID)}, nil
		}, noOutcome)
		must(t, err)
		repeat := func(t *testing.T, key ports.IdempotencyKey, want error) {
			t.Helper()
			got, isReplay, err := a.Idempotency.Once(ctx, key, nil, never(t), noOutcome)
			wantErr(t, err, want)
			if isReplay != (want == nil) || (isReplay && got.Status != 201) {
				t.Fatalf("replayed %v, status %d", isReplay, got.Status)
			}
		}
		repeat(t, creation, nil)
		_, _, err = a.Idempotency.Once(ctx, replacement, nil, func(s ports.Stores) (ports.Answer, error) {
			tr := fixture.Trial(t, newConnection.ID, 1)
			_, err := s.Connections.Update(ctx, by.Workspace, newConnection.ID,
				func(c *connection.Connection, n int) error { return c.Verify(by, tr, n) })
			return ports.Answer{Status: 201, Brought: string(newConnection.ID)}, err
		}, noOutcome)
		must(t, err)
		repeat(t, creation, ports.ErrAnswerErased)
		repeat(t, r.key("creation", "a guess", 0), ports.ErrAnswerErased)
		repeat(t, replacement, nil)
		revokeConnection(t, a.Stores, by, newConnection.ID)
		repeat(t, replacement, ports.ErrAnswerErased)
	})
	t.Run("a response with a secret is erased when that is revoked, and no other is", func(t *testing.T) {
		revoke(t, a.Stores, by, k.ID)
		got, _, err := runOnce("k", time.Second, never(t))
		wantErr(t, err, ports.ErrAnswerErased)
		if len(got.Body) != 0 {
			t.Fatal("the secret was answered")
		}
		got, isReplay, err := runOnce("other", time.Second, never(t))
		must(t, err)
		if !isReplay || string(got.Body) != otherToken {
			t.Fatalf("replayed %v, %d bytes", isReplay, len(got.Body))
		}
	})
	t.Run("a revocation that is rolled back erases nothing", func(t *testing.T) {
		err := a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
			revoke(t, tx, by, other.ID)
			return errBoom
		})
		wantErr(t, err, errBoom)
		_, isReplay, err := runOnce("other", time.Second, never(t))
		must(t, err)
		same(t, "replayed", isReplay, true)
	})
}
