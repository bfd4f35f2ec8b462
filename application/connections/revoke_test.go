package connections_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// reader returns a source that reads through the connection.
func reader(id source.ID, reason source.PauseReason) *source.Source {
	return &source.Source{ID: id, Org: "org", Workspace: "acme", Name: string(id),
		Location: source.Location{Connection: "con"}, Mapping: []source.Pair{{Field: "f", Column: "c"}}, Paused: reason,
		Revision: 1}
}

// expectThrough expects a change of the sources that read through the connection, which no chat uses.
func (s *env) expectThrough(sources ...*source.Source) {
	s.expectThroughWith(nil, sources...)
}

// expectThroughWith is expectThrough with chats that reply through the connection.
func (s *env) expectThroughWith(chats []*chat.Template, sources ...*source.Source) {
	var uses []chat.ConnectionUse
	for _, t := range chats {
		uses = append(uses, chat.ConnectionUse{Connection: "con", ID: t.ID})
		s.chats.EXPECT().Update(s.ctx, maker, t.ID, gomock.Any()).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID,
				change func(*chat.Template) error) (*chat.Template, error) {
				return t, change(t)
			})
	}
	s.chatLists.EXPECT().ConnectionUses(s.ctx, gomock.Any(), connection.ID("con")).AnyTimes().DoAndReturn(
		func(_ context.Context, by identity.Actor, _ connection.ID) ([]chat.ConnectionUse, error) {
			if by.User != "" || by.Workspace != "acme" { // private chats, too
				return nil, errOutage
			}
			return uses, nil
		})
	s.sources.EXPECT().UpdateThrough(s.ctx, identity.WorkspaceID("acme"), connection.ID("con"),
		gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.WorkspaceID, _ connection.ID, change func(*source.Source) error) error {
			for _, src := range sources {
				if err := change(src); err != nil {
					return err
				}
			}
			return nil
		})
}

func TestRevoke(t *testing.T) {
	perform := func(name string, test func(t *testing.T, s *env)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, newEnv(t)) }) })
	}
	perform("the connection ends, its sources are paused, and the jobs of all are cancelled",
		func(t *testing.T, s *env) {
			s.expectAtomic()
			s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
			older, newer := reader("src_1", ""), reader("src_2", source.BreakingDrift)
			s.expectThrough(older, newer)
			for subject, n := range map[string]int{"con": 1, "src_1": 2, "src_2": 0} {
				s.jobs.EXPECT().Cancel(s.ctx, identity.WorkspaceID("acme"), subject).Return(n, nil)
			}
			start := time.Now()
			got, err := s.Revoke(s.ctx, maker, "con", revision.Match{1})
			require.NoError(t, err)
			if got.Connection.Status != connection.Revoked || got.CancelledJobs != 3 || len(got.Paused) != 2 ||
				got.Paused[0].ID != "src_2" || got.Paused[1].ID != "src_1" {
				t.Errorf("Revoke = %+v", got)
			}
			for _, src := range []*source.Source{older, newer} {
				if src.Paused != source.ConnectionRevoked {
					t.Errorf("%s is paused by %q", src.ID, src.Paused)
				}
			}
			if took := time.Since(start); took < 500*time.Millisecond || took > time.Second {
				t.Errorf("Revoke returned after %s, but users of the credential check only every 250 ms whether it is "+
					"still valid", took)
			}
		})
	perform("chats that reply through it fail at once, but not those whose draft only does",
		func(t *testing.T, s *env) {
			s.expectAtomic()
			s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
			reply := chat.Content{Reply: chat.Reply{Kind: chat.HTTPReply, Connection: "con"}}
			replying := &chat.Template{ID: "ctpl_1", Content: reply}
			draft := &chat.Template{ID: "ctpl_2", Content: reply}
			draft.Published = &chat.Version{}
			s.expectThroughWith([]*chat.Template{replying, draft})
			s.jobs.EXPECT().Cancel(s.ctx, gomock.Any(), "con").Return(0, nil)
			_, err := s.Revoke(s.ctx, maker, "con", nil)
			require.NoError(t, err)
			if replying.Replies.Code != "connection_revoked" || replying.Replies.FailingSince.IsZero() ||
				draft.Replies != (chat.ReplyRun{}) {
				t.Errorf("%+v, %+v", replying.Replies, draft.Replies)
			}
		})
	perform("a caller who does not wait for the answer takes nothing back", func(t *testing.T, s *env) {
		ctx, cancel := context.WithCancel(s.ctx)
		s.ctx = ctx
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.expectThrough()
		s.jobs.EXPECT().Cancel(s.ctx, gomock.Any(), "con").Return(0, nil)
		cancel()
		got, err := s.Revoke(ctx, maker, "con", nil)
		require.NoError(t, err)
		if got.Connection.Status != connection.Revoked {
			t.Errorf("Revoke = %+v", got)
		}
	})
	perform("who may not pauses and cancels nothing", func(t *testing.T, s *env) {
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		got, err := s.Revoke(s.ctx, peer, "con", nil)
		require.ErrorIs(t, err, connection.ErrForbidden)
		if got.Connection != nil {
			t.Errorf("Revoke = %+v", got)
		}
	})
	perform("if the jobs cannot be cancelled, the error comes out", func(t *testing.T, s *env) {
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.expectThrough()
		s.jobs.EXPECT().Cancel(s.ctx, gomock.Any(), gomock.Any()).Return(0, errOutage)
		_, err := s.Revoke(s.ctx, maker, "con", nil)
		require.ErrorIs(t, err, errOutage)
	})
	perform("so does it if the sources cannot be paused", func(t *testing.T, s *env) {
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.sources.EXPECT().UpdateThrough(s.ctx, gomock.Any(), gomock.Any(), gomock.Any()).Return(errOutage)
		_, err := s.Revoke(s.ctx, maker, "con", nil)
		require.ErrorIs(t, err, errOutage)
	})
}

