package accounts_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	now       = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	member    = actor("ann", identity.Member)
	admin     = actor("ada", identity.Admin)
	system    = identity.System("org", "", "cli", now)
	errOutage = errors.New("the store is away")

	here  = account.Workspace{ID: "acme", Org: "org", Slug: "acme-slug"}
	there = account.Workspace{ID: "other", Org: "org", Slug: "other-slug"}
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// env is a Service on mocked ports. A call that a test does not expect fails it.
type env struct {
	*accounts.Service
	atomic      *mocks.MockAtomic
	users       *mocks.MockUsers
	people      *mocks.MockPeople
	erasures    *mocks.MockErasures
	workspaces  *mocks.MockWorkspaces
	invitations *mocks.MockInvitations
	keys        *mocks.MockKeys
	events      *mocks.MockEvents
	noted       *[]event.Note
	chats       *mocks.MockChats // only in a transaction
	connections *mocks.MockConnections
	payments    *mocks.MockPayments
	jobs        *mocks.MockJobs // only in a transaction
	presences   *mocks.MockPresences
	mailer      *mocks.MockMailer
	limits      *account.MailLimits
	failed      *[]error // why invitations were not mailed
	usage       *mocks.MockUsage
	used        quota.Amounts               // of the workspace, which may have one member
	captures    *mocks.MockCaptures         // only in a transaction
	provided    *mocks.MockProviderSessions // only in a transaction
	ctx         context.Context

	endCheckouts func(context.Context, identity.Actor) (bool, error)
}

type ctxKey struct{}

func newEnv(t *testing.T) *env {
	c := gomock.NewController(t)
	s := &env{
		atomic: mocks.NewMockAtomic(c), users: mocks.NewMockUsers(c), people: mocks.NewMockPeople(c),
		erasures:   mocks.NewMockErasures(c),
		workspaces: mocks.NewMockWorkspaces(c), invitations: mocks.NewMockInvitations(c), keys: mocks.NewMockKeys(c),
		events: mocks.NewMockEvents(c), chats: mocks.NewMockChats(c), connections: mocks.NewMockConnections(c),
		payments: mocks.NewMockPayments(c), presences: mocks.NewMockPresences(c),
		ctx:          context.WithValue(t.Context(), ctxKey{}, "the caller's own"),
		endCheckouts: func(context.Context, identity.Actor) (bool, error) { return false, nil },
	}
	s.jobs, s.captures, s.provided = mocks.NewMockJobs(c), mocks.NewMockCaptures(c), mocks.NewMockProviderSessions(c)
	s.noted = new([]event.Note)
	notes := mocks.NewMockNotes(c)
	notes.EXPECT().Note(s.ctx, gomock.Any()).Do(func(_ context.Context, n event.Note) {
		*s.noted = append(*s.noted, n)
	}).AnyTimes()
	s.mailer, s.failed = mocks.NewMockMailer(c), new([]error)
	mails := &accounts.InvitationMailer{
		Mailer: s.mailer,
		Limits: account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1},
		Failed: func(_ context.Context, _ account.InvitationID, err error) { *s.failed = append(*s.failed, err) },
	}
	s.limits = &mails.Limits
	s.Service = accounts.NewService(
		s.atomic,
		ports.AccountStores{
			Users: s.users, People: s.people, Erasures: s.erasures, Workspaces: s.workspaces,
			Invitations: s.invitations, Keys: s.keys,
		},
		accounts.Deps{
			Events:         s.events,
			Notes:          notes,
			GatewayAccount: func(identity.OrgID) string { return "sandbox" },
			Mails:          mails,
			Quotas: func(_ context.Context, by identity.Actor) (quota.Limits, error) {
				if by.Workspace != "acme" {
					t.Errorf("the quotas of %s were asked for", by.Workspace)
				}
				return quota.Limits{Amounts: quota.Amounts{Members: 1}}, nil
			},
			EndCheckouts: func(ctx context.Context, by identity.Actor) (bool, error) { return s.endCheckouts(ctx, by) },
		},
	)
	s.usage = mocks.NewMockUsage(c)
	s.usage.EXPECT().Lock(gomock.Any(), identity.WorkspaceID("acme")).AnyTimes()
	s.usage.EXPECT().Amounts(gomock.Any(), identity.WorkspaceID("acme"), now).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	return s
}

