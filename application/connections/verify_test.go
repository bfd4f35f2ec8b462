package connections_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func (s *env) expectGet(owner *connection.Connection) {
	s.connections.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), connection.ID("con")).Return(owner, nil)
}

// revoked returns the stored connection after its revocation, without a credential.
func revoked(t *testing.T) *connection.Connection {
	c := stored(t)
	require.NoError(t, c.Revoke(maker, nil))
	c.Log = event.Log{}
	return c
}

func TestReprobe(t *testing.T) {
	authFailed := connection.FailedAt(connection.Authenticate, connection.AuthFailed)
	t.Run("the stored credential is opened and tried", func(t *testing.T) {
		for name, report := range map[string]connection.Report{"one that works": passed(),
			"one that does not": authFailed} {
			t.Run(name, func(t *testing.T) {
				s := newEnv(t)
				s.expectGet(stored(t))
				s.expectTest(t, peer)
				s.expectOpen()
				s.expectProbe(t, report)
				got, err := s.Reprobe(s.ctx, peer, "con", connection.Entry{}, nil)
				require.NoError(t, err)
				if got.ID != "con" || got.Of != 1 || got.New != nil || got.Report.Failure() != report.Failure() {
					t.Errorf("Reprobe = %+v", got)
				}
			})
		}
	})
	t.Run("a new credential is tried in its place, and sealed if it works", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(revoked(t))
		s.expectAttempt(t, maker, 0)
		s.expectProbe(t, passed())
		s.sealer.EXPECT().Seal(gomock.Any(), connection.SealRevision(place, 3)).Return([]byte("sealed again"), nil)
		s.sealer.EXPECT().Fingerprint(gomock.Any(), place).Return("f")
		got, err := s.Reprobe(s.ctx, maker, "con", entered(submitted), nil)
		require.NoError(t, err)
		if got.Of != 2 || string(got.New.Sealed) != "sealed again" {
			t.Errorf("Reprobe = %+v", got)
		}
	})
	t.Run("one that does not work is refused", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t))
		s.expectAttempt(t, maker, 0)
		s.expectProbe(t, authFailed)
		s.expectRefusal(t, maker)
		_, err := s.Reprobe(s.ctx, maker, "con", entered(submitted), nil)
		require.ErrorIs(t, err, connection.ErrProbeFailed)
	})
	t.Run("its failed sign-in counts also if the caller hangs up as soon as it is known", func(t *testing.T) {
		s := newEnv(t)
		ctx, hangUp := context.WithCancel(s.ctx)
		s.ctx = ctx
		s.expectGet(stored(t))
		s.expectAttempt(t, maker, 0)
		s.warehouse.EXPECT().Probe(gomock.Any(), gomock.Any()).DoAndReturn(
			func(context.Context, ports.Target) connection.Report {
				hangUp()
				return authFailed
			})
		s.expectRefusal(t, maker)
		_, err := s.Reprobe(ctx, maker, "con", entered(submitted), nil)
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("the failed sign-ins of others refuse a new credential, and never the stored one", func(t *testing.T) {
		for name, tt := range map[string]struct {
			entry  connection.Entry
			effort connection.Effort
			failed int
			want   error
		}{
			"stored": {connection.Entry{}, connection.Testing, 0, nil}, // the store counts none for tests
			"new":    {entered(submitted), connection.Probing, 3, connection.ErrProbeRateLimited},
		} {
			t.Run(name, func(t *testing.T) {
				s := newEnv(t)
				s.expectGet(stored(t))
				s.connections.EXPECT().
					Attempt(s.ctx, maker, tt.effort, gomock.Any(), gomock.Any()).
					DoAndReturn(
						func(_ context.Context, _ identity.Actor, _ connection.Effort, _ connection.Target,
							admit func(*connection.Counts) error) error {
							item := connection.Attempts{now.Add(-time.Minute)}
							return admit(&connection.Counts{Target: item, Failed: slices.Repeat(item, tt.failed)})
						})
				if tt.want == nil {
					s.expectOpen()
					s.expectProbe(t, passed())
				}
				_, err := s.Reprobe(s.ctx, maker, "con", tt.entry, nil)
				require.ErrorIs(t, err, tt.want)
			})
		}
	})
	for name, tt := range map[string]struct {
		by    identity.Actor
		of    func(*testing.T) *connection.Connection
		fresh connection.Entry
		want  error
	}{
		"a viewer tries nothing":                        {viewer, stored, connection.Entry{}, connection.ErrForbidden},
		"a peer gives no new credential":                {peer, stored, entered(submitted), connection.ErrForbidden},
		"a revoked one has nothing to try":              {maker, revoked, connection.Entry{}, connection.ErrRevoked},
		"what is wrong with a credential is told first": {maker, stored, entered(`[]`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.expectGet(tt.of(t))
			_, err := s.Reprobe(s.ctx, tt.by, "con", tt.fresh, nil)
			if err == nil {
				t.Fatal("it was tried")
			}
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
		})
	}
	t.Run("a kind that is not offered any more is not dialled", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Kinds = nil
		s.expectGet(stored(t))
		_, err := s.Reprobe(s.ctx, maker, "con", connection.Entry{}, nil)
		require.ErrorIs(t, err, connection.ErrKindNotOffered)
	})
	t.Run("nor is one that was revoked a moment ago", func(t *testing.T) {
		s := newEnv(t)
		s.expectGet(stored(t))
		s.expectTest(t, maker)
		s.connections.EXPECT().Sealed(s.ctx, gomock.Any(), gomock.Any()).Return(connection.Stored{},
			connection.ErrRevoked)
		_, err := s.Reprobe(s.ctx, maker, "con", connection.Entry{}, nil)
		require.ErrorIs(t, err, connection.ErrRevoked)
	})
	t.Run("a credential that does not open is an outage, and no answer to the caller", func(t *testing.T) {
		for name, open := range map[string]func(*env){
			"because of its key": func(s *env) {
				s.sealer.EXPECT().Open(gomock.Any(), first).Return(nil,
					errOutage)
			},
			"because of its content": func(s *env) {
				s.sealer.EXPECT().Open(gomock.Any(), first).Return([]byte(`{}`), nil)
			},
		} {
			t.Run(name, func(t *testing.T) {
				s := newEnv(t)
				s.expectGet(stored(t))
				s.expectTest(t, maker)
				s.connections.EXPECT().Sealed(s.ctx, gomock.Any(),
					gomock.Any()).Return(connection.Stored{Sealed: []byte("sealed"), Revision: 1, Bound: true}, nil)
				open(s)
				_, err := s.Reprobe(s.ctx, maker, "con", connection.Entry{}, nil)
				if err == nil || isFault(err) {
					t.Errorf("error %v", err)
				}
			})
		}
	})
	t.Run("a probe under way ends within a second of a revocation", func(t *testing.T) {
		for name, fresh := range map[string]connection.Entry{
			"of the stored credential": {}, "of a new one": entered(submitted),
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newEnv(t)
					s.expectGet(stored(t))

					if fresh.IsZero() {
						s.expectTest(t, maker)
						s.expectOpen()
					} else {
						s.expectAttempt(t, maker, 0)
					}
					s.connections.EXPECT().Get(gomock.Any(), identity.WorkspaceID("acme"),
						connection.ID("con")).Return(stored(t), nil)
					s.connections.EXPECT().Get(gomock.Any(), identity.WorkspaceID("acme"),
						connection.ID("con")).Return(revoked(t), nil)
					start := time.Now()
					s.warehouse.EXPECT().Probe(gomock.Any(),
						gomock.Any()).DoAndReturn(func(ctx context.Context, _ ports.Target) connection.Report {
						<-ctx.Done()
						return connection.FailedAt(connection.Connect, connection.ConnectTimeout)
					})
					_, err := s.Reprobe(s.ctx, maker, "con", fresh, nil)
					require.ErrorIs(t, err, connection.ErrRevoked)
					if took := time.Since(start); took > time.Second {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	})
	t.Run("a slow probe of the new credential of a revoked connection is not cut short", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newEnv(t)
			s.expectGet(revoked(t))
			s.expectAttempt(t, maker, 0)
			s.connections.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(revoked(t), nil).MinTimes(2)
			s.warehouse.EXPECT().Probe(gomock.Any(),
				gomock.Any()).DoAndReturn(func(context.Context, ports.Target) connection.Report {
				time.Sleep(3 * time.Second)
				return authFailed
			})
			s.expectRefusal(t, maker)
			_, err := s.Reprobe(s.ctx, maker, "con", entered(submitted), nil)
			require.ErrorIs(t, err, connection.ErrProbeFailed)
		})
	})
	t.Run("an outage of the store meanwhile ends no probe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newEnv(t)
			s.expectGet(stored(t))
			s.expectTest(t, maker)
			s.expectOpen()
			s.connections.EXPECT().Get(gomock.Any(), gomock.Any(), gomock.Any()).Return(nil, errOutage).MinTimes(1)
			s.warehouse.EXPECT().Probe(gomock.Any(),
				gomock.Any()).DoAndReturn(func(context.Context, ports.Target) connection.Report {
				time.Sleep(3 * time.Second)
				return passed()
			})
			_, err := s.Reprobe(s.ctx, maker, "con", connection.Entry{}, nil)
			require.NoError(t, err)
		})
	})
}

