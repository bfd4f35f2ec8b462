package rest

import (
	"context"
	"fmt"
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
	"github.com/atrium-hq/atrium/test/support/assert"
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
	fill := func(h *env) { // has it read while looks find no change
		h.changes.current = true
		time.Sleep(time.Second)
		get(h, path)
	}
	check := func(name string, reads int, step func(h *env)) {
		t.Run(name, func(t *testing.T) {
			read(t, func(h *env, got *int) {
				get(h, path)
				step(h)
				assert.Equal(t, "reads", *got, reads)
			})
		})
	}
	check("requested again", 1, func(h *env) { get(h, path) })
	check("requested with HEAD", 1, func(h *env) { h.call("HEAD", path, "") })
	check("after a change", 2, func(h *env) { h.changes.generation++; get(h, path) })
	check("while a change is being stored", 2, func(h *env) { h.changes.pending = true; get(h, path) })
	check("just before a second has passed", 1, func(h *env) { time.Sleep(time.Second - 1); get(h, path) })
	check("after a second", 2, func(h *env) { time.Sleep(time.Second); get(h, path) })
	check("after a second, while looks find no change", 2, func(h *env) {
		fill(h)
		time.Sleep(time.Second)
		get(h, path)
	}) // the first read was before the looks
	check("for minutes, while looks find no change", 2, func(h *env) {
		fill(h)
		for range 300 {
			get(h, path)
			time.Sleep(time.Second)
		}
	})
	check("for more than ten minutes", 3, func(h *env) {
		fill(h)
		for range 700 {
			time.Sleep(time.Second)
			get(h, path)
		}
	})
	check("within a second after a look found a change", 1, func(h *env) { h.changes.observed++; get(h, path) })
	check("more than a second after a look found a change", 3, func(h *env) {
		fill(h)
		h.changes.observed++
		time.Sleep(time.Second)
		get(h, path)
	})
	check("more than a second without a look", 3, func(h *env) {
		fill(h)
		h.changes.current = false
		time.Sleep(time.Second)
		get(h, path)
	})
	check("for more than a second, by a request that waited before its read", 3, func(h *env) {
		h.Now = func() time.Time { return server.Now().Add(-2 * time.Second) }
		fill(h)
		time.Sleep(time.Second)
		get(h, path)
	})
	check("after a change, while looks find none", 3, func(h *env) { fill(h); h.changes.generation++; get(h, path) })
	check("for another version", 2, func(h *env) { get(h, strings.Replace(path, "active", "latest", 1)) })
	check("with Cache-Control: no-cache", 2, func(h *env) { get(h, path, "Cache-Control: no-cache"); get(h, path) })
	check("after it is gone", 3, func(h *env) {
		h.changes.generation = 99
		for range 2 { // a refusal is not cached
			if w := h.call("GET", path, ""); w.Code != http.StatusNotFound {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
}

func TestTheFailingWebhooksOfTheCallerAreReadOnceUntilSomethingChanges(t *testing.T) {
	check := func(name string, want int, proceedOne func(h *env)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, reads := newEnv(t), 0
				h.unchecked = true
				h.webhooks.EXPECT().List(gomock.Any(), identity.WorkspaceID("wsp_1")).AnyTimes().DoAndReturn(
					func(context.Context, identity.WorkspaceID) ([]webhook.Endpoint, error) {
						reads++
						return slices.Repeat([]webhook.Endpoint{{FailureNotified: true}}, reads), nil
					})
				h.call("GET", "/api/me", "")
				proceedOne(h)
				w := h.call("GET", "/api/me", "")
				if !strings.Contains(w.Body.String(), fmt.Sprintf(`"failing_webhooks":%d`, want)) || reads != want {
					t.Errorf("%d reads, want %d: %d %s", reads, want, w.Code, w.Body)
				}
				if h.call("GET", "/api/me", "", "Cache-Control: no-cache"); reads != want+1 {
					t.Error("no-cache did not read the database")
				}
			})
		})
	}
	check("requested again", 1, func(*env) {})
	check("after a change", 2, func(h *env) { h.changes.generation++ })
	check("while a change is being stored", 2, func(h *env) { h.changes.pending = true })
	check("just before a second has passed", 1, func(*env) { time.Sleep(time.Second - 1) })
	check("after a second", 2, func(*env) { time.Sleep(time.Second) })
}