// expectEffect expects an effect of a use case, and returns the commit, which runs it.
func (s *env) expectEffect() (commit func()) {
	var effect func()
	s.atomic.EXPECT().AfterCommit(gomock.Any()).Do(func(f func()) { effect = f })
	return func() { effect() }
}

// expectAtomically runs fn on the transaction's own stores, a number of times.
func (s *env) expectAtomically(t *testing.T, times int) (tx *env) {
	tx = newEnv(t)
	tx.ctx, tx.used = s.ctx, s.used
	s.atomic.EXPECT().Atomically(s.ctx,
		gomock.Any()).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) (err error) {
		for range times {
			if err = fn(ports.Stores{
				AccountStores: ports.AccountStores{
					Users: tx.users, Workspaces: tx.workspaces, Invitations: tx.invitations, Keys: tx.keys,
					Erasures: tx.erasures, Captures: tx.captures,
				},
				ChatStores:       ports.ChatStores{Chats: tx.chats},
				ConnectionStores: ports.ConnectionStores{Connections: tx.connections},
				PaymentStores:    ports.PaymentStores{Payments: tx.payments, Usage: tx.usage},
				Jobs:             tx.jobs,
				Presences:        tx.presences,
				SessionStores:    ports.SessionStores{ProviderSessions: tx.provided},
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return tx
}

// expectUpdateKey runs a change twice, on fresh keys, as stores do after a conflict.
func (s *env) expectUpdateKey(by identity.Actor, current, newKey **account.Key) {
	s.keys.EXPECT().Update(s.ctx, by, identity.KeyID("k"), gomock.Any()).DoAndReturn(
		func(_ context.Context, by identity.Actor, _ identity.KeyID,
			change func(*account.Workspace, *account.Key, []*account.Key) error) (k *account.Key, err error) {
			for range 2 {
				k = key(by.Workspace)
				*current, *newKey = k, key(by.Workspace)
				w := acme()
				w.ID = by.Workspace
				if err := change(w, k, []*account.Key{*newKey}); err != nil {
					return nil, err
				}
			}
			return k, nil
		})
}

// expectAddKey runs the function that creates a key for user twice, and records what would be stored.
func (s *env) expectAddKey(by identity.Actor, user identity.UserID, bearer **account.User,
	storedKey **account.Key) *gomock.Call {
	return s.keys.EXPECT().Add(s.ctx, by, user, gomock.Any()).DoAndReturn(
		func(_ context.Context, by identity.Actor, user identity.UserID,
			change func(*account.Workspace) (*account.User, *account.Key, error)) (err error) {
			for range 2 { // the second run must not depend on the first
				w := acme()
				w.ID = by.Workspace
				if by.User == "" {
					w.Members[user] = account.Member{User: user, Role: identity.Admin}
				}
				if *bearer, *storedKey, err = change(w); err != nil {
					return err
				}
			}
			return nil
		})
}

func key(ws identity.WorkspaceID) *account.Key {
	return &account.Key{ID: "k", Org: "org", Workspace: ws, User: "ann", Name: "laptop", Ceiling: identity.Member,
		Revision: 1}
}

func TestAuthenticate(t *testing.T) {
	token := account.NewToken()
	for name, tt := range map[string]struct {
		token string
		found *account.Principal
		err   error // of the store
		want  error
	}{
		"a live key of a member": {token.Reveal(), &account.Principal{Membership: account.Membership{Role: identity.Viewer}}, nil, nil},
		"a revoked key":          {token.Reveal(), &account.Principal{Membership: account.Membership{Role: identity.Owner}, Key: account.Key{RevokedAt: now.Add(-1)}}, nil, identity.ErrUnauthenticated},
		"an expired key":         {token.Reveal(), &account.Principal{Membership: account.Membership{Role: identity.Owner}, Key: account.Key{ExpiresAt: now}}, nil, identity.ErrUnauthenticated},
		"who has left":           {token.Reveal(), &account.Principal{}, nil, identity.ErrUnauthenticated},
		"an unknown key":         {token.Reveal(), nil, identity.ErrUnauthenticated, identity.ErrUnauthenticated},
		"garbage":                {"garbage", nil, nil, identity.ErrUnauthenticated},
		"a typo":                 {token.Reveal()[:52] + "!", nil, nil, identity.ErrUnauthenticated},
		"nothing":                {"", nil, nil, identity.ErrUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			if tt.found != nil || tt.err != nil { // only a well-formed token is looked up
				s.keys.EXPECT().Principal(s.ctx, identity.OrgID("org"), token.Hash()).Return(tt.found, tt.err)
			}
			got, err := s.Authenticate(s.ctx, open, tt.token, now)
			require.ErrorIs(t, err, tt.want)
			if got != tt.found { // a refused key's principal is returned too
				t.Errorf("Authenticate = %+v", got)
			}
		})
	}
}

func TestFind(t *testing.T) {
	s := newEnv(t)
	u := &account.User{ID: "ann"}
	s.users.EXPECT().FindByEmail(s.ctx, identity.OrgID("org"), "ann@example.com").Return(u, nil, nil)
	if got, _, err := s.Find(s.ctx, system, "ann@example.com"); err != nil || got != u {
		t.Fatalf("Find = %+v, %v", got, err)
	}
}

func TestChangeMe(t *testing.T) {
	s := newEnv(t)
	s.users.EXPECT().Update(s.ctx, identity.OrgID("org"), identity.UserID("ann"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.OrgID, _ identity.UserID,
			change func(*account.User, []account.Membership) error) (u *account.User, err error) {
			for range 2 {
				u = &account.User{ID: "ann", Revision: 1}
				if err := change(u, []account.Membership{{Workspace: here}}); err != nil {
					return nil, err
				}
			}
			return u, nil
		})
	got, in, err := s.ChangeMe(s.ctx, member, revision.Match{1}, account.UserChanges{DefaultWorkspace: &here.ID})
	if err != nil || got.DefaultWorkspace != "acme" || got.Revision != 2 {
		t.Fatalf("ChangeMe = %+v, %v", got, err)
	}
	if len(in) != 1 || in[0].Workspace.ID != here.ID {
		t.Errorf("the memberships are %+v", in)
	}
}

func TestWorkspace(t *testing.T) {
	for name, tt := range map[string]struct {
		in   bool
		want error
	}{"one of the caller's": {true, nil}, "one that is not the caller's": {false, identity.ErrWorkspaceNotFound}} {
		t.Run(name, func(t *testing.T) {
			s, w := newEnv(t), there
			if tt.in {
				w.Members = map[identity.UserID]account.Member{"ann": {User: "ann", Role: identity.Viewer}}
			}
			s.workspaces.EXPECT().Get(s.ctx, member, identity.WorkspaceID("other")).Return(&w, nil)
			got, err := s.Workspace(s.ctx, member, "other")
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && got.ID != "other" {
				t.Errorf("Workspace = %+v", got)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	q := page.Query{Limit: 5}
	for name, tt := range map[string]struct {
		by   identity.Actor
		user identity.UserID
	}{
		"a member asks for their own": {member, "ann"}, "an admin for all": {admin, ""},
		"an owner for all":       {actor("bob", identity.Owner), ""},
		"a viewer for their own": {actor("vic", identity.Viewer), "vic"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			want := account.KeyPage{Items: []account.Key{*key("acme")}, Next: "n"}
			s.keys.EXPECT().List(s.ctx, identity.WorkspaceID("acme"), tt.user, now, q).Return(want, nil)
			if got, err := s.Keys(s.ctx, tt.by, q); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("Keys = %+v, %v", got, err)
			}
		})
	}
}

func TestKey(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"whose it is reads it": {member, nil}, "an admin reads it": {admin, nil},
		"another member is told nothing": {actor("bob", identity.Member), account.ErrKeyNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			s.keys.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), identity.KeyID("k")).Return(key("acme"), nil)
			got, err := s.Key(s.ctx, tt.by, "k")
			require.ErrorIs(t, err, tt.want)
			if (got != nil) != (tt.want == nil) {
				t.Errorf("Key = %+v", got)
			}
		})
	}
}

