package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const promptsPath = "/api/prompt-templates"

func TestFailures(t *testing.T) {
	fire := errors.New("disk on fire at sector 7")
	for name, tt := range map[string]struct {
		failure error
		status  int
		code    string
		retry   string
		logged  string // part of the log; nothing is if empty
	}{
		"an unexpected error is a 500 and is logged in full": {fmt.Errorf("list: %w", fire), 500, "internal", "",
			"list: disk on fire at sector 7"},
		"an outage is 503, and says when to come back": {fmt.Errorf("%w: %w", ports.ErrUnavailable, fire), 503,
			"unavailable", "1", "disk on fire"},
		"a deadline that has passed is 504": {fmt.Errorf("%w: %w", context.DeadlineExceeded, fire),
			504, "timeout", "1", "disk on fire"},
		"a client that is gone is no error of ours": {fmt.Errorf("%w: %w", context.Canceled, fire), 500,
			"internal", "", ""},
		"a foreseen failure is told, and no log's business": {fmt.Errorf("%w: %w", prompt.ErrNameTaken, fire), 409,
			"name_taken", "", ""},
		"an error that wraps its kind deeply is still found": {
			fmt.Errorf("a: %w", fmt.Errorf("b: %w", identity.ErrForbidden)), 403, "forbidden", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newEnv(t)
			h.unchecked = true
			h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(prompt.Page{},
				tt.failure)
			w := h.call("GET", promptsPath, "", "Request-Id: r-1")

			var p openapi.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil ||
				w.Header().Get("Content-Type") != "application/problem+json" {
				t.Fatalf("no problem: %s, %v", w.Body, err)
			}
			if w.Code != tt.status || p.Status != tt.status || p.Code != tt.code || p.Type != "/problems/"+tt.code ||
				p.RequestID != "r-1" {
				t.Errorf("got %d %+v, want %d %s", w.Code, p, tt.status, tt.code)
			}
			assert.Equal(t, "Retry-After", w.Header().Get("Retry-After"), tt.retry)
			if strings.Contains(w.Body.String(), "fire") {
				t.Errorf("the client reads an internal error: %s", w.Body)
			}
			failure := ""
			for line := range strings.Lines(h.log.String()) {
				if strings.Contains(line, `"request failed"`) {
					failure = line
				}
			}
			if (tt.logged == "" && failure != "") || !strings.Contains(failure, tt.logged) || (tt.logged != "" &&
				!strings.Contains(failure, `"request_id":"r-1"`)) {
				t.Errorf("the log says %q, want %q under the request's id", failure, tt.logged)
			}
		})
	}

	t.Run("a failure after which the client hung up is no failure of the server", func(t *testing.T) {
		h := newEnv(t)
		h.unchecked = true
		ctx, hangUp := context.WithCancel(t.Context())
		h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, _ identity.Actor, _ prompt.Filter, _ page.Query) (prompt.Page, error) {
				hangUp()
				<-ctx.Done()
				return prompt.Page{}, ctx.Err()
			})
		h.callIn(ctx, http.MethodGet, promptsPath, "")
		for _, want := range []string{`"status":499`, `"code":"client_closed_request"`} {
			assert.Contains(t, "log", h.log.String(), want)
		}
	})
	t.Run("a panic is a 500, logged with its stack", func(t *testing.T) {
		h := newEnv(t)
		h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Do(func(context.Context, identity.Actor, prompt.Filter, page.Query) {
			panic("nil map of secrets")
		})
		w := h.call("GET", promptsPath, "")
		if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) ||
			strings.Contains(w.Body.String(), "secrets") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		for _, want := range []string{`"panic":"nil map of secrets"`, "problem_test.go", `"status":500`} {
			if !strings.Contains(h.log.String(), want) {
				t.Errorf("the log does not hold %s:\n%s", want, h.log)
			}
		}
	})
	t.Run("a handler that gives its connection up does so", func(t *testing.T) {
		h := newEnv(t)
		h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Do(func(context.Context, identity.Actor, prompt.Filter, page.Query) {
			panic(http.ErrAbortHandler)
		})
		defer func() {
			if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("net/http is told %v", err)
			}
		}()
		h.call("GET", promptsPath, "")
	})
	t.Run("a use case gets no longer than the request may take", func(t *testing.T) {
		h := newEnv(t, func(c *server.Config) { c.RequestTimeout = 20 * time.Millisecond })
		h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, _ identity.Actor, _ prompt.Filter, _ page.Query) (prompt.Page, error) {
				<-ctx.Done()
				return prompt.Page{}, ctx.Err()
			})
		if w := h.call("GET", promptsPath, ""); w.Code != 504 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("a node that should get no requests says so, and not why", func(t *testing.T) {
		h := newEnv(t)
		h.ready = func(context.Context) error { return errors.New("disk on fire") }
		w := h.call("GET", "/api/health/ready", "")
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "fire") ||
			!strings.Contains(h.log.String(), "disk on fire") {
			t.Errorf("%d %s\n%s", w.Code, w.Body, h.log)
		}
		if w := h.call("GET", "/api/health/live", ""); w.Code != 200 {
			t.Errorf("live is %d", w.Code)
		}
	})
}

