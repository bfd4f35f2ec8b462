package presences

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// streamEnv is an API with what streams need, on mocked ports that store what they are given. Its callers
// have keys; they are all in one workspace.
type streamEnv struct {
	*server.API
	t   *testing.T
	log *bytes.Buffer

	mu         sync.Mutex
	principals map[account.Hash]*account.Principal
	tickets    map[account.Hash]session.Ticket
	records    map[identity.UserID]*presence.Record
	seq        int64
	resolved   int   // how often proofs were resolved
	called     int   // how often the store of presences was called
	fails      error // the error of resolving proofs, if any
}

// withStreams runs a test in a bubble, where no time passes while something happens.
func withStreams(t *testing.T, test func(t *testing.T, h *streamEnv)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mock := gomock.NewController(t)
		h := &streamEnv{t: t, log: new(bytes.Buffer), principals: map[account.Hash]*account.Principal{},
			tickets: map[account.Hash]session.Ticket{}, records: map[identity.UserID]*presence.Record{}}
		notes := mocks.NewMockNotes(mock)
		notes.EXPECT().Note(gomock.Any(), gomock.Any()).AnyTimes()
		stores := ports.Stores{
			AccountStores: ports.AccountStores{Keys: h.keys(mock)},
			SessionStores: ports.SessionStores{Sessions: mocks.NewMockSessions(mock), Tickets: h.proofs(mock)},
			Presences:     calls{h.presences(mock), h},
		}
		bind := application.NewBind(stores, application.External{
			Notes: notes, Clock: server.Now, Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
			Terms: func(identity.OrgID) payments.Terms { return payments.Terms{} },
		})
		services := bind(stores)
		directory := identity.NewDirectory([]identity.Org{{ID: "org_1", Slug: "default"}}, "")
		api := server.New(conformance.Contract(t), server.Config{
			RequestTimeout: time.Minute, RateLimit: server.RateLimit{PerMinute: 1e6, Burst: 1e6,
				UnauthenticatedPerMinute: 1e6},
			Concurrency: server.Concurrency{PerCaller: 100, PerWorkspace: 100, Wait: time.Second},
			Streams:     server.Streams{PerWorkspace: 1000, PerAddress: 1000},
		}, server.Deps{
			Orgs:     func() *identity.Directory { return directory },
			Services: services, Bind: bind,
			Idempotency: mocks.NewMockIdempotency(mock), Sealer: mocks.NewMockSealer(mock),
			Digester: fixture.Digester{}, Metrics: prometheus.NewRegistry(),
			Log: slog.New(slog.NewJSONHandler(h.log, nil)),
		})
		require.NoError(t, api.Register(Area()))
		h.API = api
		ctx, end := context.WithCancel(t.Context())
		var keptGroup sync.WaitGroup
		keptGroup.Go(func() {
			services.Presences.Run(ctx, func() []identity.OrgID { return []identity.OrgID{"org_1"} },
				func(err error) { t.Error(err) })
		})
		defer func() {
			api.Drain()
			end()
			keptGroup.Wait()
			synctest.Wait()
		}()
		test(t, h)
	})
}

func (h *streamEnv) keys(mock *gomock.Controller) ports.Keys {
	keys := mocks.NewMockKeys(mock)
	keys.EXPECT().Principal(gomock.Any(), identity.OrgID("org_1"),
		gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context, _ identity.OrgID,
		hash account.Hash) (*account.Principal, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if person := h.principals[hash]; person != nil {
			return new(*person), nil
		}
		return nil, identity.ErrUnauthenticated
	})
	return keys
}

func (h *streamEnv) proofs(mock *gomock.Controller) ports.Tickets {
	tickets := mocks.NewMockTickets(mock)
	position := tickets.EXPECT()
	position.Proven(gomock.Any(), identity.OrgID("org_1"), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		_ identity.OrgID, proofs []session.Proof) ([]*session.Principal, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.resolved++
		out := make([]*session.Principal, len(proofs))
		for i, p := range proofs {
			if person := h.principals[p.Key]; person != nil {
				out[i] = &session.Principal{Principal: *person}
			}
		}
		return out, h.fails
	})
	position.Add(gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context, t session.Ticket) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tickets[t.Hash] = t
		return nil
	})
	position.Take(gomock.Any(), identity.OrgID("org_1"), gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context, _ identity.OrgID, hash account.Hash,
		_ time.Time) (*session.Ticket, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		t, ok := h.tickets[hash]
		if delete(h.tickets, hash); !ok {
			return nil, identity.ErrUnauthenticated
		}
		return &t, nil
	})
	return tickets
}

