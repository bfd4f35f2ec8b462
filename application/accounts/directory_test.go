package accounts_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
)

// directing is a Directory on mocked ports, which note what happens.
type directing struct {
	*accounts.Directory
	store *mocks.MockDirectoryUsers
	org   *identity.Org
	by    identity.Actor
	did   []string
	roles map[identity.UserID]error // what settling a person's roles returns

	together map[string]bool // subjects that SignInLinked settles
}

func newDirecting(t *testing.T) *directing {
	c := gomock.NewController(t)
	s := &directing{store: mocks.NewMockDirectoryUsers(c), by: identity.System("org", "", "scim", now),
		org: &identity.Org{ID: "org", SCIM: &identity.SCIM{}}, roles: map[identity.UserID]error{},
		together: map[string]bool{}}
	users, people, atomic := mocks.NewMockUsers(c), mocks.NewMockPeople(c), mocks.NewMockAtomic(c)
	users.EXPECT().SignIn(gomock.Any(), identity.OrgID("org"), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, in account.SignIn, settle func(*account.SignIn) error) (
			*account.Person, error,
		) {
			id := identity.UserID(in.Claims.Subject)
			if strings.HasPrefix(in.Claims.Subject, "dus_") {
				id = "new"
			}
			if in.Org.SignUp != identity.SignUpOpen || in.Claims.Issuer != identity.SCIMIssuer {
				t.Errorf("signed in %+v", in)
			}
			s.did = append(s.did, "roles of "+string(id))
			if err := s.roles[id]; err != nil {
				return nil, err
			}
			in.Linked = &account.User{ID: id, Org: "org"}
			return &account.Person{User: *in.Linked}, settle(&in)
		})
	linked := mocks.NewMockLinkedSignIns(c)
	linked.EXPECT().SignInLinked(gomock.Any(), identity.OrgID("org"), gomock.Any(), gomock.Any()).AnyTimes().
		DoAndReturn(
			func(_ context.Context, _ identity.OrgID, all []account.SignIn, settle func(*account.SignIn) error) (
				others []account.SignIn, _ error,
			) {
				for _, in := range all {
					if !s.together[in.Claims.Subject] {
						others = append(others, in)
						continue
					}
					in.Linked = &account.User{ID: identity.UserID(in.Claims.Subject), Org: "org"}
					if err := settle(&in); err != nil {
						return nil, err
					}
				}
				return others, nil
			})
	people.EXPECT().ChangeAccess(gomock.Any(), s.by, gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, id identity.UserID, change func(*account.Access) error) error {
			for _, isDisabled := range []bool{false, true} {
				a := account.Access{User: &account.User{ID: id, Org: "org"}}
				if isDisabled {
					a.User.DisabledAt = now
				}
				if err := change(&a); err != nil {
					return err
				}
				if isDisabled && a.User.Enabled() {
					s.did = append(s.did, "enable "+string(id))
				} else if !isDisabled && !a.User.Enabled() {
					s.did = append(s.did, "disable "+string(id))
				}
			}
			return nil
		})
	s.store.EXPECT().SaveUser(gomock.Any(), s.by, gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, u *account.DirectoryUser) error {
			s.did = append(s.did, "save "+string(u.ID))
			return nil
		})
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, fn func(ports.Stores) error) error {
			return fn(ports.Stores{
				DirectoryStores: ports.DirectoryStores{DirectoryUsers: s.store},
				AccountStores:   ports.AccountStores{Users: users, People: people, LinkedSignIns: linked},
			})
		})
	s.Directory = accounts.NewDirectory(atomic, ports.DirectoryStores{
		DirectoryUsers: s.store, DirectoryGroups: mocks.NewMockDirectoryGroups(c),
	}, nil, nil, mocks.NewMockMailer(c), nil)
	return s
}

func annListed(active bool) *account.DirectoryUser {
	return &account.DirectoryUser{ID: "ann", Org: "org", Subject: "ann",
		DirectoryPerson: account.DirectoryPerson{UserName: "ann", Active: active}}
}

func anyVersion(*account.DirectoryUser) error { return nil }

func TestAnAccountFollowsWhatTheDirectorySays(t *testing.T) {
	change := func(isTarget bool) func(*directing) error {
		return func(s *directing) error {
			_, err := s.ChangeUser(t.Context(), s.by, s.org, "ann",
				func(u *account.DirectoryUser) (account.DirectoryPerson, error) {
					p := u.DirectoryPerson
					p.Active = isTarget
					return p, nil
				})
			return err
		}
	}
	for name, tt := range map[string]struct {
		was  bool
		do   func(*directing) error
		want []string
	}{
		"active as before": {true, change(true), []string{"save ann", "roles of ann"}},
		"deactivated":      {true, change(false), []string{"save ann", "disable ann"}},
		"activated":        {false, change(true), []string{"save ann", "enable ann", "roles of ann"}},
		"still inactive":   {false, change(false), []string{"save ann"}},
		"removed": {true, func(s *directing) error { return s.RemoveUser(t.Context(), s.by, s.org, "ann", anyVersion) },
			[]string{"save ann", "roles of ann", "disable ann"}},
		"removed while inactive": {false, func(s *directing) error {
			return s.RemoveUser(t.Context(), s.by, s.org, "ann", anyVersion)
		}, []string{"save ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDirecting(t)
			ann := annListed(tt.was)
			s.store.EXPECT().User(gomock.Any(), identity.OrgID("org"), ann.ID).Return(ann, nil)
			if err := tt.do(s); err != nil || !slices.Equal(s.did, tt.want) {
				t.Errorf("%q, %v", s.did, err)
			}
		})
	}
}