func TestIdempotency(t *testing.T) {
	const body, key = `{"name":"x"}`, "Idempotency-Key: k"
	var scopes []ports.IdempotencyKey
	h := newEnv(t)
	h.unchecked = true
	h.idempotency.EXPECT().Once(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, k ports.IdempotencyKey, _ func(context.Context) error,
			_ func(ports.Stores) (ports.Answer, error), _ func(error) (ports.Answer, bool)) (ports.Answer,
			bool, error) {
			scopes = append(scopes, k)
			return ports.Answer{Status: 201, Body: []byte(`{}`),
				Header: map[string]string{"Content-Type": "application/json"}}, true, nil
		})

	t.Run("a replay says that it is one", func(t *testing.T) {
		if w := h.call("POST", promptsPath, body, key); w.Code != 201 ||
			w.Header().Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
	t.Run("the scope is user, workspace, method, path and key; the request is the body", func(t *testing.T) {
		scopes = nil
		h.call("POST", promptsPath, body, key)
		h.call("POST", promptsPath, `{"name":"y"}`, key)
		h.call("POST", promptsPath, body, "Idempotency-Key: l")
		h.call("POST", promptsPath+"/ptpl_1/restore", "", key)
		require.Equal(t, "calls reached the port", len(scopes), 4)
		if scopes[0].Scope != scopes[1].Scope || scopes[0].Request == scopes[1].Request {
			t.Error("another body makes another scope, or the same request")
		}
		if scopes[0].Scope == scopes[2].Scope || scopes[0].Scope == scopes[3].Scope || scopes[0].Org != "org_1" {
			t.Error("another key or path has the same scope, or the org is not named")
		}
	})
	t.Run("a replay without its body reads it again as the caller", func(t *testing.T) {
		h := newEnv(t)
		h.unchecked = true
		keptAnswer := ports.Answer{
			Status: 201, Header: map[string]string{"Location": promptsPath + "/x", "Content-Type": "application/json",
				"Etag": `"1-a"`},
			Shows: promptsPath + "/ptpl_01jb4rqnx1e5btz2s1v2j9k3mn",
		}
		h.idempotency.EXPECT().Once(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Times(2).Return(keptAnswer, true, nil)
		current := &prompt.Template{
			Resource: access.Resource{Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}, Revision: 7},
			ID:       "ptpl_01jb4rqnx1e5btz2s1v2j9k3mn", Name: "now",
		}
		h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), current.ID).DoAndReturn(
			func(_ context.Context, by identity.Actor, _ prompt.ID) (*prompt.Template, error) {
				if by.User != "usr_1" || by.Workspace != "wsp_1" {
					t.Errorf("read by %+v", by)
				}
				return current, nil
			})
		w := h.call("POST", promptsPath, body, key)
		if w.Code != 201 || w.Header().Get("Location") != promptsPath+"/x" ||
			w.Header().Get("Idempotency-Replayed") != "true" ||
			!strings.HasPrefix(w.Header().Get("Etag"), `"7-`) || !strings.Contains(w.Body.String(), `"name":"now"`) {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		h.prompts.EXPECT().Get(gomock.Any(), gomock.Any(), current.ID).Return(nil, prompt.ErrNotFound)
		if w := h.call("POST", promptsPath, body, key); w.Code != 409 ||
			!strings.Contains(w.Body.String(), "idempotency_answer_erased") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("a POST that changes nothing takes no key", func(t *testing.T) {
		scopes = nil
		h.prompts.EXPECT().GetVersionByName(gomock.Any(), gomock.Any(), "x", gomock.Any()).Return(nil, nil,
			prompt.ErrNotFound)
		if w := h.call("POST", promptsPath+"/resolve", `{"refs":[{"name":"x"}]}`, key); w.Code != 200 ||
			len(scopes) != 0 {
			t.Errorf("%d %s, and %d calls reached the port", w.Code, w.Body, len(scopes))
		}
	})
}
