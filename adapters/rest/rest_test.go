package rest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application"
	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// env is an API on mocked ports, with one caller: an owner whose key is token.
type env struct {
	*server.API
	t           *testing.T
	unchecked   bool // what is behind the API does what no store does: openapi.yaml cannot promise it
	token       string
	lists       *mocks.MockPromptLists
	prompts     *mocks.MockPrompts
	connections *mocks.MockConnections
	sources     *mocks.MockSources
	chatLists   *mocks.MockChatLists
	sheets      *mocks.MockSheets
	atomic      *mocks.MockAtomic
	jobs        *mocks.MockJobs
	seals       *mocks.MockCredentialSealer
	warehouse   *mocks.MockWarehouse
	watched     int // how many checks a probe tells before it ends
	idempotency *mocks.MockIdempotency
	sessions    *mocks.MockSessions
	webhooks    *mocks.MockWebhooks
	changes     *changes
	ready       func(context.Context) error // of the node
	log         *bytes.Buffer               // as JSON, from level info on
}

func newEnv(t *testing.T, change ...func(*server.Config)) *env {
	t.Helper()
	c := server.Config{
		RequestTimeout: time.Minute, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"),
			netip.MustParsePrefix("fd00::/8")},
		RateLimit: server.RateLimit{
			PerMinute: 600, Burst: 100, UnauthenticatedPerMinute: 60, SignInsPerMinute: 10, SignInFlowsPerMinute: 120,
			DownloadsPerMinute: 300,
		},
		Concurrency: server.Concurrency{PerCaller: 4, PerWorkspace: 6, Wait: time.Second},
		Streams:     server.Streams{PerWorkspace: 200, PerAddress: 1000},
	}
	for _, f := range change {
		f(&c)
	}
	mock := gomock.NewController(t)
	token := account.NewToken()
	keys := mocks.NewMockKeys(mock)
	principal := &account.Principal{
		User: account.User{ID: "usr_1", Org: "org_1"},
		Membership: account.Membership{Workspace: account.Workspace{ID: "wsp_1", Slug: "default"},
			Role: identity.Owner},
		Key: account.Key{ID: "key_1", Org: "org_1", Workspace: "wsp_1", User: "usr_1", Ceiling: identity.Owner,
			LastUsedAt: time.Now()},
	}
	keys.EXPECT().Principal(gomock.Any(), identity.OrgID("org_1"), token.Hash()).AnyTimes().Return(principal, nil)
	keys.EXPECT().Principal(gomock.Any(), identity.OrgID("org_1"), gomock.Not(token.Hash())).AnyTimes().Return(nil,
		identity.ErrUnauthenticated)
	h := &env{
		t: t, token: token.Reveal(), lists: mocks.NewMockPromptLists(mock), prompts: mocks.NewMockPrompts(mock),
		connections: mocks.NewMockConnections(mock), sources: mocks.NewMockSources(mock),
		chatLists: mocks.NewMockChatLists(mock),
		sheets:    mocks.NewMockSheets(mock), atomic: mocks.NewMockAtomic(mock), jobs: mocks.NewMockJobs(mock),
		seals: mocks.NewMockCredentialSealer(mock), warehouse: mocks.NewMockWarehouse(mock),
		idempotency: mocks.NewMockIdempotency(mock), sessions: mocks.NewMockSessions(mock), changes: &changes{},
		webhooks: mocks.NewMockWebhooks(mock), log: new(bytes.Buffer),
	}
	tickets := mocks.NewMockTickets(mock) // a test on a busy machine can last until its streams are checked
	tickets.EXPECT().Proven(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, proofs []session.Proof) ([]*session.Principal, error) {
			return slices.Repeat([]*session.Principal{{Principal: *principal}}, len(proofs)), nil
		})
	notes := mocks.NewMockNotes(mock)
	notes.EXPECT().Note(gomock.Any(), gomock.Any()).AnyTimes()
	h.chatLists.EXPECT().ConnectionUses(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes()
	h.seals.EXPECT().Digest("probe target", gomock.Any()).AnyTimes()
	h.seals.EXPECT().Compatible().AnyTimes()
	h.connections.EXPECT().Attempt(gomock.Any(), gomock.Any(), connection.Previewing, gomock.Any(),
		gomock.Any()).AnyTimes()
	directory := identity.NewDirectory([]identity.Org{{ID: "org_1", Slug: "default"}}, "")
	stores := ports.Stores{
		PromptStores:     ports.PromptStores{Prompts: h.prompts, PromptLists: h.lists},
		AccountStores:    ports.AccountStores{Keys: keys},
		SessionStores:    ports.SessionStores{Sessions: h.sessions, Tickets: tickets},
		Webhooks:         h.webhooks,
		ConnectionStores: ports.ConnectionStores{Connections: h.connections},
		SourceStores:     ports.SourceStores{Sources: h.sources},
		ChatStores:       ports.ChatStores{ChatLists: h.chatLists},
		Atomic:           h.atomic,
		Jobs:             h.jobs,
	}
	bind := application.NewBind(stores, application.External{
		Notes:       notes,
		Digester:    fixture.Digester{},
		Credentials: h.seals,
		Quotas:      func(identity.OrgID) quota.Amounts { return quota.Default() },
		Terms:       func(identity.OrgID) payments.Terms { return payments.Terms{} },
		Warehouses:  connections.Warehouses{connection.Postgres: h.warehouse},
		ConnectionOffers: func(identity.OrgID) connections.Offer {
			return connections.Offer{Kinds: []connection.Kind{connection.Postgres}}
		},
		ProbeLimits: connection.ProbeLimits{WorkspacePerMinute: 10, TargetPerHour: 30},
		Sheets:      h.sheets,
		SourceOffers: func(identity.OrgID) sources.Offer {
			return sources.Offer{Types: []source.Type{fixture.People}}
		},
		Clock: server.Now,
	})
	h.API = newAPI(t, c, server.Deps{
		Orgs:     func() *identity.Directory { return directory },
		Services: bind(stores), Bind: bind, Changes: h.changes,
		Idempotency: h.idempotency, Sealer: mocks.NewMockSealer(mock), Digester: fixture.Digester{},
		Metrics: prometheus.NewRegistry(), Log: slog.New(slog.NewJSONHandler(h.log, nil)),
		Ready: func(ctx context.Context) error { return h.ready(ctx) },
	})
	return h
}

