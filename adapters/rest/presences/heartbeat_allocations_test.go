package presences

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// oneKey are keys of which every one is that of the same principal.
type oneKey struct {
	ports.Keys
	bearer *account.Principal
}

func (k oneKey) Principal(context.Context, identity.OrgID, account.Hash) (*account.Principal, error) {
	return k.bearer, nil
}

// lastStatus is a response of which only the status is kept.
type lastStatus struct {
	header http.Header
	status int
}

func (w *lastStatus) Header() http.Header         { return w.header }
func (w *lastStatus) WriteHeader(status int)      { w.status = status }
func (w *lastStatus) Write(b []byte) (int, error) { return len(b), nil }

// TestAHeartbeatThatChangesNothingMakesFewAllocations sends one heartbeat again and again, below net/http. At first it
// made 136 allocations, half of them to check the body and to encode the response (ADRs 128 and 140).
func TestAHeartbeatThatChangesNothingMakesFewAllocations(t *testing.T) {
	mock := gomock.NewController(t)
	h := &streamEnv{principals: map[account.Hash]*account.Principal{}, records: map[identity.UserID]*presence.Record{}}
	_, token := h.caller(1)
	stores := ports.Stores{
		AccountStores: ports.AccountStores{Keys: oneKey{bearer: h.principals[token.Hash()]}},
		SessionStores: ports.SessionStores{Sessions: mocks.NewMockSessions(mock)},
		Presences:     h.presences(mock),
	}
	bind := application.NewBind(stores, application.External{
		Clock: time.Now, Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
		Terms: func(identity.OrgID) payments.Terms { return payments.Terms{} },
	})
	directory := identity.NewDirectory([]identity.Org{{ID: "org_1", Slug: "default"}}, "")
	api := server.New(conformance.Contract(t))
	if err := api.Register(areaWith(server.NewLimiter(1e6, 1e6))); err != nil {
		t.Fatal(err)
	}
	api.Start(server.Config{
		RequestTimeout: time.Minute, RateLimit: server.RateLimit{
			PerMinute: 1e6, Burst: 1e6, UnauthenticatedPerMinute: 1e6,
		},
		Concurrency: server.Concurrency{PerCaller: 100, PerWorkspace: 100, Wait: time.Second},
	}, server.Deps{
		Orgs:     func() *identity.Directory { return directory },
		Services: bind(stores), Bind: bind, Digester: fixture.Digester{}, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), //nolint:sloglint // encoding a line counts too
	})
	body := strings.NewReader(`{"device_id":"web-1","device_kind":"web","ttl_seconds":300}`)
	r := httptest.NewRequest(http.MethodPost, "/api/presence", nil)
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(body), int64(body.Len())
	beat := func(want int) {
		w := &lastStatus{header: http.Header{}}
		_, _ = body.Seek(0, io.SeekStart)
		if api.ServeHTTP(w, r); w.status != want {
			t.Fatalf("a heartbeat: %d", w.status)
		}
	}
	beat(http.StatusCreated)
	const most = 37 // 29, and a few more with the race detector
	if n := testing.AllocsPerRun(100, func() { beat(http.StatusOK) }); n > most {
		t.Errorf("%v allocations", n)
	}
}
