package e2e

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestReadsFollowWritesAtOnce activates versions one after the other, while others read the active one: what a write
// has returned, every read that begins later shows.
func TestReadsFollowWritesAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		template := ann.template(t, "followed")
		ann.do(t, "PATCH", template, object{"visibility": "workspace"}).is(t, 200)
		for range 20 {
			ann.create(t, template+"/versions", object{"text": "Hello"})
		}
		var active, reads atomic.Int64
		var invalid atomic.Pointer[string]
		done := make(chan struct{})
		var readers sync.WaitGroup
		for _, c := range []*client{ann, bob, ann, bob} {
			readers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					for path, number := range map[string]string{
						template + "/versions/active": "number",
						template:                      "active_version.number",
						"/api/prompt-templates":       "data.0.active_version.number",
					} {
						minimum := active.Load()
						a, err := c.try(t, "GET", path, nil)
						reads.Add(1)
						if err != nil || minimum == 0 {
							continue
						}
						if n, _ := strconv.ParseInt(a.at(number), 10, 64); n < minimum {
							text := path + ": " + a.String()
							invalid.Store(&text)
						}
					}
				}
			})
		}
		for n := range 20 {
			ann.do(t, "POST", template+"/versions/v"+strconv.Itoa(n+1)+"/activate", nil).is(t, 200)
			active.Store(int64(n + 1))
			previous := reads.Load()
			proof.Eventually(t, "the readers keep answers", func() bool { return reads.Load() >= previous+8 })
		}
		close(done)
		readers.Wait()
		if text := invalid.Load(); text != nil {
			t.Errorf("a read showed an earlier version than a write before it had made active: %s", *text)
		}
		t.Run("and a share that has ended shows nothing any more", func(t *testing.T) {
			private := ann.template(t, "private")
			ann.create(t, private+"/versions", object{"text": "Hello", "labels": []string{"live"}})
			ann.do(t, "POST", private+"/versions/v1/activate", nil).is(t, 200)
			ann.create(t, private+"/shares", object{"user_id": bob.id, "role": "viewer"})
			for range 3 {
				bob.get(t, private+"/versions/active")
			}
			ann.do(t, "DELETE", private+"/shares/"+bob.id, nil).is(t, 204)
			bob.do(t, "GET", private+"/versions/active", nil).is(t, 404)
		})
		if engine == postgres {
			t.Run("and another node shows it within a second", func(t *testing.T) {
				elsewhere := bob.at(s.deployment.start(t))
				elsewhere.get(t, template+"/versions/active").has(t, map[string]string{"number": "20"})
				ann.do(t, "POST", template+"/versions/v1/activate", nil).is(t, 200)
				proof.EventuallyWithin(t, "the change", time.Second, func() bool {
					return elsewhere.get(t, template+"/versions/active").at("number") == "1"
				})
				ann.do(t, "POST", template+"/versions/v2/activate", nil).is(t, 200)
				elsewhere.get(t, template+"/versions/active", "Cache-Control: no-cache").
					has(t, map[string]string{"number": "2"})
			})
		}
	})
}

// TestTheServerNoticesACommandOnSQLite revokes a key and removes a person by commands, which are other processes, while
// the key and the person are in the server's memory.
func TestTheServerNoticesACommandOnSQLite(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann, bob := s.user(t, "owner"), s.user(t, "member")
	template := ann.template(t, "read")
	ann.create(t, template+"/versions", object{"text": "Hello"})
	ann.do(t, "POST", template+"/versions/v1/activate", nil).is(t, 200)
	revokedClient, id := ann.key(t)
	for _, tt := range []struct {
		name    string
		reads   *client
		path    string
		command []string
	}{
		{"a revoked key", revokedClient, template + "/versions/active", []string{"token", "revoke", id}},
		{"a disabled person", bob, "/api/me", []string{"user", "disable", "--email", bob.email}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var last atomic.Pointer[time.Time] // when the last request began that succeeded
			done, endedSignal := make(chan struct{}), make(chan struct{})
			startSignal := make(chan struct{})
			go func() {
				defer close(endedSignal)
				for first := true; ; first = false {
					now := time.Now()
					a, err := tt.reads.try(t, "GET", tt.path, nil)
					if err != nil || a.status == http.StatusUnauthorized {
						return
					}
					last.Store(&now)
					if first {
						close(startSignal)
					}
					select {
					case <-done:
						return
					case <-time.After(5 * time.Millisecond):
					}
				}
			}()
			defer close(done)
			<-startSignal
			s.must(t, tt.command...)
			storedAt := time.Now()
			select {
			case <-endedSignal:
			case <-time.After(patience):
				t.Fatal("the server does not notice it")
			}
			proof.Within(t, "until the server noticed a command", last.Load().Sub(storedAt), time.Second)
			tt.reads.do(t, "GET", tt.path, nil).problem(t, 401, "unauthenticated")
		})
	}
}