// newAPI returns an API with every route.
func newAPI(t testing.TB, c server.Config, d server.Deps) *server.API {
	api, err := New(conformance.Contract(t), c, Deps{Deps: d})
	require.NoError(t, err)
	return api
}

// patient is a connection that takes as long as it likes.
type patient struct{ *httptest.ResponseRecorder }

func (patient) SetWriteDeadline(time.Time) error { return nil }

// call answers one request of the caller's, and holds the answer to openapi.yaml.
func (h *env) call(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return h.callIn(h.t.Context(), method, path, body, headers...)
}

func (h *env) callIn(
	ctx context.Context, method, path, body string, headers ...string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(patient{w}, r)
	if !h.unchecked {
		conformance.CheckResponse(h.t, r, w.Result())
	}
	return w
}

func TestARequestWithoutABodyIsToldThatItIsRequired(t *testing.T) {
	h := newEnv(t)
	for _, media := range []string{"", "application/x-www-form-urlencoded"} { // as curl does with -X POST, and -d ''
		w := h.call(http.MethodPost, "/api/prompt-templates", "", "Content-Type: "+media)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "requires a JSON body with name.") {
			t.Errorf("of the type %q: %d %s", media, w.Code, w.Body)
		}
	}
	w := h.call(http.MethodPost, "/api/prompt-templates", "name=x", "Content-Type: application/x-www-form-urlencoded")
	if w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a body of another type: %d %s", w.Code, w.Body)
	}
}

// The list is part of the specification: method, path and parameter names are fixed.
func TestRouterHasTheSpecifiedEndpoints(t *testing.T) {
	list, err := os.ReadFile("../../test/e2e/testdata/endpoints.tsv")
	require.NoError(t, err)
	h := newEnv(t)
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if !h.Serves(columns[0], columns[1]) {
			t.Errorf("the router has no %s %s", columns[0], columns[1])
		}
	}
}
