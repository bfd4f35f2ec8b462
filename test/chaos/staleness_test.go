package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// staleFor is how old an answer of another node may be (ADR 49).
const staleFor = time.Second

// staleness compares what nodes answer from memory with what was confirmed before the request was sent.
type staleness struct {
	t      *testing.T
	nodes  []*program.Node
	client http.Client
	owner  string
	things []*thing

	answered, accepted, revoked atomic.Int64 // reads, reads by a key that is revoked later, and such keys
}

// thing is a template or a version, of which each change raises the revision. A version is cached for as long as no
// node has changed anything.
type thing struct {
	path   string
	member string // that changes

	mu        sync.Mutex
	confirmed []confirmation
}

type confirmation struct {
	at       time.Time
	node     int
	revision int64
}

// confirm notes that a node has confirmed a revision.
func (g *thing) confirm(node int, revision int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.confirmed = append(g.confirmed, confirmation{time.Now(), node, revision})
}

// least is the confirmation of the lowest revision that a node may show to a request that is sent at a time.
func (g *thing) least(node int, instant time.Time) (minimum confirmation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.confirmed {
		if c.at.Before(instant.Add(-staleFor)) || (c.node == node && c.at.Before(instant)) {
			if c.revision > minimum.revision {
				minimum = c
			}
		}
	}
	if old := len(g.confirmed) - 2000; old > 0 { // every older one is below these
		g.confirmed = g.confirmed[old:]
	}
	return minimum
}

// send returns the status of a response and its body as JSON. A node that is stopped answers when it goes on.
func (s *staleness) send(ctx context.Context, node int, token, method, path, body string, target any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.nodes[node].URL+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && target != nil && resp.StatusCode < 300 {
		err = json.Unmarshal(text, target)
	}
	return resp.StatusCode, err
}

// write changes a random thing at a random node, again and again, and notes what was confirmed.
func (s *staleness) write(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		g, node := s.things[rand.IntN(len(s.things))], rand.IntN(len(s.nodes))
		var changedCase struct{ Revision int64 }
		status, err := s.send(ctx, node, s.owner, "PATCH", g.path, fmt.Sprintf(`{%q: "%d"}`, g.member, i), &changedCase)
		switch {
		case ctx.Err() != nil:
		case err != nil || status != http.StatusOK:
			s.t.Errorf("a change: %d, %v", status, err)
		default:
			g.confirm(node, changedCase.Revision)
		}
		pause := 40
		if rand.IntN(20) == 0 {
			pause = 3000
		}
		time.Sleep(time.Duration(rand.IntN(pause)) * time.Millisecond) // so that answers are remembered in between
	}
}

// betweenReads pauses, so that a reader stays below the rate limit of a caller. In make test, it pauses for longer,
// because other tests need the processors.
func betweenReads() {
	time.Sleep(rand.N(proof.Sample(30*time.Millisecond, 2*time.Millisecond)))
}

// read checks that no answer is older than it may be.
func (s *staleness) read(ctx context.Context) {
	for ctx.Err() == nil {
		g, node, sentAt := s.things[rand.IntN(len(s.things))], rand.IntN(len(s.nodes)), time.Now()
		minimum := g.least(node, sentAt)
		var view struct{ Revision int64 }
		status, err := s.send(ctx, node, s.owner, "GET", g.path, "", &view)
		switch {
		case ctx.Err() != nil:
		case err != nil || status != http.StatusOK:
			s.t.Errorf("a read: %d, %v", status, err)
		case view.Revision < minimum.revision:
			s.t.Errorf("node %d shows revision %d of %s, but node %d confirmed %d, %v before the request", node,
				view.Revision, g.path, minimum.node, minimum.revision, sentAt.Sub(minimum.at))
		}
		s.answered.Add(1)
		betweenReads()
	}
}

