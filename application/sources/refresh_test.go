package sources_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

const day = 24 * time.Hour

func TestRequestRefresh(t *testing.T) {
	t.Run("queues one that is due now", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(stored(t, table))
		s.expectQueued(0)
		got, err := s.RequestRefresh(s.ctx, peer, "src")
		require.NoError(t, err)
		if !got.NextRefreshAt.Equal(now) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("queues one that is due when a minute has passed since the last one", func(t *testing.T) {
		s := newEnv(t)
		src := stored(t, table)
		src.LastRefreshedAt = now.Add(-20 * time.Second)
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(40 * time.Second)
		got, err := s.RequestRefresh(s.ctx, peer, "src")
		require.NoError(t, err)
		if !got.NextRefreshAt.Equal(now.Add(40 * time.Second)) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("queues none for a viewer", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.expectUpdate(stored(t, table))
		_, err := s.RequestRefresh(s.ctx, viewer, "src")
		require.ErrorIs(t, err, source.ErrForbidden)
	})
}

// run runs a test in a bubble, where no time passes while something runs: a machine under load must not make a refresh
// check whether its source is unchanged.
func run(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func TestRefresh(t *testing.T) {
	// begin sets up what every refresh of src begins with.
	begin := func(t *testing.T, src *source.Source) *env {
		s := newEnv(t)
		s.expectBegun(src)
		s.expectLiveWorkspace()
		return s
	}
	run(t, "what was found in one session is stored, and the next one queued for tomorrow", func(t *testing.T) {
		src := stored(t, table)
		s := begin(t, src)
		s.expectRefreshed(counted, nil)
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(day)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		if s.sessions != 1 {
			t.Errorf("it opened %d sessions, want 1", s.sessions)
		}
		if src.RowEstimate != 77 || !src.LastRefreshedAt.Equal(now) || src.Drift.Level != source.NoDrift {
			t.Errorf("%+v", src)
		}
	})
	run(t, "a breaking drift is looked at again soon, and pauses the second time", func(t *testing.T) {
		src := stored(t, sheetAt)
		other := aSheet()
		other.Preview.Headers = []column.Header{{Name: "Other", Type: column.Integer}}
		s := begin(t, src)
		s.expectSheet(other, nil)
		s.expectSheet(other, nil) // the header is searched for
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(10 * time.Minute)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		s = begin(t, src)
		s.expectSheet(other, nil)
		s.expectSheet(other, nil) // the header is searched for
		s.expectAtomic()
		s.expectUpdate(src)
		s.jobs.EXPECT().Cancel(gomock.Any(), acme, "src").Return(1, nil)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		if src.Paused != source.BreakingDrift {
			t.Errorf("%+v", src)
		}
	})
	run(t, "a header below a new title is found, and read from there on", func(t *testing.T) {
		src := stored(t, sheetAt)
		titledSheet, found := aSheet(), aSheet()
		titledSheet.Preview.Headers = []column.Header{{Name: "Contacts 2026", Type: column.String}}
		found.Preview.HeaderRow = 2
		s := begin(t, src)
		s.expectSheet(titledSheet, nil)
		s.expectSheet(found, nil)
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(day)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		if src.Location.Sheet.HeaderRow != 2 || src.Drift.Level != source.NoDrift {
			t.Errorf("%+v", src)
		}
	})
	t.Run("a failure is stored, ends the job, and says when it is tried again", func(t *testing.T) {
		for name, tt := range map[string]struct {
			err  error
			code string
			next time.Duration
		}{
			"one that may pass":          {connection.QueryTimeout, "query_timeout", time.Minute},
			"one that a person must fix": {connection.AuthFailed, "auth_failed", day},
		} {
			run(t, name, func(t *testing.T) {
				src := stored(t, table)
				s := begin(t, src)
				s.expectRefreshed(connection.Preview{}, tt.err)
				s.connections.EXPECT().Get(gomock.Any(), acme,
					connection.ID("con")).Return(&connection.Connection{Kind: connection.Postgres}, nil)
				s.expectAtomic()
				s.expectUpdate(src)
				s.expectQueued(tt.next)
				err := s.Refresh(s.ctx, system, "src")
				if !job.IsFinal(err) || src.Failure == nil || src.Failure.Code != tt.code {
					t.Errorf("error %v, failure %+v", err, src.Failure)
				}
			})
		}
	})
	run(t, "a source that is gone or paused is not read", func(t *testing.T) {
		s := newEnv(t)
		s.expectAtomic()
		s.sources.EXPECT().Lock(gomock.Any(), acme, source.ID("src")).Return(nil, source.ErrNotFound)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		pausedSource := stored(t, table)
		pausedSource.Paused = source.ConnectionRevoked
		s = newEnv(t)
		s.expectAtomic()
		s.expectLock(pausedSource)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
	})
	run(t, "nor is one of a deleted workspace; it is asked again tomorrow", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(stored(t, table))
		s.workspaces.EXPECT().Find(gomock.Any(), gomock.Any(), "acme").Return(&account.Workspace{DeletedAt: now}, nil)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
	})
	run(t, "whether that is so must be known", func(t *testing.T) {
		s := newEnv(t)
		s.expectBegun(stored(t, table))
		s.workspaces.EXPECT().Find(gomock.Any(), gomock.Any(), "acme").Return(nil, errOutage)
		require.ErrorIs(t, s.Refresh(s.ctx, system, "src"), errOutage)
	})
	for name, err := range map[string]error{"was revoked": connection.ErrRevoked,
		"was given another credential": connection.ErrCredentialChanged} {
		run(t, "what was read while the connection "+name+" is dropped", func(t *testing.T) {
			s := begin(t, stored(t, table))
			s.lent = err
			require.NoError(t, s.Refresh(s.ctx, system, "src"))
		})
	}
	t.Run("one that was overtaken is cut off within a second, and stores nothing", func(t *testing.T) {
		for name, current := range map[string]func(*source.Source) (*source.Source, error){
			"by its end": func(*source.Source) (*source.Source, error) { return nil, source.ErrNotFound },
			"by a new mapping": func(src *source.Source) (*source.Source, error) {
				c := *src
				c.Revision++
				return &c, nil
			},
		} {
			run(t, name, func(t *testing.T) {
				s, src := newEnv(t), stored(t, table)
				s.expectBegun(src)
				s.sources.EXPECT().Get(gomock.Any(), acme,
					source.ID("src")).DoAndReturn(func(context.Context, identity.WorkspaceID,
					source.ID) (*source.Source, error) {
					return current(src)
				})
				s.expectLiveWorkspace()
				start := time.Now()
				s.warehouse.EXPECT().Preview(gomock.Any(), gomock.Any(),
					gomock.Any()).DoAndReturn(func(ctx context.Context, _ ports.Target,
					_ connection.PreviewQuery) (connection.Preview, error) {
					<-ctx.Done()
					return connection.Preview{}, connection.QueryTimeout
				})
				require.NoError(t, s.Refresh(s.ctx, system, "src"))
				if took := time.Since(start); took > time.Second {
					t.Errorf("it took %s", took)
				}
			})
		}
	})
	run(t, "one whose source changed at the last moment queues nothing", func(t *testing.T) {
		src := stored(t, table)
		s := begin(t, src)
		s.expectRefreshed(counted, nil)
		changedSource := *src
		changedSource.Revision++
		s.expectAtomic()
		s.expectUpdate(&changedSource)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
		if !changedSource.LastRefreshedAt.IsZero() {
			t.Error("it was stored")
		}
	})
	run(t, "a sheet's first reading through a connection is recorded, unless the connection has been revoked",
		func(t *testing.T) {
			for status, want := range map[connection.Status]connection.ID{connection.Active: "con_google",
				connection.Revoked: ""} {
				src := stored(t, bookAt)
				s := begin(t, src)
				s.expectGoogles()
				s.expectSheet(aSheet(), nil)
				s.expectAtomic()
				s.expectHeld("con_google", status)
				if status == connection.Active {
					s.expectUpdate(src)
					s.expectQueued(day)
				}
				require.NoError(t, s.Refresh(s.ctx, system, "src"))
				if src.Location.Connection != want || src.LastRefreshedAt.IsZero() != (want == "") {
					t.Errorf("%s: %+v", status, src)
				}
			}
		})
	run(t, "from then on it is read by that one, which need not be held", func(t *testing.T) {
		src := stored(t, throughGoogle(bookAt))
		s := begin(t, src)
		s.expectSheet(aSheet(), nil)
		s.expectAtomic()
		s.expectUpdate(src)
		s.expectQueued(day)
		require.NoError(t, s.Refresh(s.ctx, system, "src"))
	})
	run(t, "an outage comes out, after the next one is queued", func(t *testing.T) {
		src := stored(t, table)
		s := begin(t, src)
		s.expectRefreshed(counted, nil)
		s.atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).Return(errOutage)
		err := s.Refresh(s.ctx, system, "src")
		require.ErrorIs(t, err, errOutage)
		if job.IsFinal(err) {
			t.Error("it is not tried again")
		}
	})
	run(t, "one for which there is no room is postponed, and says nothing of the source", func(t *testing.T) {
		for name, location := range map[string]source.Location{"a table": table, "a sheet": sheetAt} {
			s := begin(t, stored(t, location))
			if location == table {
				s.expectRefreshed(connection.Preview{}, connection.ErrTooManyReads)
			} else {
				s.expectSheet(source.Sheet{}, connection.ErrTooManyReads)
			}
			if err := s.Refresh(s.ctx, system, "src"); !job.IsPostponed(err) {
				t.Errorf("%s: error = %v", name, err)
			}
		}
	})
	run(t, "a refresh that its worker cuts short says nothing of the source", func(t *testing.T) {
		s := begin(t, stored(t, sheetAt))
		ctx, cancel := context.WithCancel(s.ctx)
		s.sheets.EXPECT().Preview(gomock.Any(), acme, gomock.Any()).Do(func(any, any, any) { cancel() }).Return(
			source.Sheet{}, source.ErrSheetTimeout)
		require.ErrorIs(t, s.Refresh(ctx, system, "src"), context.Canceled)
	})
}
