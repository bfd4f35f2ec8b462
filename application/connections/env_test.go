package connections_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/connections"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const canary = "c4n4ry"

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	maker    = actor("ann", identity.Member)
	peer     = actor("pia", identity.Member)
	viewer   = actor("vic", identity.Viewer)
	stranger = identity.Actor{Org: "org", User: "sam", Workspace: "other", Role: identity.Owner,
		Ceiling: identity.Owner, At: now}
	system = identity.System("org", "acme", "test", now)

	errOutage = errors.New("the store is away")
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

const submitted = `{"host": "db.example.com", "database": "shop", "username": "reader", "password": "` + canary + `"}`

// entered is a credential as a caller gives it.
func entered(credential string) connection.Entry {
	return connection.Entry{Credential: []byte(credential)}
}

// env is a Service on mocked ports. A call that a test does not expect fails it.
type env struct {
	*connections.Service
	atomic      *mocks.MockAtomic
	connections *mocks.MockConnections
	states      *mocks.MockConsentStates
	sources     *mocks.MockSources
	jobs        *mocks.MockJobs
	chats       *mocks.MockChats
	chatLists   *mocks.MockChatLists
	sealer      *mocks.MockCredentialSealer
	beside      bool // nodes of v0.1.0 may run
	warehouse   *mocks.MockWarehouse
	warehouses  connections.Warehouses // with warehouse
	offer       connections.Offer
	used        quota.Amounts // of the workspace, which may have one connection
	usage       *mocks.MockUsage
	ctx         context.Context
}

type ctxKey struct{}

func newEnv(t *testing.T) *env {
	c := gomock.NewController(t)
	s := &env{
		atomic: mocks.NewMockAtomic(c), connections: mocks.NewMockConnections(c),
		states: mocks.NewMockConsentStates(c), sources: mocks.NewMockSources(c),
		chats: mocks.NewMockChats(c), chatLists: mocks.NewMockChatLists(c),
		jobs: mocks.NewMockJobs(c), sealer: mocks.NewMockCredentialSealer(c), warehouse: mocks.NewMockWarehouse(c),
		offer: connections.Offer{Kinds: []connection.Kind{connection.Postgres}},
		ctx:   context.WithValue(t.Context(), ctxKey{}, "the caller's own"),
	}
	s.sealer.EXPECT().Digest("probe target", gomock.Any()).AnyTimes().DoAndReturn(fixture.Digester{}.Digest)
	s.sealer.EXPECT().Compatible().AnyTimes().DoAndReturn(func() bool { return s.beside })
	s.warehouses = connections.Warehouses{connection.Postgres: s.warehouse}
	offers := func(org identity.OrgID) connections.Offer {
		if org != "org" {
			t.Errorf("the offer of org %q was asked for", org)
		}
		return s.offer
	}
	quotas := func(_ context.Context, by identity.Actor) (quota.Limits, error) {
		if by.Workspace != "acme" {
			t.Errorf("the quotas of %s were asked for", by.Workspace)
		}
		return quota.Limits{Amounts: quota.Amounts{Connections: 1}}, nil
	}
	s.Service = connections.NewService(
		s.atomic,
		ports.ConnectionStores{Connections: s.connections, ConsentStates: s.states},
		connections.Deps{
			Sealer:      s.sealer,
			Warehouses:  s.warehouses,
			Offers:      offers,
			ProbeLimits: connection.ProbeLimits{WorkspacePerMinute: 2, TargetPerHour: 3},
			Quotas:      quotas,
		},
	)
	s.usage = mocks.NewMockUsage(c)
	s.usage.EXPECT().Lock(s.ctx, identity.WorkspaceID("acme")).AnyTimes()
	s.usage.EXPECT().Amounts(s.ctx, identity.WorkspaceID("acme"), now).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	return s
}

func passed() connection.Report {
	r := connection.Report{Server: connection.Server{Product: "PostgreSQL"}}
	for _, step := range connection.Steps() {
		r.Checks = append(r.Checks, connection.Check{Step: step, Result: connection.OK})
	}
	return r
}

func credential(t *testing.T) connection.Credential {
	t.Helper()
	c, err := connection.ParseCredential(connection.Postgres, []byte(submitted))
	require.NoError(t, err)
	return c
}

// stored returns ann's active connection, at credential revision 1.
func stored(t *testing.T) *connection.Connection {
	t.Helper()
	c, err := connection.New(maker,
		connection.Trial{ID: "con", New: &connection.NewCredential{Credential: credential(t), Sealed: []byte("sealed"),
			Fingerprint: "f"}, Report: passed(), At: now}, 0)
	require.NoError(t, err)
	c.Log, c.Sealed = event.Log{}, nil
	return c
}