// revoke makes keys that all nodes know, and revokes them: none may be accepted later than it may.
func (s *staleness) revoke(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		var key struct{ ID, Token string }
		at := rand.IntN(len(s.nodes))
		status, err := s.send(ctx, at, s.owner, "POST", keys, fmt.Sprintf(`{"name": "staleness %d"}`, i), &key)
		if ctx.Err() != nil {
			return
		}
		if err != nil || status != http.StatusCreated {
			s.t.Errorf("a key: %d, %v", status, err)
			return
		}
		var mu sync.Mutex
		var isAsked bool  // to revoke it
		var end time.Time // when that was confirmed
		state := func() (bool, time.Time) { mu.Lock(); defer mu.Unlock(); return isAsked, end }
		var users sync.WaitGroup
		for node := range s.nodes {
			users.Go(func() {
				for ctx.Err() == nil {
					sentAt := time.Now()
					_, start := state()
					status, err := s.send(ctx, node, key.Token, "GET", s.things[0].path, "", nil)
					late := !start.IsZero() && (node == at || sentAt.Sub(start) > staleFor)
					switch {
					case ctx.Err() != nil:
					case err != nil || (status != http.StatusOK && status != http.StatusUnauthorized):
						s.t.Errorf("with a key: %d, %v", status, err)
					case status == http.StatusOK && late:
						s.t.Errorf("node %d accepts a key %v after node %d has revoked it", node, sentAt.Sub(start), at)
						return
					case status == http.StatusOK:
						s.accepted.Add(1)
						betweenReads()
					default:
						if wasAsked, _ := state(); !wasAsked {
							s.t.Errorf("node %d refuses a key that no one has revoked", node)
						}
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN([]int{300, 3000}[i%2])) * time.Millisecond)
		mu.Lock()
		isAsked = true
		mu.Unlock()
		status, err = s.send(ctx, at, s.owner, "DELETE", keys+"/"+key.ID, "", nil)
		mu.Lock()
		end = time.Now()
		mu.Unlock()
		if ctx.Err() == nil && (err != nil || status >= 300) {
			s.t.Errorf("a revocation: %d, %v", status, err)
		}
		users.Wait()
		s.revoked.Add(1)
	}
}

// pause stops a random node, and lets it go on after more than an answer may be kept.
func (s *staleness) pause(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		pid := s.nodes[rand.IntN(len(s.nodes))].Pid()
		assert.NoError(s.t, syscall.Kill(pid, syscall.SIGSTOP))
		time.Sleep(time.Duration(rand.IntN(int(2 * staleFor))))
		assert.NoError(s.t, syscall.Kill(pid, syscall.SIGCONT))
	}
}

// isEnough reports whether there were reads, some of them with a key that was revoked.
func (s *staleness) isEnough() bool {
	return s.answered.Load() > 0 && s.accepted.Load() > 0 && s.revoked.Load() > 0
}

// TestNoAnswerIsOlderThanItMayBe lets writers and readers use random nodes, which are stopped and go on. At the node
// that has confirmed a change, the next request sees it; at another one, requests that are sent a second later do.
func TestNoAnswerIsOlderThanItMayBe(t *testing.T) {
	for engine, nodes := range map[string]int{sqlite: 1, postgres: 3} {
		t.Run("on "+engine, func(t *testing.T) {
			besideOthers(t)
			// Each revoked key is refused at least once, by every node.
			d := on(t, engine, "ATRIUM_SERVER_RATE_LIMIT_UNAUTHENTICATED_PER_MINUTE=1000000")
			s := &staleness{t: t}
			for range nodes {
				s.nodes = append(s.nodes, d.Start(t, suite.Binary(t)))
			}
			s.owner = d.Owner(t, suite.Binary(t), "ann@example.com")
			for i := range 3 {
				var newCase struct{ ID string }
				status, err := s.send(t.Context(), 0, s.owner, "POST", "/api/prompt-templates",
					fmt.Sprintf(`{"name": "thing %d"}`, i), &newCase)
				if err != nil || status != http.StatusCreated {
					t.Fatal(status, err)
				}
				path := "/api/prompt-templates/" + newCase.ID
				status, err = s.send(t.Context(), 0, s.owner, "POST", path+"/versions",
					`{"text": "Hello", "activate": true}`, nil)
				if err != nil || status != http.StatusCreated {
					t.Fatal(status, err)
				}
				s.things = append(s.things, &thing{path: path + "/versions/active", member: "commit_message"},
					&thing{path: path, member: "description"})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			all.Go(func() { // a node that is stopped most of the time needs a while on a busy machine
				defer cancel()
				start, lasts := time.Now(), proof.Sample(time.Minute, 30*time.Minute)
				proof.Poll(ctx, func() bool {
					took := time.Since(start)
					return took >= lasts && (took >= patience || s.isEnough())
				})
			})
			for _, f := range []func(context.Context){s.write, s.write, s.read, s.read, s.read, s.revoke, s.pause} {
				all.Go(func() { f(ctx) })
			}
			all.Wait()
			t.Logf("%d reads, %d by %d keys", s.answered.Load(), s.accepted.Load(), s.revoked.Load())
			if !s.isEnough() {
				t.Error("too little happened")
			}
		})
	}
}