func TestVerify(t *testing.T) {
	t.Run("what was found is stored, and the next check is queued", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.expectCheckLater(t, peer, 6*time.Hour)
		got, err := s.Verify(s.ctx, peer,
			connection.Trial{ID: "con", Of: 1, At: now,
				Report: connection.FailedAt(connection.TLS, connection.TLSUntrusted)})
		require.NoError(t, err)
		if got.Status != connection.Failing {
			t.Errorf("Verify = %+v", got)
		}
	})
	t.Run("what was found with another credential is not", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		got, err := s.Verify(s.ctx, peer, connection.Trial{ID: "con", Of: 0, At: now, Report: passed()})
		require.ErrorIs(t, err, connection.ErrCredentialChanged)
		if got != nil {
			t.Errorf("Verify = %+v", got)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Run("a connection that works is checked again six hours later", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.expectOpen()
		s.expectProbe(t, passed())
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.expectCheckLater(t, system, 6*time.Hour)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("one that may be failing is looked at again soon", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.expectOpen()
		s.expectProbe(t, connection.FailedAt(connection.Connect, connection.ConnectTimeout))
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return stored(t) }, 0)
		s.expectCheckLater(t, system, 10*time.Minute)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("one for which there is no room is postponed, and nothing is noted", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.expectOpen()
		s.expectProbe(t, connection.FailedAt(connection.Resolve, connection.TooManyReads))
		if err := s.Check(s.ctx, system, "con"); !job.IsPostponed(err) {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("one that could not start because Atrium's database is away is tried again, and nothing is noted",
		func(t *testing.T) {
			s := newEnv(t)
			s.expectBegun(t)
			s.expectOpen()
			s.expectProbe(t, connection.FailedAt(connection.Resolve, connection.NotRun))
			require.ErrorIs(t, s.Check(s.ctx, system, "con"), ports.ErrUnavailable)
		})
	t.Run("one that is gone is no error", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.connections.EXPECT().Lock(s.ctx, gomock.Any(), gomock.Any()).Return(nil, connection.ErrNotFound)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("nor is one that is revoked, and it is not checked again", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectLock(revoked(t))
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("one that is revoked before it is dialled is not dialled", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.connections.EXPECT().Sealed(s.ctx, gomock.Any(), gomock.Any()).Return(connection.Stored{},
			connection.ErrRevoked)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("one that is revoked while it is probed is not queued again", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.expectOpen()
		s.expectProbe(t, passed())
		s.expectAtomic()
		s.expectUpdate(func() *connection.Connection { return revoked(t) }, 0)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("one whose kind is not offered now is looked at later", func(t *testing.T) {
		s := newEnv(t)
		s.offer.Kinds = nil
		s.expectBegun(t)
		require.NoError(t, s.Check(s.ctx, system, "con"))
	})
	t.Run("an outage comes out, after the next check is queued", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(t)
		s.connections.EXPECT().Sealed(s.ctx, gomock.Any(), gomock.Any()).Return(connection.Stored{}, errOutage)
		require.ErrorIs(t, s.Check(s.ctx, system, "con"), errOutage)
	})
}

// isFault reports whether err has a code that a caller sees.
func isFault(err error) bool {
	_, isReported := errors.AsType[*fault.Error](err)
	return isReported
}
