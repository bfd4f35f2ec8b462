package accounts_test

import (
	"context"
	"errors"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	ops   = identity.Actor{Org: "org", User: "ops", Operator: true, Ceiling: identity.Owner, At: now, Workspace: "acme"}
	plain = identity.Actor{Org: "org", User: "ops", Ceiling: identity.Owner, At: now}
)

func TestSearchPeople(t *testing.T) {
	q := page.Query{Limit: 5}
	t.Run("an operator finds people by words", func(t *testing.T) {
		s := newEnv(t)
		f := account.PeopleFilter{Words: []string{"ada", "lo"}, Status: account.PersonActive}
		s.people.EXPECT().Search(s.ctx, identity.OrgID("org"), f, now, q).
			Return(account.PersonPage{Items: []account.PersonSummary{{Keys: 3}}}, nil)
		got, err := s.SearchPeople(s.ctx, ops, "Lo ADA", account.PersonActive, q)
		require.NoError(t, err)
		if len(got.Items) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a text without words finds no one", func(t *testing.T) {
		got, err := newEnv(t).SearchPeople(context.Background(), ops, "?!", "", q)
		require.NoError(t, err)
		if len(got.Items) != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("others find no one", func(t *testing.T) {
		s := newEnv(t)
		_, err := s.SearchPeople(s.ctx, plain, "", "", q)
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.Person(s.ctx, plain, "ann")
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.Erasure(s.ctx, plain, "ann")
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.ErasePerson(s.ctx, plain, "ann")
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
}

func TestErasePerson(t *testing.T) {
	boom := errors.New("boom")
	leaver := func() *account.Leaver {
		return &account.Leaver{
			Access: &account.Access{
				User: &account.User{ID: "ann", Org: "org", Name: "Ann Lee"}, Operators: []identity.UserID{"ops"},
			},
			Workspaces: []*account.Workspace{{
				ID: "acme", Org: "org", Owners: 2,
				Members: map[identity.UserID]account.Member{"ann": {User: "ann", Role: identity.Owner}},
			}},
		}
	}
	for name, tt := range map[string]struct {
		present bool
		failing error
	}{
		"a person with a presence": {true, nil}, "one without": {false, nil}, "a failing store": {false, boom},
	} {
		t.Run(name, func(t *testing.T) {
			outer := newEnv(t)
			s := outer.expectAtomically(t, 1)
			l := leaver()
			anywhere := ops
			anywhere.Workspace = ""
			s.erasures.EXPECT().Erase(s.ctx, anywhere, identity.UserID("ann"), gomock.Any()).DoAndReturn(
				func(_ context.Context, _ identity.Actor, _ identity.UserID,
					change func(*account.Leaver) (*account.Erasure, error)) error {
					if tt.failing != nil {
						return tt.failing
					}
					_, err := change(l)
					return err
				})
			var jobs []job.Job
			s.jobs.EXPECT().Enqueue(s.ctx, gomock.Any()).AnyTimes().DoAndReturn(func(_ context.Context,
				j job.Job) error {
				jobs = append(jobs, j)
				return nil
			})
			record := presence.New("org", "ann", "prs")
			record.Default.Text = "Ann Lee is out"
			if tt.failing == nil {
				missing := error(nil)
				if !tt.present {
					missing = presence.ErrNotFound
				}
				s.presences.EXPECT().ByUser(s.ctx, identity.OrgID("org"), identity.UserID("ann")).
					Return(record, missing)
			}
			if tt.present {
				s.presences.EXPECT().Update(s.ctx, identity.OrgID("org"), []identity.UserID{"ann"},
					gomock.Any()).DoAndReturn(
					func(_ context.Context, _ identity.OrgID, _ []identity.UserID,
						change func(*presence.Record) error) ([]*presence.Record, error) {
						return nil, change(record)
					})
			}
			e, err := outer.ErasePerson(outer.ctx, ops, "ann")
			require.ErrorIs(t, err, tt.failing)
			if tt.failing != nil {
				return
			}
			last := jobs[len(jobs)-1]
			if e.User != "ann" || !l.User.Erased() || last.Kind != account.EraseJob || last.Subject != "ann" ||
				last.Workspace != "" {
				t.Errorf("erased %+v, queued %+v", e, jobs)
			}
			if tt.present != (record.Default.Text == "") {
				t.Errorf("the presence says %q", record.Default.Text)
			}
		})
	}
}

func TestCompleteErasure(t *testing.T) {
	s := newEnv(t)
	s.erasures.EXPECT().CompleteErasure(s.ctx, identity.OrgID("org"), identity.UserID("ann"), now).Return(nil)
	by := identity.System("org", "", "job", now)
	require.NoError(t, s.CompleteErasure(s.ctx, by, "ann"))
}

func TestExports(t *testing.T) {
	emit := func(account.ExportSection) error { return nil }
	key := ops
	key.Key = "key"
	for name, tt := range map[string]struct {
		by   identity.Actor
		self bool
		user identity.UserID // empty: refused
	}{
		"an operator exports a person":       {ops, false, "ann"},
		"the system does":                    {system, false, "ann"},
		"another person does not":            {plain, false, ""},
		"but exports their own data":         {plain, true, "ops"},
		"not by an API key of one workspace": {key, true, ""},
		"the system has no data of its own":  {system, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			want := error(identity.ErrForbidden)
			if tt.user != "" {
				want = nil
				s.erasures.EXPECT().Export(s.ctx, identity.OrgID("org"), tt.user, gomock.Any()).Return(nil)
			}
			if tt.self {
				require.ErrorIs(t, s.ExportMe(s.ctx, tt.by, emit), want)
			} else {
				require.ErrorIs(t, s.ExportPerson(s.ctx, tt.by, "ann", emit), want)
			}
		})
	}
}
