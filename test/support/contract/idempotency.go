package contract

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Idempotency is the suite for ports.Idempotency.
func Idempotency(t *testing.T, open Opener) {
	a := open(t)
	t.Run("answers", func(t *testing.T) { answersKept(t, a) })
	t.Run("failures", func(t *testing.T) { failuresKept(t, a) })
	t.Run("requests under way", func(t *testing.T) { requestsUnderWay(t, a) })
	t.Run("secrets", func(t *testing.T) { secretsKept(t, a) })
	t.Run("calls to other systems", func(t *testing.T) { otherSystems(t, a) })
}

// requests is a client that sends requests with an Idempotency-Key. Each request creates a template.
type requests struct {
	Adapter
	team *fixture.Team
}

func newRequests(t *testing.T, a Adapter) requests {
	t.Helper()
	return requests{a, fixture.NewTeam(t, a.Stores, a.Orgs[0])}
}

// key is the Idempotency-Key with that name, sent with body some time after fixture.At.
func (r requests) key(name, body string, delay time.Duration) ports.IdempotencyKey {
	return ports.IdempotencyKey{
		Org: r.team.Org, Scope: sha256.Sum256([]byte(r.team.Workspace.Slug + name)),
		Request: sha256.Sum256([]byte(body)), At: fixture.At.Add(delay),
	}
}

// make creates a template and returns 201.
func (r requests) make(t *testing.T, name string) func(ports.Stores) (ports.Answer, error) {
	return func(tx ports.Stores) (ports.Answer, error) {
		template, err := prompt.New(r.team.Member, prompt.Draft{Name: name})
		if err != nil {
			return ports.Answer{}, err
		}
		return answer(name), tx.Prompts.Add(t.Context(), template)
	}
}

// made returns the number of templates.
func (r requests) made(t *testing.T) int {
	t.Helper()
	return len(fixture.Pages(t, 100, func(q page.Query) (prompt.Page, error) {
		return r.PromptLists.Visible(t.Context(), r.team.Owner, prompt.Filter{}, q)
	}))
}

func answer(name string) ports.Answer {
	return ports.Answer{Status: 201, Header: map[string]string{"Location": "/" + name, "ETag": `"1"`},
		Body: []byte(`{"name":"` + name + `"}`)}
}

// noOutcome reports that no error is an outcome.
func noOutcome(error) (ports.Answer, bool) { return ports.Answer{}, false }

func never(t *testing.T) func(ports.Stores) (ports.Answer, error) {
	return func(ports.Stores) (ports.Answer, error) {
		t.Error("the request was carried out again")
		return ports.Answer{}, errBoom
	}
}

func answersKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	r := newRequests(t, a)
	runOnce := func(key ports.IdempotencyKey, fn func(ports.Stores) (ports.Answer, error)) (ports.Answer, bool, error) {
		return a.Idempotency.Once(ctx, key, nil, fn, noOutcome)
	}
	got, isReplay, err := runOnce(r.key("k", "body", 0), r.make(t, "first"))
	must(t, err)
	same(t, "answer", got, answer("first"))
	if isReplay || r.made(t) != 1 {
		t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
	}

	for name, delay := range map[string]time.Duration{"a repetition": 0, "one a minute later": time.Minute,
		"one just before the end": 24*time.Hour - time.Microsecond} {
		t.Run(name+" gets the stored response", func(t *testing.T) {
			got, isReplayed, err := runOnce(r.key("k", "body", delay), never(t))
			must(t, err)
			same(t, "answer", got, answer("first"))
			if !isReplayed {
				t.Fatal("not replayed")
			}
		})
	}
	t.Run("a response that is only a status is replayed", func(t *testing.T) {
		empty := func(ports.Stores) (ports.Answer, error) { return ports.Answer{Status: 204}, nil }
		for _, want := range []bool{false, true} {
			got, isReplayed, err := runOnce(r.key("empty", "", 0), empty)
			must(t, err)
			same(t, "answer", got, ports.Answer{Status: 204})
			same(t, "replayed", isReplayed, want)
		}
	})
	t.Run("of a body that can be read again only its location is stored", func(t *testing.T) {
		full := answer("readable")
		full.Shows = "/api/things/1"
		readable := func(ports.Stores) (ports.Answer, error) { return full, nil }
		got, _, err := runOnce(r.key("readable", "", 0), readable)
		must(t, err)
		same(t, "first answer", got, full)
		keptAnswer := full
		keptAnswer.Body = []byte{}
		for range 2 {
			got, isReplayed, err := runOnce(r.key("readable", "", time.Minute), never(t))
			must(t, err)
			same(t, "answer", got, keptAnswer)
			same(t, "replayed", isReplayed, true)
		}
		got, _, err = runOnce(r.key("readable", "", 24*time.Hour),
			func(ports.Stores) (ports.Answer, error) { return answer("new"), nil })
		must(t, err)
		same(t, "answer to the next request", got, answer("new"))
		got, _, err = runOnce(r.key("readable", "", 25*time.Hour), never(t))
		must(t, err)
		same(t, "answer to the next request, replayed", got, answer("new"))
	})
	t.Run("an effect runs once, after the commit: not for a replay, and not for a failure", func(t *testing.T) {
		var effects []string
		making := func(name string, fails error) func(ports.Stores) (ports.Answer, error) {
			return func(tx ports.Stores) (ports.Answer, error) {
				tx.Atomic.AfterCommit(func() { effects = append(effects, name) })
				return answer(name), fails
			}
		}
		for range 2 {
			_, _, err := runOnce(r.key("effect", "", 0), making("made", nil))
			must(t, err)
		}
		_, _, err := runOnce(r.key("failure", "", 0), making("failed", errBoom))
		wantErr(t, err, errBoom)
		_, _, err = a.Idempotency.Once(ctx, r.key("outcome", "", 0), nil, making("refused", errBoom),
			func(error) (ports.Answer, bool) {
				return answer("refused"), true
			})
		must(t, err)
		same(t, "effects", effects, []string{"made"})
	})
	t.Run("another request with the same key is refused", func(t *testing.T) {
		_, _, err := runOnce(r.key("k", "another body", time.Second), never(t))
		wantErr(t, err, ports.ErrKeyReused)
	})
	t.Run("another key is another request", func(t *testing.T) {
		got, isReplayed, err := runOnce(r.key("k2", "body", 0), r.make(t, "second"))
		must(t, err)
		same(t, "answer", got, answer("second"))
		if isReplayed || r.made(t) != 2 {
			t.Fatalf("replayed %v, %d made", isReplayed, r.made(t))
		}
	})
	t.Run("a key can be used for another request after a day", func(t *testing.T) {
		got, isReplayed, err := runOnce(r.key("k", "another body", 24*time.Hour), r.make(t, "third"))
		must(t, err)
		same(t, "answer", got, answer("third"))
		if isReplayed || r.made(t) != 3 {
			t.Fatalf("replayed %v, %d made", isReplayed, r.made(t))
		}
		_, isReplayed, err = runOnce(r.key("k", "another body", 48*time.Hour-time.Microsecond), never(t))
		must(t, err)
		same(t, "replayed", isReplayed, true)
	})
}

func failuresKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	r := newRequests(t, a)
	fails := func(s ports.Stores) (ports.Answer, error) {
		got, err := r.make(t, "undone")(s)
		return got, errors.Join(err, errBoom)
	}
	t.Run("an error that is no outcome is returned, and the key can be used again", func(t *testing.T) {
		got, isReplay, err := a.Idempotency.Once(ctx, r.key("error", "", 0), nil, fails,
			func(err error) (ports.Answer, bool) {
				wantErr(t, err, errBoom)
				return answer("never seen"), false
			})
		wantErr(t, err, errBoom)
		same(t, "answer", got, ports.Answer{})
		if isReplay || r.made(t) != 0 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
		_, isReplay, err = a.Idempotency.Once(ctx, r.key("error", "even another body", 0), nil,
			r.make(t, "first"), noOutcome)
		must(t, err)
		if isReplay || r.made(t) != 1 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
	})
	t.Run("an error that is an outcome is stored, and its transaction is rolled back", func(t *testing.T) {
		refusal := ports.Answer{Status: 409, Header: map[string]string{}, Body: []byte(`{"code":"boom"}`)}
		keep := func(err error) (ports.Answer, bool) {
			wantErr(t, err, errBoom)
			return refusal, true
		}
		fn := fails
		for _, want := range []bool{false, true} {
			got, isReplay, err := a.Idempotency.Once(ctx, r.key("refusal", "", 0), nil, fn, keep)
			must(t, err)
			same(t, "answer", got, refusal)
			same(t, "replayed", isReplay, want)
			fn = never(t)
		}
		same(t, "made", r.made(t), 1)
	})
	t.Run("a cancelled request leaves nothing, and can be repeated", func(t *testing.T) {
		short, cancel := context.WithCancel(ctx)
		_, _, err := a.Idempotency.Once(short, r.key("gone", "", 0), nil, func(s ports.Stores) (ports.Answer, error) {
			defer cancel()
			return r.make(t, "gone")(s)
		}, noOutcome)
		wantErr(t, err, context.Canceled)
		same(t, "made", r.made(t), 1)
		_, isReplay, err := a.Idempotency.Once(ctx, r.key("gone", "", 0), nil, r.make(t, "gone"), noOutcome)
		must(t, err)
		if isReplay || r.made(t) != 2 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
	})
}