func TestANewCredentialBringsSourcesBack(t *testing.T) {
	fresh := func(t *testing.T, host string) connection.Trial {
		c, err := connection.ParseCredential(connection.Postgres,
			[]byte(`{"host": "`+host+`", "database": "shop", "username": "another", "password": "pw"}`))
		require.NoError(t, err)
		return connection.Trial{ID: "con", Of: 2, At: now, Report: passed(),
			New: &connection.NewCredential{Credential: c, Sealed: []byte("new"), Fingerprint: "g"}}
	}
	t.Run("each with one refresh, but those that wait for something else", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return revoked(t) }, 0)
		pausedSource, driftedSource := reader("src_1", source.ConnectionRevoked), reader("src_2", source.BreakingDrift)
		s.expectThrough(pausedSource, driftedSource, reader("src_3", ""))
		s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).DoAndReturn(func(_ context.Context, j job.Job) error {
			if j.Kind != source.RefreshJob || j.Subject != "src_1" || j.Due.After(now) || j.Workspace != "acme" {
				t.Errorf("queued %+v", j)
			}
			return nil
		})
		s.expectCheckLater(t, maker, 6*time.Hour)
		_, err := s.Verify(s.ctx, maker, fresh(t, "db.example.com"))
		require.NoError(t, err)
		if pausedSource.Paused != "" || driftedSource.Paused != source.BreakingDrift {
			t.Errorf("paused: %q, %q", pausedSource.Paused, driftedSource.Paused)
		}
	})
	t.Run("where it leads elsewhere they wait for their owners", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return revoked(t) }, 0)
		pausedSource := reader("src_1", source.ConnectionRevoked)
		s.expectThrough(pausedSource)
		s.expectCheckLater(t, maker, 6*time.Hour)
		_, err := s.Verify(s.ctx, maker, fresh(t, "elsewhere.example.com"))
		require.NoError(t, err)
		assert.Equal(t, "paused", pausedSource.Paused, source.ConnectionChanged)
	})
	t.Run("beyond the quota a revoked connection stays revoked", func(t *testing.T) {
		s := newEnv(t)
		s.used.Connections = 2
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return revoked(t) }, 1)
		_, err := s.Verify(s.ctx, maker, fresh(t, "db.example.com"))
		require.ErrorIs(t, err, quota.ErrExceeded)
	})
	t.Run("if they cannot be resumed, the error comes out", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return revoked(t) }, 0)
		s.expectThrough(reader("src_1", source.ConnectionRevoked))
		s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).Return(errOutage)
		_, err := s.Verify(s.ctx, maker, fresh(t, "db.example.com"))
		require.ErrorIs(t, err, errOutage)
	})
}