func (h *streamEnv) presences(mock *gomock.Controller) ports.Presences {
	store := mocks.NewMockPresences(mock)
	at := store.EXPECT()
	at.Due(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().Return(nil, nil)
	at.Counts(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(func(context.Context, identity.OrgID,
		identity.UserID) (presence.Counts, int64, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return nil, h.seq, nil
	})
	at.Workspaces(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		_ identity.OrgID, users []identity.UserID) (map[identity.UserID][]identity.WorkspaceID, error) {
		out := map[identity.UserID][]identity.WorkspaceID{}
		for _, u := range users {
			out[u] = []identity.WorkspaceID{"wsp_1"}
		}
		return out, nil
	})
	at.Update(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
		org identity.OrgID, users []identity.UserID, change func(*presence.Record) error) (out []*presence.Record,
		err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, u := range users {
			previous := cmp.Or(h.records[u], presence.New(org, u, presence.ID("prs_"+u)))
			r := previous.Copy()
			if err := change(r); err != nil {
				return nil, err
			}
			if !r.EqualVisible(previous) {
				h.seq++
				r.Seq = h.seq
			}
			h.records[u] = r
			out = append(out, r.Copy())
		}
		return out, nil
	})
	at.Changes(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context, _ identity.OrgID, bound int64,
		users []identity.UserID, limit int) (out []presence.Record, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, r := range slices.SortedFunc(maps.Values(h.records),
			func(a, b *presence.Record) int { return cmp.Compare(a.Seq, b.Seq) }) {
			if r.Seq > bound && len(out) < limit && (users == nil || slices.Contains(users, r.User)) {
				out = append(out, *r.Copy())
			}
		}
		return out, nil
	})
	return store
}

// caller creates a user with a key, and returns its token.
func (h *streamEnv) caller(n int) (user identity.UserID, token account.Token) {
	h.mu.Lock()
	defer h.mu.Unlock()
	user, token = identity.UserID(fmt.Sprintf("usr_%026d", n)), account.NewToken()
	h.principals[token.Hash()] = &account.Principal{
		User: account.User{ID: user, Org: "org_1"},
		Membership: account.Membership{Workspace: account.Workspace{ID: "wsp_1", Slug: "default"},
			Role: identity.Member},
		Key: account.Key{ID: identity.KeyID("key_" + user), Org: "org_1", Workspace: "wsp_1", User: user,
			Ceiling: identity.Owner, LastUsedAt: time.Now()},
	}
	return user, token
}

// change changes what is known of the bearer of a token.
func (h *streamEnv) change(token account.Token, apply func(*account.Principal)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	apply(h.principals[token.Hash()])
}

func (h *streamEnv) post(token account.Token, body string) {
	h.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/presence", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code > 201 {
		h.t.Fatalf("a heartbeat: %d %s", w.Code, w.Body)
	}
}

// line is the network under a stream: a reader who may stop to take anything.
type client struct {
	h       *streamEnv
	request *http.Request
	header  http.Header
	status  int
	ended   chan struct{} // closed when the answer has
	cut     context.CancelFunc

	mu    sync.Mutex
	text  bytes.Buffer
	stuck bool
	write time.Time // deadline
}

// open asks for a stream.
func (h *streamEnv) open(token account.Token, query string, headers ...string) *client {
	h.t.Helper()
	ctx, cut := context.WithCancel(h.t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, StreamPath+query, nil)
	if !token.IsZero() {
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	l := &client{h: h, request: r, header: http.Header{}, ended: make(chan struct{}), cut: cut}
	go func() {
		defer close(l.ended)
		h.ServeHTTP(l, r)
	}()
	synctest.Wait()
	if l.status == http.StatusOK {
		conformance.CheckStream(h.t, r, &http.Response{StatusCode: l.status, Header: l.header})
	}
	return l
}

func (l *client) Header() http.Header    { return l.header }
func (l *client) WriteHeader(status int) { l.status = status }
func (l *client) Flush()                 {}

func (l *client) SetWriteDeadline(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write = now
	return nil
}

func (l *client) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stuck {
		time.Sleep(time.Until(l.write))
		return 0, os.ErrDeadlineExceeded
	}
	return l.text.Write(p)
}

// stall makes its reader take nothing any more.
func (l *client) stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stuck = true
}

// events returns the events since the last call as "kind data", each checked against openapi.yaml, and the id of the
// last one. Comments read ":".
func (l *client) events() (events []string, id string) {
	l.h.t.Helper()
	time.Sleep(100 * time.Millisecond) // more than changes are gathered for
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range strings.SplitSeq(strings.TrimSuffix(l.text.String(), "\n\n"), "\n\n") {
		kind, data := "", ""
		for text := range strings.SplitSeq(part, "\n") {
			switch name, value, _ := strings.Cut(text, ": "); name {
			case "event":
				kind = value
			case "id":
				id = value
			case "data":
				if data = value; kind != "reset" {
					conformance.CheckEvent(l.h.t, StreamPath, data)
				}
			case ":":
				kind = ":"
			case "retry":
				kind = text
			}
		}
		if kind != "" {
			events = append(events, strings.TrimSpace(kind+" "+data))
		}
	}
	l.text.Reset()
	return events, id
}

// expect compares what has come with the kinds of events, of which the last one holds something.
func (l *client) expect(holds string, kinds ...string) (id string) {
	l.h.t.Helper()
	events, id := l.events()
	var got []string
	for _, e := range events {
		kind, _, _ := strings.Cut(e, " ")
		got = append(got, kind)
	}
	if !slices.Equal(got, kinds) || !strings.Contains(strings.Join(events, "\n"), holds) {
		l.h.t.Fatalf("told %q, want %v with %q", events, kinds, holds)
	}
	return id
}

// after is how long l goes on, up to a minute.
func (l *client) after() time.Duration {
	start := time.Now()
	select {
	case <-l.ended:
	case <-time.After(time.Minute):
	}
	return time.Since(start)
}