func TestADirectoryAddsUsers(t *testing.T) {
	add := func(s *directing, active bool) (*account.DirectoryUser, error) {
		return s.AddUser(t.Context(), s.by, s.org, account.DirectoryPerson{UserName: "ann", Active: active})
	}
	t.Run("who is new gets an account, disabled if inactive", func(t *testing.T) {
		for active, want := range map[bool][]string{true: {"roles of new"}, false: {"roles of new", "disable new"}} {
			s := newDirecting(t)
			s.store.EXPECT().UserNamed(gomock.Any(), identity.OrgID("org"), "ann").Return(nil,
				account.ErrDirectoryUserNotFound)
			s.store.EXPECT().AddUser(gomock.Any(), s.by, gomock.Any())
			if u, err := add(s, active); err != nil || u.ID != "new" || !slices.Equal(s.did, want) {
				t.Errorf("%+v, %q, %v", u, s.did, err)
			}
		}
	})
	t.Run("who was removed returns to the account", func(t *testing.T) {
		s, ann := newDirecting(t), annListed(false)
		ann.Remove(s.by)
		s.store.EXPECT().UserNamed(gomock.Any(), identity.OrgID("org"), "ann").Return(ann, nil)
		u, err := add(s, true)
		if want := []string{"save ann", "enable ann", "roles of ann"}; err != nil || u.ID != "ann" ||
			!slices.Equal(s.did, want) {
			t.Errorf("%+v, %q, %v", u, s.did, err)
		}
	})
	t.Run("who is there is refused", func(t *testing.T) {
		s := newDirecting(t)
		s.store.EXPECT().UserNamed(gomock.Any(), identity.OrgID("org"), "ann").Return(annListed(true), nil)
		if _, err := add(s, true); !errors.Is(err, account.ErrDirectoryUserExists) {
			t.Error(err)
		}
	})
}

func TestOnePersonWhoCannotBeSettledHoldsUpNoOther(t *testing.T) {
	s := newDirecting(t)
	ids := []identity.UserID{"ann", "bob", "cid", "dee", "eve", "fay"}
	broken := errors.New("broken")
	s.roles["ann"], s.roles["bob"] = broken, identity.ErrUnauthenticated // an operator has disabled bob
	s.together["eve"] = true
	s.store.EXPECT().Unsettled(gomock.Any(), identity.OrgID("org"), gomock.Any(), 250).Return(ids, nil)
	s.store.EXPECT().Several(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, ids []identity.UserID) (users []account.DirectoryUser, _ error) {
			for _, id := range ids {
				if id == "dee" { // whose account has been erased since
					continue
				}
				u := annListed(true)
				u.ID, u.Subject = id, string(id)
				users = append(users, *u)
			}
			return users, nil
		})
	var settlements []identity.UserID
	s.store.EXPECT().Settle(gomock.Any(), s.by, gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, users []account.DirectoryUser, _ string) error {
			for _, u := range users {
				settlements = append(settlements, u.ID)
			}
			return nil
		})
	err := s.Settle(t.Context(), s.by, s.org)
	if !errors.Is(err, broken) || !slices.Equal(settlements, []identity.UserID{"bob", "cid", "eve", "fay"}) {
		t.Errorf("settled %q, %v", settlements, err)
	}
	if slices.Contains(s.did, "roles of eve") || !slices.Contains(s.did, "roles of cid") {
		t.Errorf("did %q", s.did)
	}
}

func TestManyPeopleAreSettledInBatches(t *testing.T) {
	s := newDirecting(t)
	var sizes []int
	remaining := 600
	s.store.EXPECT().Unsettled(gomock.Any(), identity.OrgID("org"), gomock.Any(), 250).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ string, limit int) (ids []identity.UserID, _ error) {
			for i := range min(remaining, limit) {
				id := identity.UserID(strconv.Itoa(remaining - i))
				ids, s.together[string(id)] = append(ids, id), true
			}
			return ids, nil
		})
	s.store.EXPECT().Several(gomock.Any(), identity.OrgID("org"), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.OrgID, ids []identity.UserID) (users []account.DirectoryUser, _ error) {
			for _, id := range ids {
				users = append(users, account.DirectoryUser{ID: id, Subject: string(id)})
			}
			return users, nil
		})
	s.store.EXPECT().Settle(gomock.Any(), s.by, gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, users []account.DirectoryUser, _ string) error {
			sizes, remaining = append(sizes, len(users)), remaining-len(users)
			return nil
		})
	if err := s.Settle(t.Context(), s.by, s.org); err != nil || !slices.Equal(sizes, []int{250, 250, 100}) {
		t.Errorf("%d, %v", sizes, err)
	}
}