func requestsUnderWay(t *testing.T, a Adapter) {
	ctx := t.Context()
	t.Run("of many concurrent requests one takes effect; the others get its response or ErrKeyInFlight",
		func(t *testing.T) {
			r := newRequests(t, a)
			var wg sync.WaitGroup
			var mu sync.Mutex
			first, waiting := 0, 0
			for i := range 64 {
				wg.Go(func() {
					got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil,
						r.make(t, fmt.Sprint("by ", i)), noOutcome)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case errors.Is(err, ports.ErrKeyInFlight):
						waiting++
					case err != nil || got.Status != 201:
						t.Errorf("%+v, %v", got, err)
					case !isReplay:
						first++
					}
				})
			}
			wg.Wait()
			if first != 1 || r.made(t) != 1 {
				t.Fatalf("%d carried it out, %d were told to wait, %d made", first, waiting, r.made(t))
			}
			_, isReplayed, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil, never(t), noOutcome)
			must(t, err)
			same(t, "replayed", isReplayed, true)
		})

	t.Run("of a process that died nothing is left, so the key can be used at once", func(t *testing.T) {
		r := newRequests(t, a)
		func() {
			defer func() { _ = recover() }()
			_, _, _ = a.Idempotency.Once(ctx, r.key("k", "", 0), nil, func(s ports.Stores) (ports.Answer, error) {
				_, _ = r.make(t, "half done")(s)
				panic("on purpose")
			}, noOutcome)
		}()
		got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil, r.make(t, "second try"), noOutcome)
		must(t, err)
		same(t, "answer", got, answer("second try"))
		if isReplay || r.made(t) != 1 {
			t.Fatalf("replayed %v, %d made", isReplay, r.made(t))
		}
	})
	t.Run("while a request runs, others with its key get ErrKeyInFlight or wait for its response",
		func(t *testing.T) {
			r := newRequests(t, a)
			startedSignal, refusedSignal := make(chan struct{}), make(chan struct{})
			first := make(chan error, 1)
			go func() {
				var start sync.Once
				_, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil,
					func(s ports.Stores) (ports.Answer, error) {
						start.Do(func() { close(startedSignal) })
						select {
						case <-refusedSignal:
						case <-time.After(300 * time.Millisecond): // the other one waits
						}
						return r.make(t, "first")(s)
					}, noOutcome)
				if isReplay {
					err = errors.Join(err, errors.New("it is replayed"))
				}
				first <- err
			}()
			<-startedSignal
			got, isReplayed, err := a.Idempotency.Once(ctx, r.key("k", "", time.Minute), nil, never(t), noOutcome)
			close(refusedSignal)
			if err == nil {
				same(t, "answer", got, answer("first"))
				same(t, "replayed", isReplayed, true)
			} else {
				wantErr(t, err, ports.ErrKeyInFlight)
			}
			must(t, <-first)
			same(t, "made", r.made(t), 1)
		})
	t.Run("a refusal does not replace the response that another request has stored meanwhile", func(t *testing.T) {
		r := newRequests(t, a)
		fails := func(ports.Stores) (ports.Answer, error) { return ports.Answer{}, errBoom }
		keep := func(error) (ports.Answer, bool) {
			_, _, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil, r.make(t, "other"), noOutcome)
			must(t, err)
			return ports.Answer{Status: 409}, true
		}
		got, isReplay, err := a.Idempotency.Once(ctx, r.key("k", "", 0), nil, fails, keep)
		must(t, err)
		same(t, "answer", got, answer("other"))
		same(t, "replayed", isReplay, true)
	})
}