func (s *env) expectAtomic() {
	s.atomic.EXPECT().Atomically(s.ctx,
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			ConnectionStores: ports.ConnectionStores{Connections: s.connections},
			SourceStores:     ports.SourceStores{Sources: s.sources},
			ChatStores:       ports.ChatStores{Chats: s.chats, ChatLists: s.chatLists},
			Jobs:             s.jobs,
			PaymentStores:    ports.PaymentStores{Usage: s.usage},
		})
	})
}

// expectUpdate runs a change twice, on fresh aggregates, as stores do after a conflict.
func (s *env) expectUpdate(connectionOf func() *connection.Connection, others int) {
	s.connections.EXPECT().Update(s.ctx, identity.WorkspaceID("acme"), connection.ID("con"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ connection.ID,
			change func(*connection.Connection, int) error) (c *connection.Connection, err error) {
			for range 2 {
				c = connectionOf()
				if err := change(c, others); err != nil {
					return nil, err
				}
			}
			return c, nil
		})
}

// expectLock expects that the connection is locked.
func (s *env) expectLock(c *connection.Connection) {
	s.connections.EXPECT().Lock(s.ctx, identity.WorkspaceID("acme"), connection.ID("con")).Return(c, nil)
}

// expectAttempt expects a probe of a new credential by a workspace that has made this many within the last minute.
func (s *env) expectAttempt(t *testing.T, by identity.Actor, previous int) {
	t.Helper()
	s.expectEffort(t, by, connection.Probing, previous)
}

// expectTest expects a test of a stored credential, which uses up no probes of new ones.
func (s *env) expectTest(t *testing.T, by identity.Actor) {
	t.Helper()
	s.expectEffort(t, by, connection.Testing, 0)
}

func (s *env) expectEffort(t *testing.T, by identity.Actor, effort connection.Effort, previous int) {
	t.Helper()
	target := credential(t).Target("org")
	target = fixture.Digester{}.Digest("probe target", target[:])
	s.connections.EXPECT().Attempt(s.ctx, by, effort, target, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ connection.Effort, _ connection.Target,
			admit func(*connection.Counts) error) error {
			var counts connection.Counts
			for range previous {
				counts.Workspace = append(counts.Workspace, now.Add(-time.Second))
			}
			return admit(&counts)
		})
}

// expectRefusal expects that a failed sign-in at the target is counted.
func (s *env) expectRefusal(t *testing.T, by identity.Actor) {
	t.Helper()
	s.connections.EXPECT().Attempt(gomock.Any(), by, connection.Probing, gomock.Any(), gomock.Any()).DoAndReturn(
		func(ctx context.Context, _ identity.Actor, _ connection.Effort, _ connection.Target,
			change func(*connection.Counts) error) error {
			counts := connection.Counts{}
			err := change(&counts)
			if ctx.Err() != nil || len(counts.Failed) != 1 || len(counts.Workspace)+len(counts.Target) > 0 {
				t.Errorf("counted %+v (%v)", counts, ctx.Err())
			}
			return err
		})
}

// expectProbe expects a probe of the submitted credential.
func (s *env) expectProbe(t *testing.T, r connection.Report) {
	t.Helper()
	s.warehouse.EXPECT().Probe(gomock.Any(),
		gomock.Any()).DoAndReturn(func(ctx context.Context, target ports.Target) connection.Report {
		if ctx.Value(ctxKey{}) == nil {
			t.Error("the probe has another context than the caller's")
		}
		if got := target.Credential.Secret("password").Reveal(); got != canary ||
			target.Credential.Text("host") != "db.example.com" || target.Limits != ports.DefaultLimits() ||
			len(target.Egress.Allow) != len(s.offer.Egress.Allow) {
			t.Errorf("probed %+v", target)
		}
		return r
	})
}

// The associated data of the connection's credential: its place, which the fingerprint uses too, and
// its revision.
var (
	place = connection.Seal("org", "acme", "con", connection.Postgres)
	first = connection.SealRevision(place, 1)
)

// expectOpen returns the sealed credential.
func (s *env) expectOpen() {
	s.connections.EXPECT().Sealed(s.ctx, identity.WorkspaceID("acme"),
		connection.ID("con")).Return(connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
	s.sealer.EXPECT().Open([]byte("sealed"), first).Return([]byte(submitted), nil)
}

// expectCheckLater expects that a check of the connection is queued within some time.
func (s *env) expectCheckLater(t *testing.T, by identity.Actor, limit time.Duration) {
	t.Helper()
	s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
		wait := j.Due.Sub(now)
		if j.Kind != connection.CheckJob || j.Workspace != by.Workspace || j.Org != by.Org || wait < limit*8/10 ||
			wait > limit*12/10 {
			t.Errorf("queued %+v, which is %s away; want about %s", j, wait, limit)
		}
		return nil
	})
}

// expectBegun expects that a check begins and queues the next one six hours later.
func (s *env) expectBegun(t *testing.T) {
	t.Helper()
	s.expectAtomic()
	s.expectLock(stored(t))
	s.expectCheckLater(t, system, 6*time.Hour)
}
