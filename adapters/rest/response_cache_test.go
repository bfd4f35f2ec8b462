package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/webhook"
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
			h.Now = func() time.Time { return server.Now().Add(-2 * time.Second) }
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
						return slices.Repeat([]webhook.Endpoint{{FailureNotified: true}}, reads), nil
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
