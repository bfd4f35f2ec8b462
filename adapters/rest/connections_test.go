package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	connectionsPath = "/api/connections"
	newConnection   = `{"kind": "postgres", "name": "The shop", "credential": {"host": "db.example.com", "database": "shop", "username": "reader", "password": "` + fixture.Canary + `"}}`
)

// expectProbe lets a new credential be tried, and answers r.
func (h *env) expectProbe(r connection.Report) {
	h.connections.EXPECT().Live(gomock.Any(), gomock.Any()).Return(0, nil)
	h.connections.EXPECT().Attempt(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil).
		MinTimes(1).MaxTimes(2) // a failed sign-in is counted, too
	h.warehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).DoAndReturn(
		func(_ context.Context, target ports.Target) connection.Report {
			for _, c := range r.Checks[:h.watched] {
				target.Watch(c)
			}
			return r
		})
	h.seals.EXPECT().Seal(gomock.Any(), gomock.Any()).Return([]byte("sealed"), nil).MaxTimes(1)
	h.seals.EXPECT().Fingerprint(gomock.Any(), gomock.Any()).Return("0123456789abcdef").MaxTimes(1)
}

// expectAdd stores the connection in stores.
func expectAdd(atomic *mocks.MockAtomic, stores *mocks.MockConnections, jobs *mocks.MockJobs) {
	atomic.EXPECT().Atomically(gomock.Any(),
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{ConnectionStores: ports.ConnectionStores{Connections: stores}, Jobs: jobs})
	})
	stores.EXPECT().Add(gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.Actor,
		make func(int) (*connection.Connection, error)) error {
		_, err := make(0)
		return err
	})
	jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil)
}

// serverSentEvents returns the names and the data of a stream's events.
func serverSentEvents(t *testing.T, stream string) (names []string, data []map[string]any) {
	t.Helper()
	for event := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		name, text, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: ")
		var d map[string]any
		if err := json.Unmarshal([]byte(text), &d); err != nil || !ok {
			t.Fatalf("the event %q: %v", event, err)
		}
		names, data = append(names, name), append(data, d)
	}
	return names, data
}

// body is an answer's, which must not hold the secret.
func body(t *testing.T, h *env, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	if strings.Contains(w.Body.String()+h.log.String(), fixture.Canary) {
		t.Errorf("the secret came back, or is in the log: %s", w.Body)
	}
	var out map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out))
	return out
}

