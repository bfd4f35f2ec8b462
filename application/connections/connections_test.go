package connections_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestList(t *testing.T) {
	t.Run("it answers all, and the kinds that the org offers and the program has", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Kinds = []connection.Kind{connection.SQLite, connection.Postgres}
		s.connections.EXPECT().List(s.ctx, identity.WorkspaceID("acme")).Return([]connection.Connection{*stored(t)},
			[]source.Summary{{ID: "src_1", Workspace: "acme"}, {ID: "src_2", Workspace: "other"}}, nil)
		got, err := s.List(s.ctx, viewer)
		require.NoError(t, err)
		if len(got.Connections) != 1 || len(got.Kinds) != 1 || got.Kinds[0].Kind != connection.Postgres ||
			len(got.Sources) != 1 || got.Sources[0].ID != "src_1" {
			t.Errorf("List = %+v", got)
		}
	})
	t.Run("a user without a role sees none", func(t *testing.T) {
		s := newEnv(t)
		s.connections.EXPECT().List(s.ctx, identity.WorkspaceID("acme")).Return([]connection.Connection{*stored(t)},
			[]source.Summary{{Workspace: "acme"}}, nil)
		got, err := s.List(s.ctx, actor("sam", identity.NoRole))
		require.NoError(t, err)
		if len(got.Connections)+len(got.Sources) != 0 {
			t.Errorf("List = %+v", got)
		}
	})
}

