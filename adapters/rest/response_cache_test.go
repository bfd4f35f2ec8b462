package rest

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// changes are those of a store in which nothing changes by itself.
type changes struct {
	generation, observed uint64
	pending, current     bool
}

func (c *changes) Generation(identity.WorkspaceID) (uint64, bool) { return c.generation, !c.pending }
func (c *changes) ObservedGeneration(identity.WorkspaceID) (uint64, bool) {
	return c.observed, c.current
}

func TestAnAnswerIsReadOnceUntilSomethingChanges(t *testing.T) {
	const path = promptsPath + "/ptpl_01jb4rqnx1e5btz2s1v2j9k3mn/versions/active"
	read := func(t *testing.T, test func(h *env, reads *int)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			h, reads := newEnv(t), 0
			h.unchecked = true
			a := gomock.Any()
			h.prompts.EXPECT().GetVersion(a, a, a, a).AnyTimes().DoAndReturn(
				func(context.Context, identity.Actor, prompt.ID, prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
					if reads++; reads > 1 && h.changes.generation == 99 {
						return nil, nil, prompt.ErrNotFound
					}
					t := &prompt.Reading{ID: "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn", Type: prompt.Text,
						Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}}
					v := &prompt.Version{}
					v.ID, v.Template, v.Number, v.Revision = "pver_1", t.ID, reads, 1
					v.Content = prompt.Content{Text: "Hello"}
					return t, v, nil
				})
			test(h, &reads)
		})
	}
	get := func(h *env, path string, headers ...string) {
		t.Helper()
		if w := h.call("GET", path, "", headers...); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	cached := func(h *env) { // has it read while looks find no change
		h.changes.current = true
		time.Sleep(time.Second)
		get(h, path)
	}
	for _, tt := range []struct {
		name  string
		then  func(h *env)
		reads int
	}{
		{"requested again", func(h *env) { get(h, path) }, 1},
		{"requested with HEAD", func(h *env) { h.call("HEAD", path, "") }, 1},
		{"after a change", func(h *env) { h.changes.generation++; get(h, path) }, 2},
		{"while a change is being stored", func(h *env) { h.changes.pending = true; get(h, path) }, 2},
		{"just before a second has passed", func(h *env) { time.Sleep(time.Second - 1); get(h, path) }, 1},
		{"after a second", func(h *env) { time.Sleep(time.Second); get(h, path) }, 2},
		{"after a second, while looks find no change", func(h *env) {
			cached(h)
			time.Sleep(time.Second)
			get(h, path)
		}, 2}, // the first read was before the looks
		{"for minutes, while looks find no change", func(h *env) {
			cached(h)
			for range 300 {
				get(h, path)
				time.Sleep(time.Second)
			}
		}, 2},
		{"for more than ten minutes", func(h *env) {
			cached(h)
			for range 700 {
				time.Sleep(time.Second)
				get(h, path)
			}
		}, 3},
		{"within a second after a look found a change", func(h *env) { h.changes.observed++; get(h, path) }, 1},
		{"more than a second after a look found a change", func(h *env) {
			cached(h)
			h.changes.observed++
			time.Sleep(time.Second)
			get(h, path)
		}, 3},
		{"more than a second without a look", func(h *env) {
			cached(h)
			h.changes.current = false
			time.Sleep(time.Second)
			get(h, path)
		}, 3},
		{"for more than a second, by a request that waited before its read", func(h *env) {
			h.now = func() time.Time { return now().Add(-2 * time.Second) }
			cached(h)
			time.Sleep(time.Second)
			get(h, path)
		}, 3},
		{"after a change, while looks find none", func(h *env) { cached(h); h.changes.generation++; get(h, path) }, 3},
		{"for another version", func(h *env) { get(h, strings.Replace(path, "active", "latest", 1)) }, 2},
		{"with Cache-Control: no-cache", func(h *env) { get(h, path, "Cache-Control: no-cache"); get(h, path) }, 2},
		{"after it is gone", func(h *env) {
			h.changes.generation = 99
			for range 2 { // a refusal is not cached
				if w := h.call("GET", path, ""); w.Code != http.StatusNotFound {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read(t, func(h *env, reads *int) {
				get(h, path)
				tt.then(h)
				if *reads != tt.reads {
					t.Errorf("%d reads, want %d", *reads, tt.reads)
				}
			})
		})
	}
}

func TestTheFailingWebhooksOfTheCallerAreReadOnceUntilSomethingChanges(t *testing.T) {
	for _, tt := range []struct {
		name    string
		then    func(h *env)
		reads   int
		failing string
	}{
		{"requested again", func(*env) {}, 1, `"failing_webhooks":1`},
		{"after a change", func(h *env) { h.changes.generation++ }, 2, `"failing_webhooks":2`},
		{"while a change is being stored", func(h *env) { h.changes.pending = true }, 2, `"failing_webhooks":2`},
		{"just before a second has passed", func(*env) { time.Sleep(time.Second - 1) }, 1, `"failing_webhooks":1`},
		{"after a second", func(*env) { time.Sleep(time.Second) }, 2, `"failing_webhooks":2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, reads := newEnv(t), 0
				h.unchecked = true
				h.webhooks.EXPECT().List(gomock.Any(), identity.WorkspaceID("wsp_1")).AnyTimes().DoAndReturn(
					func(context.Context, identity.WorkspaceID) ([]webhook.Endpoint, error) {
						reads++
						return slices.Repeat([]webhook.Endpoint{{Told: true}}, reads), nil
					})
				h.call("GET", "/api/me", "")
				tt.then(h)
				w := h.call("GET", "/api/me", "")
				if !strings.Contains(w.Body.String(), tt.failing) || reads != tt.reads {
					t.Errorf("%d reads, want %d: %d %s", reads, tt.reads, w.Code, w.Body)
				}
				if h.call("GET", "/api/me", "", "Cache-Control: no-cache"); reads != tt.reads+1 {
					t.Error("no-cache did not read the database")
				}
			})
		})
	}
}

func TestNumbersInMemoryAreBounded(t *testing.T) {
	var s counts
	for i := range maxCounts + 10 {
		s.put(identity.WorkspaceID(strconv.Itoa(i)), count{n: i})
	}
	if len(s.byWorkspace) > maxCounts {
		t.Errorf("%d numbers are held", len(s.byWorkspace))
	}
}

func TestAnswersInMemoryAreBounded(t *testing.T) {
	var s responseCache
	now := time.Now()
	body := make([]byte, maxCachedResponseBytes)
	for i := range 1000 {
		s.put(cacheKey{path: strings.Repeat("x", i)},
			cachedResponse{answer: ports.Answer{Body: body}, at: version{generation: 1}, read: now})
		held := 0
		for _, half := range []map[cacheKey]cachedResponse{s.young, s.old} {
			for key, k := range half {
				held += key.size() + len(k.answer.Body)
			}
		}
		if held > maxCacheBytes {
			t.Fatalf("%d bytes are held", held)
		}
	}
	key := cacheKey{path: strings.Repeat("x", 999)}
	if _, known := s.get(&key, version{generation: 1}, now); !known {
		t.Error("the newest response is not cached")
	}
	key.path = ""
	if _, known := s.get(&key, version{generation: 1}, now); known {
		t.Error("the oldest response is still cached")
	}
	tooLarge := ports.Answer{Body: make([]byte, maxCachedResponseBytes+1)}
	s.put(key, cachedResponse{answer: tooLarge, at: version{generation: 1}, read: now})
	if _, known := s.get(&key, version{generation: 1}, now); known {
		t.Error("a response that is too large is cached")
	}
}

func TestAnswersThatAreReadOnceDoNotFillTheMemory(t *testing.T) {
	var s responseCache
	now := time.Now()
	for second := range 100 {
		for i := range 10 {
			at := now.Add(time.Duration(second)*time.Second + time.Duration(i)*100*time.Millisecond)
			key := cacheKey{path: strings.Repeat("x", 10*second+i)}
			s.put(key, cachedResponse{answer: ports.Answer{Body: []byte("{}")}, at: version{generation: 1}, read: at})
			if held := len(s.young) + len(s.old); held > 20 {
				t.Fatalf("%d answers are held, 10 of which can be used", held)
			}
			if _, known := s.get(&key, version{generation: 1}, at.Add(cacheFresh-1)); !known {
				t.Fatal("an answer is forgotten before its time")
			}
		}
	}
}

func TestAnAnswerOfAnOlderGenerationDoesNotReplaceALaterOne(t *testing.T) {
	s, at := responseCache{}, time.Now()
	store := func(generation uint64, body string) {
		s.put(cacheKey{path: "/"}, cachedResponse{answer: ports.Answer{Body: []byte(body)},
			at: version{generation: generation}, read: at})
	}
	store(2, "after the change")
	store(1, "before the change")
	known, ok := s.get(&cacheKey{path: "/"}, version{generation: 2}, at)
	if !ok || string(known.answer.Body) != "after the change" {
		t.Errorf("%q is cached, %v", known.answer.Body, ok)
	}
	store(3, "after another one")
	known, _ = s.get(&cacheKey{path: "/"}, version{generation: 3}, at)
	if string(known.answer.Body) != "after another one" {
		t.Errorf("%q is cached", known.answer.Body)
	}
}