func TestCreateConnection(t *testing.T) {
	authFailed := connection.FailedAt(connection.Authenticate, connection.AuthFailed)

	t.Run("what was tried is stored", func(t *testing.T) {
		h := newEnv(t)
		h.expectProbe(fixture.Passed())
		expectAdd(h.atomic, h.connections, h.jobs)
		w := h.call("POST", connectionsPath, newConnection)
		got := body(t, h, w)
		if w.Code != 201 || w.Header().Get("Location") != connectionsPath+"/"+got["id"].(string) ||
			got["status"] != "active" || got["name"] != "The shop" {
			t.Errorf("%d %v", w.Code, got)
		}
	})
	t.Run("steps are streamed as they end, and then the result", func(t *testing.T) {
		for name, tt := range map[string]struct {
			report connection.Report
			events []string
			status float64
		}{
			"of a probe that passes": {fixture.Passed(), slices.Repeat([]string{"check"}, 8), 201},
			"of a probe that fails":  {authFailed, slices.Repeat([]string{"check"}, 8), 422},
		} {
			t.Run(name, func(t *testing.T) {
				h := newEnv(t)
				h.watched = 3
				h.expectProbe(tt.report)
				if tt.status == 201 {
					expectAdd(h.atomic, h.connections, h.jobs)
				}
				w := h.call("POST", connectionsPath, newConnection, "Accept: text/event-stream")
				events, data := serverSentEvents(t, w.Body.String())
				if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !w.Flushed ||
					!slices.Equal(events, append(tt.events, "result")) {
					t.Fatalf("%d %v", w.Code, events)
				}
				for i, step := range connection.Steps() {
					if data[i]["step"] != string(step) || data[i]["result"] != string(tt.report.Checks[i].Result) {
						t.Errorf("event %d is %v", i, data[i])
					}
				}
				result := data[len(data)-1]
				resource, _ := result["body"].(map[string]any)
				if result["status"] != tt.status || resource["checks"] == nil ||
					strings.Contains(w.Body.String(), fixture.Canary) {
					t.Errorf("the result is %v", result)
				}
			})
		}
	})
	t.Run("a request that is refused before a step has the usual status", func(t *testing.T) {
		h := newEnv(t)
		w := h.call("POST", connectionsPath, `{"kind": "postgres", "credential": {}}`, "Accept: text/event-stream")
		if w.Code != 422 || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("under a key it is tried before the transaction, and stored in it", func(t *testing.T) {
		h := newEnv(t)
		c := gomock.NewController(t)
		atomic, stores, jobs := mocks.NewMockAtomic(c), mocks.NewMockConnections(c), mocks.NewMockJobs(c)
		h.idempotency.EXPECT().Once(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, _ ports.IdempotencyKey, previousOf func(context.Context) error,
				fn func(ports.Stores) (ports.Answer, error), _ func(error) (ports.Answer, bool)) (ports.Answer,
				bool, error) {
				h.expectProbe(fixture.Passed())
				if err := previousOf(ctx); err != nil {
					return ports.Answer{}, false, err
				}
				var a ports.Answer
				for range 2 { // as after a conflict
					expectAdd(atomic, stores, jobs)
					var err error
					if a, err = fn(ports.Stores{
						Atomic:           atomic,
						ConnectionStores: ports.ConnectionStores{Connections: stores},
						Jobs:             jobs,
					}); err != nil {
						return ports.Answer{}, false, err
					}
				}
				return a, false, nil
			})
		if w := h.call("POST", connectionsPath, newConnection, "Idempotency-Key: k"); w.Code != 201 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("what does not work is told step by step", func(t *testing.T) {
		h := newEnv(t)
		h.expectProbe(authFailed)
		w := h.call("POST", connectionsPath, newConnection)
		got := body(t, h, w)
		failure, _ := got["failure"].(map[string]any)
		if w.Code != 422 || got["code"] != "probe_failed" || failure["code"] != "auth_failed" ||
			len(got["checks"].([]any)) != len(connection.Steps()) {
			t.Errorf("%d %v", w.Code, got)
		}
	})
	t.Run("and is kept under its key", func(t *testing.T) {
		h := newEnv(t)
		h.idempotency.EXPECT().Once(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).DoAndReturn(
			func(ctx context.Context, _ ports.IdempotencyKey, previousOf func(context.Context) error,
				_ func(ports.Stores) (ports.Answer, error), keep func(error) (ports.Answer, bool)) (ports.Answer,
				bool, error) {
				h.expectProbe(authFailed)
				a, isKept := keep(previousOf(ctx))
				if !isKept || !strings.Contains(string(a.Body), `"auth_failed"`) {
					t.Errorf("kept %v: %s", isKept, a.Body)
				}
				return a, false, nil
			})
		if w := h.call("POST", connectionsPath, newConnection, "Idempotency-Key: k"); w.Code != 422 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("a dry run stores nothing", func(t *testing.T) {
		h := newEnv(t)
		h.expectProbe(fixture.Passed())
		w := h.call("POST", connectionsPath+"?dry_run=true", newConnection)
		if got := body(t, h, w); w.Code != 200 || got["id"] != nil ||
			len(got["checks"].([]any)) != len(connection.Steps()) {
			t.Errorf("%d %v", w.Code, got)
		}
	})
	t.Run("a dry run ignores its key", func(t *testing.T) {
		h := newEnv(t) // storing under the key would fail the test
		h.expectProbe(fixture.Passed())
		w := h.call("POST", connectionsPath+"?dry_run=true", newConnection, "Idempotency-Key: k")
		if w.Code != 200 || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("who tries too often is told how long to wait, in whole seconds", func(t *testing.T) {
		h := newEnv(t)
		h.connections.EXPECT().Live(gomock.Any(), gomock.Any()).Return(0, nil)
		h.connections.EXPECT().Attempt(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
			gomock.Any()).Return(connection.ErrProbeRateLimited.WithRetryAfter(5200 * time.Millisecond))
		w := h.call("POST", connectionsPath, newConnection)
		if w.Code != 429 || body(t, h, w)["code"] != "probe_rate_limited" || w.Header().Get("Retry-After") != "6" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
	t.Run("what is wrong with a credential is told by its pointer, and never what it was", func(t *testing.T) {
		h := newEnv(t)
		w := h.call("POST", connectionsPath, `{"kind": "postgres", "credential": {"host": "`+fixture.Canary+
			` ", "dsn": "`+fixture.Canary+`"}}`)
		got := body(t, h, w)
		if w.Code != 422 || got["code"] != "invalid_fields" || !strings.Contains(w.Body.String(), `"/credential/dsn"`) {
			t.Errorf("%d %v", w.Code, got)
		}
	})
}

func TestARetryAfterIsNeverLessThanItSays(t *testing.T) {
	for wait, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1",
		1001 * time.Millisecond: "2"} {
		h := newEnv(t)
		h.unchecked = true
		h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(prompt.Page{},
			(&fault.Error{Kind: fault.RateLimited, Code: "rate_limited"}).WithRetryAfter(wait))
		if w := h.call("GET", promptsPath, ""); w.Header().Get("Retry-After") != want {
			t.Errorf("%s: Retry-After: %s, want %s", wait, w.Header().Get("Retry-After"), want)
		}
	}
}

func TestVerifyConnection(t *testing.T) {
	const id = "con_01jb4rqnx1e0g8w5t2m7k4y6zc"
	storedRow := func(t *testing.T) *connection.Connection {
		by := identity.System("org_1", "wsp_1", "test", fixture.At)
		c, err := connection.New(by, fixture.Trial(t, id, 0), 0)
		require.NoError(t, err)
		return c
	}
	h := newEnv(t)
	place := connection.SealRevision(connection.Seal("org_1", "wsp_1", id, connection.Postgres), 1)
	plain, err := fixture.Credential(t, "db.example.com").Reveal()
	require.NoError(t, err)
	h.connections.EXPECT().Get(gomock.Any(), identity.WorkspaceID("wsp_1"), connection.ID(id)).Return(storedRow(t), nil)
	h.connections.EXPECT().Attempt(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).Return(nil).
		MinTimes(1).MaxTimes(2) // a failed sign-in is counted, too
	h.connections.EXPECT().Sealed(gomock.Any(), identity.WorkspaceID("wsp_1"),
		connection.ID(id)).Return(connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
	h.seals.EXPECT().Open([]byte("sealed"), place).Return(plain, nil)
	h.warehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).Return(connection.FailedAt(connection.Connect,
		connection.PortClosed))
	h.atomic.EXPECT().Atomically(gomock.Any(),
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			ConnectionStores: ports.ConnectionStores{Connections: h.connections},
			Jobs:             h.jobs,
		})
	})
	h.connections.EXPECT().Update(gomock.Any(), identity.WorkspaceID("wsp_1"), connection.ID(id),
		gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ connection.ID,
			change func(*connection.Connection, int) error) (*connection.Connection, error) {
			c := storedRow(t)
			return c, change(c, 0)
		})
	h.jobs.EXPECT().Enqueue(gomock.Any(), gomock.Any()).Return(nil)
	h.sources.EXPECT().ListThrough(gomock.Any(), identity.WorkspaceID("wsp_1"),
		connection.ID(id)).Return([]source.Summary{{ID: "src_1", Workspace: "wsp_1", Name: "People",
		Connection: id, Status: source.Unmapped}}, nil)
	w := h.call("POST", connectionsPath+"/"+id+"/verify", "")
	got := body(t, h, w)
	failure, _ := got["failure"].(map[string]any)
	if read, _ := got["sources"].([]any); len(read) != 1 || fmt.Sprint(read[0]) != "map[id:src_1 name:People "+
		"status:unmapped]" {
		t.Errorf("sources %v", read)
	}
	if w.Code != 200 || got["status"] != "failing" || failure["code"] != "port_closed" || failure["hint"] == "" {
		t.Errorf("%d %v", w.Code, got)
	}
}

func TestRevokeConnection(t *testing.T) {
	h := newEnv(t)
	h.atomic.EXPECT().Atomically(gomock.Any(),
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			ConnectionStores: ports.ConnectionStores{Connections: h.connections},
			SourceStores:     ports.SourceStores{Sources: h.sources},
			ChatStores:       ports.ChatStores{ChatLists: h.chatLists},
			Jobs:             h.jobs,
		})
	})
	const id = "con_01jb4rqnx1e0g8w5t2m7k4y6zc"
	h.connections.EXPECT().Update(gomock.Any(), gomock.Any(), connection.ID(id), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ connection.ID,
			change func(*connection.Connection, int) error) (*connection.Connection, error) {
			c, err := connection.New(identity.System("org_1", "wsp_1", "test", fixture.At), fixture.Trial(t, id, 0), 0)
			return c, errors.Join(err, change(c, 0))
		})
	h.sources.EXPECT().UpdateThrough(gomock.Any(), gomock.Any(), connection.ID(id),
		gomock.Any()).DoAndReturn(func(_ context.Context, _ identity.WorkspaceID, _ connection.ID,
		change func(*source.Source) error) error {
		return change(&source.Source{ID: "src_1", Name: "People", Location: source.Location{Connection: id}})
	})
	for _, subject := range []string{id, "src_1"} {
		h.jobs.EXPECT().Cancel(gomock.Any(), identity.WorkspaceID("wsp_1"), subject).Return(1, nil)
	}
	w := h.call("DELETE", connectionsPath+"/"+id, "")
	got := body(t, h, w)
	c, _ := got["connection"].(map[string]any)
	if w.Code != 200 || got["cancelled_jobs"] != 2.0 || fmt.Sprint(got["paused_sources"]) != "[map[id:src_1 "+
		"name:People status:paused]]" || c["status"] != "revoked" || c["revoked_at"] == nil {
		t.Errorf("%d %v", w.Code, got)
	}
}