func TestUse(t *testing.T) {
	t.Run("lends the credential to members", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t))
		s.expectOpen()
		lent := false
		require.ErrorIs(t, s.Use(s.ctx, peer, "con", func(_ context.Context, w ports.Warehouse,
			target ports.Target) error {
			lent = w == s.warehouse && target.Credential.Secret("password").Reveal() == canary &&
				target.Limits == ports.DefaultLimits()
			return errOutage
		}), errOutage)
		if !lent {
			t.Error("it was not lent")
		}
	})
	t.Run("within the time-outs of the org", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Timeouts = connection.Timeouts{Connect: 7 * time.Second, Total: 30 * time.Second}
		s.expectGet(stored(t))
		s.expectOpen()
		require.ErrorIs(t, s.Use(s.ctx, peer, "con", func(_ context.Context, _ ports.Warehouse,
			target ports.Target) error {
			want := ports.DefaultLimits()
			want.Connect, want.Total = 7*time.Second, 30*time.Second
			assert.Equal(t, "limits", target.Limits, want)
			return nil
		}), nil)
	})
	t.Run("within the time limit of the connection, if it is shorter", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Timeouts = connection.Timeouts{Statement: time.Minute}
		s.expectGet(stored(t))
		s.connections.EXPECT().Sealed(gomock.Any(), gomock.Any(), gomock.Any()).Return(
			connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
		s.sealer.EXPECT().Open(gomock.Any(), gomock.Any()).Return(
			[]byte(`{"host": "h", "database": "d", "username": "u", "statement_seconds": 20}`), nil)
		require.NoError(t, s.Use(s.ctx, peer, "con", func(_ context.Context, _ ports.Warehouse,
			target ports.Target) error {
			assert.Equal(t, "statement", target.Limits.Statement, 20*time.Second)
			return nil
		}))
	})
	t.Run("cuts short who uses what was revoked, whatever they make of it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newEnv(t)
			s.expectGet(stored(t))
			s.expectOpen()
			s.connections.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(revoked(t), nil)
			require.ErrorIs(t, s.Use(s.ctx, peer, "con", func(ctx context.Context, _ ports.Warehouse,
				_ ports.Target) error {
				<-ctx.Done()
				return connection.QueryTimeout
			}), connection.ErrRevoked)
		})
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		of   func(*testing.T) *connection.Connection
		want error
	}{
		"not to viewers":       {viewer, stored, connection.ErrForbidden},
		"not to strangers":     {stranger, stored, connection.ErrNotFound},
		"not what was revoked": {peer, revoked, connection.ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.connections.EXPECT().Get(s.ctx, tt.by.Workspace, connection.ID("con")).Return(tt.of(t), nil)
			require.ErrorIs(t, s.Use(s.ctx, tt.by, "con",
				func(context.Context, ports.Warehouse, ports.Target) error { t.Error("lent"); return nil }), tt.want)
		})
	}
	t.Run("not of a kind that is not offered", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Kinds = nil
		s.expectGet(stored(t))
		require.ErrorIs(t, s.Use(s.ctx, peer, "con", nil), connection.ErrKindNotOffered)
	})
}