func TestGet(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a viewer reads it": {viewer, nil}, "a stranger is told nothing": {stranger, connection.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.connections.EXPECT().Get(s.ctx, tt.by.Workspace, connection.ID("con")).Return(stored(t), nil)
			_, err := s.Get(s.ctx, tt.by, "con")
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func draft() connection.Draft {
	return connection.Draft{Kind: connection.Postgres, Name: "The shop", Entry: entered(submitted)}
}

func TestProbe(t *testing.T) {
	live := func(s *env, n int) {
		s.connections.EXPECT().Live(s.ctx, identity.WorkspaceID("acme")).Return(n, nil)
	}
	t.Run("a credential that works comes back sealed for its place", func(t *testing.T) {
		s := newEnv(t)
		live(s, connection.MaxLive-1)
		s.expectAttempt(t, maker, 1)
		s.expectProbe(t, passed())
		var bound []byte
		s.sealer.EXPECT().Seal(gomock.Any(), gomock.Any()).DoAndReturn(func(plain, context []byte) ([]byte, error) {
			second, err := connection.ParseCredential(connection.Postgres, plain)
			if err != nil || second.Secret("password").Reveal() != canary || second.Port() != 5432 {
				t.Errorf("sealed %v, %v", second, err)
			}
			bound = context
			return []byte("sealed"), nil
		})
		s.sealer.EXPECT().Fingerprint([]byte(`{"password":"`+canary+`"}`), gomock.Any()).Return("f")
		got, err := s.Probe(s.ctx, maker, draft(), nil)
		require.NoError(t, err)
		if string(got.New.Sealed) != "sealed" || got.New.Fingerprint != "f" || got.Name != "The shop" ||
			got.At != now ||
			!got.New.Bound || string(bound) != string(connection.SealRevision(connection.Seal("org", "acme", got.ID,
			connection.Postgres), 1)) {
			t.Errorf("Probe = %+v, sealed for %q", got, bound)
		}
	})
	t.Run("where nodes of v0.1.0 have to open it, it is sealed as they do", func(t *testing.T) {
		s := newEnv(t)
		s.beside = true
		live(s, 0)
		s.expectAttempt(t, maker, 0)
		s.expectProbe(t, passed())
		var bound []byte
		s.sealer.EXPECT().Seal(gomock.Any(), gomock.Any()).DoAndReturn(func(_, context []byte) ([]byte, error) {
			bound = context
			return []byte("sealed"), nil
		})
		s.sealer.EXPECT().Fingerprint(gomock.Any(), gomock.Any()).Return("f")
		got, err := s.Probe(s.ctx, maker, draft(), nil)
		require.NoError(t, err)
		if got.New.Bound || string(bound) != string(connection.Seal("org", "acme", got.ID, connection.Postgres)) {
			t.Errorf("Probe = %+v, sealed for %q", got, bound)
		}
	})
	t.Run("where no secret is set there is no fingerprint", func(t *testing.T) {
		s := newEnv(t)
		live(s, 0)
		s.expectAttempt(t, maker, 0)
		s.warehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).Return(passed())
		s.sealer.EXPECT().Seal(gomock.Any(), gomock.Any()).Return([]byte("sealed"), nil)
		d := draft()
		d.Credential = []byte(strings.Replace(submitted, `, "password": "`+canary+`"`, "", 1))
		got, err := s.Probe(s.ctx, maker, d, nil)
		require.NoError(t, err)
		assert.Equal(t, "fingerprint", got.New.Fingerprint, "")
	})
	t.Run("one that does not work is not sealed", func(t *testing.T) {
		s := newEnv(t)
		live(s, 0)
		s.expectAttempt(t, maker, 0)
		s.expectProbe(t, connection.FailedAt(connection.Authenticate, connection.AuthFailed))
		s.expectRefusal(t, maker)
		_, err := s.Probe(s.ctx, maker, draft(), nil)
		require.ErrorIs(t, err, connection.ErrProbeFailed)
		var e *connection.ProbeError
		if !errors.As(err, &e) || e.Failure.Code != connection.AuthFailed || strings.Contains(err.Error(), canary) {
			t.Errorf("error %+v", err)
		}
	})
	t.Run("a viewer is refused before anything else", func(t *testing.T) {
		s := newEnv(t)
		_, err := s.Probe(s.ctx, viewer, connection.Draft{}, nil)
		require.ErrorIs(t, err, connection.ErrForbidden)
	})
	for name, offer := range map[string][]connection.Kind{"not on offer": nil,
		"offered, but not in this program": {"oracle"}} {
		t.Run("a kind that is "+name+" is refused", func(t *testing.T) {
			s := newEnv(t)
			s.offer.Kinds = offer
			d := draft()
			if offer != nil {
				d.Kind = offer[0]
			}
			_, err := s.Probe(s.ctx, maker, d, nil)
			require.ErrorIs(t, err, connection.ErrKindNotOffered)
		})
	}
	t.Run("all that is wrong is told at once", func(t *testing.T) {
		s := newEnv(t)
		_, err := s.Probe(s.ctx, maker, connection.Draft{Kind: connection.Postgres, Name: strings.Repeat("x", 121),
			Entry: entered(`{"port": 0, "dsn": "` + canary + `"}`)}, nil)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 6 || f.Fields[0].Pointer != "/name" {
			t.Fatalf("error %+v", err)
		}
	})
	t.Run("a full workspace is told so before anything is dialled", func(t *testing.T) {
		s := newEnv(t)
		live(s, connection.MaxLive)
		_, err := s.Probe(s.ctx, maker, draft(), nil)
		require.ErrorIs(t, err, connection.ErrLimitReached)
	})
	t.Run("so is one that tried too often", func(t *testing.T) {
		s := newEnv(t)
		live(s, 0)
		s.expectAttempt(t, maker, 2)
		_, err := s.Probe(s.ctx, maker, draft(), nil)
		require.ErrorIs(t, err, connection.ErrProbeRateLimited)
		var f *fault.Error
		if errors.As(err, &f); f.RetryAfter != 59*time.Second {
			t.Errorf("wait %s", f.RetryAfter)
		}
	})
	t.Run("what is said of a probe that the caller cut short is not believed", func(t *testing.T) {
		s := newEnv(t)
		ctx, cancel := context.WithCancel(s.ctx)
		s.connections.EXPECT().Live(ctx, gomock.Any()).Return(0, nil)
		s.connections.EXPECT().Attempt(ctx, maker, connection.Probing, gomock.Any(), gomock.Any()).Return(nil)
		s.warehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).Do(func(any, any) { cancel() }).Return(
			connection.FailedAt(connection.Connect, connection.ConnectTimeout))
		_, err := s.Probe(ctx, maker, draft(), nil)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestCreate(t *testing.T) {
	trial := func(t *testing.T) connection.Trial {
		return connection.Trial{ID: "con", Name: "The shop", At: now, Report: passed(),
			New: &connection.NewCredential{Credential: credential(t), Sealed: []byte("sealed"), Fingerprint: "f"}}
	}
	add := func(s *env, others int) {
		s.connections.EXPECT().Add(s.ctx, maker, gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, make func(int) (*connection.Connection, error)) (err error) {
				for range 2 {
					if _, err = make(others); err != nil {
						return err
					}
				}
				return nil
			})
	}
	t.Run("it is stored, and will be checked", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		add(s, 0)
		s.expectCheckLater(t, maker, 6*time.Hour)
		got, err := s.Create(s.ctx, maker, trial(t))
		require.NoError(t, err)
		if got.ID != "con" || got.Status != connection.Active || got.Name != "The shop" {
			t.Errorf("Create = %+v", got)
		}
	})
	t.Run("the limit is asked again, where it counts", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		add(s, connection.MaxLive)
		_, err := s.Create(s.ctx, maker, trial(t))
		require.ErrorIs(t, err, connection.ErrLimitReached)
	})
	t.Run("a connection beyond the quota is not stored", func(t *testing.T) {
		s := newEnv(t)
		s.used.Connections = 2
		s.expectAtomic()
		add(s, 1)
		_, err := s.Create(s.ctx, maker, trial(t))
		require.ErrorIs(t, err, quota.ErrExceeded)
	})
	t.Run("if the check cannot be queued, the error comes out", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		add(s, 0)
		s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).Return(errOutage)
		_, err := s.Create(s.ctx, maker, trial(t))
		require.ErrorIs(t, err, errOutage)
	})
}