func TestCreateKey(t *testing.T) {
	t.Run("what is answered is what was stored, with its token", func(t *testing.T) {
		s := newEnv(t)
		var storedKey *account.Key
		var bearer *account.User
		s.expectAddKey(member, "ann", &bearer, &storedKey)
		k, token, err := s.CreateKey(s.ctx, member, open, account.KeyDraft{Name: "k"})
		if err != nil || bearer != nil || k != storedKey || k.Hash != token.Hash() || k.User != "ann" ||
			k.Workspace != "acme" {
			t.Fatalf("CreateKey = %+v, %v", k, err)
		}
	})
	t.Run("what breaks a rule is not stored", func(t *testing.T) {
		s := newEnv(t)
		var storedKey *account.Key
		var bearer *account.User
		s.expectAddKey(member, "ann", &bearer, &storedKey)
		k, token, err := s.CreateKey(s.ctx, member, open, account.KeyDraft{Name: "k", Ceiling: identity.Owner})
		require.ErrorIs(t, err, identity.ErrRoleCeiling)
		if k != nil || !token.IsZero() {
			t.Error("there is a key all the same")
		}
	})
}

func TestRevokeKey(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"whose it is revokes it":         {member, revision.Match{1}, nil},
		"another revision was meant":     {member, revision.Match{9}, revision.ErrMismatch},
		"another person is told nothing": {actor("mia", identity.Member), nil, account.ErrKeyNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEnv(t)
			var current, key *account.Key
			s.expectUpdateKey(tt.by, &current, &key)
			require.ErrorIs(t, s.RevokeKey(s.ctx, tt.by, "k", tt.at), tt.want)
			if current.RevokedAt.IsZero() == (tt.want == nil) || key.RevokedAt != current.RevokedAt {
				t.Errorf("key = %+v, and made by it %+v", current, key)
			}
		})
	}
}

func TestRevokeKeyOf(t *testing.T) {
	s := newEnv(t)
	var current, key *account.Key
	s.workspaces.EXPECT().Find(s.ctx, identity.OrgID("org"), "other-slug").Return(&there, nil)
	by := system
	by.Workspace = "other"
	s.expectUpdateKey(by, &current, &key)
	require.NoError(t, s.RevokeKeyOf(s.ctx, system, "other-slug", "k"))
	if current.RevokedAt != now {
		t.Errorf("key = %+v", current)
	}
}

func TestRefusalsAreNoted(t *testing.T) {
	s := newEnv(t)
	s.NoteRefusal(s.ctx, member, "createAPIKey", false, identity.ErrRoleCeiling)
	if len(*s.noted) != 1 || (*s.noted)[0].Type != "access.refused" ||
		(*s.noted)[0].Data["operation"] != "createAPIKey" {
		t.Fatalf("noted %+v", *s.noted)
	}
	s = newEnv(t)
	s.NoteRefusal(s.ctx, member, "updateWorkspace", false, identity.ErrForbidden)
	if len(*s.noted) != 1 || (*s.noted)[0].IsRecordable() {
		t.Fatalf("noted %+v", *s.noted)
	}
}
