package chats_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner    = actor("ann", identity.Member)
	manager  = actor("max", identity.Member)
	viewer   = actor("vic", identity.Member)
	stranger = actor("sam", identity.Member)
	admin    = actor("ada", identity.Admin)

	errOutage = errors.New("the store is away")
	anything  = gomock.Any()
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// mockedService is a Service on mocked ports. A call that a test does not expect fails it.
type mockedService struct {
	*chats.Service
	atomic      *mocks.MockAtomic
	chats       *mocks.MockChats
	lists       *mocks.MockChatLists
	versions    *mocks.MockChatVersions
	users       *mocks.MockUsers
	prompts     *mocks.MockPrompts
	workspaces  *mocks.MockWorkspaces  // only in a transaction
	invitations *mocks.MockInvitations // the same
	connections *mocks.MockConnections // the same
	used        quota.Amounts          // of the workspace
	expand      func(*prompt.Version) (*prompt.Version, error)
	rolledOut   *prompt.Version // for each key; nil: no rollout runs
	registry    *chat.Registry
	mailed      *[]string // the links of invitations that were mailed
	ctx         context.Context
}

type ctxKey struct{}

func newMocked(t *testing.T) *mockedService {
	c := gomock.NewController(t)
	s := &mockedService{
		atomic: mocks.NewMockAtomic(c), chats: mocks.NewMockChats(c), lists: mocks.NewMockChatLists(c),
		versions: mocks.NewMockChatVersions(c),
		users:    mocks.NewMockUsers(c), prompts: mocks.NewMockPrompts(c), workspaces: mocks.NewMockWorkspaces(c),
		invitations: mocks.NewMockInvitations(c), connections: mocks.NewMockConnections(c),
		ctx:      context.WithValue(t.Context(), ctxKey{}, "the caller's own"),
		mailed:   new([]string),
		registry: fixture.Registry(t),
	}
	registry := func(org identity.OrgID) *chat.Registry {
		if org != "org" {
			t.Errorf("the registry of %s was asked for", org)
		}
		return s.registry
	}
	mail := func(_ context.Context, i *account.Invitation, _ *account.Workspace, url string) bool {
		*s.mailed = append(*s.mailed, i.Email+" "+url)
		return true
	}
	quotas := func(_ context.Context, by identity.Actor) (quota.Limits, error) {
		if by.Workspace != "acme" {
			t.Errorf("the quotas of %s were asked for", by.Workspace)
		}
		return quota.Limits{Amounts: quota.Amounts{ChatTemplates: 1, StorageBytes: 1, Members: 1}}, nil
	}
	s.expand = func(v *prompt.Version) (*prompt.Version, error) { return v, nil }
	expand := func(_ context.Context, _ ports.PromptVersions, _ identity.Actor, _ *prompt.Reading,
		v *prompt.Version) (*prompt.Version, error) {
		return s.expand(v)
	}
	choose := func(_ context.Context, _ ports.PromptVersions, _ identity.Actor, _ *prompt.Reading,
		v *prompt.Version, _ prompt.Ref, key string) (*prompt.Version, error) {
		if s.rolledOut == nil || key == "" {
			return v, nil
		}
		return s.rolledOut, nil
	}
	s.Service = chats.NewService(
		s.atomic,
		ports.ChatStores{Chats: s.chats, ChatLists: s.lists, ChatVersions: s.versions},
		chats.Deps{
			Users:          s.users,
			Prompts:        s.prompts,
			Registries:     registry,
			MailLimits:     account.MailLimits{WorkspacePerDay: 1, UserPerHour: 1, AddressPerDay: 1},
			MailInvitation: mail,
			Quotas:         quotas,
			Expand:         expand,
			Choose:         choose,
		},
	)
	return s
}

// organisation is an org whose people accept invitations at an address of its own.
var organisation = &identity.Org{ID: "org", AcceptURL: "https://acme.example.com/join/{token}"}

// expectEffect expects an effect of a use case, and returns the commit, which runs it.
func (s *mockedService) expectEffect() (commit func()) {
	var effect func()
	s.atomic.EXPECT().AfterCommit(anything).Do(func(f func()) { effect = f })
	return func() { effect() }
}

// expectAtomically runs fn twice on the transaction's own stores, as a store does after a conflict.
func (s *mockedService) expectAtomically(t *testing.T) (tx *mockedService) {
	tx = newMocked(t)
	tx.ctx = s.ctx
	usage := mocks.NewMockUsage(gomock.NewController(t))
	usage.EXPECT().Lock(s.ctx, identity.WorkspaceID("acme")).AnyTimes()
	usage.EXPECT().Amounts(s.ctx, identity.WorkspaceID("acme"), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	s.atomic.EXPECT().Atomically(s.ctx,
		anything).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) (err error) {
		for range 2 {
			stores := ports.Stores{
				ChatStores: ports.ChatStores{Chats: tx.chats, ChatLists: tx.lists},
				AccountStores: ports.AccountStores{
					Users: tx.users, Workspaces: tx.workspaces, Invitations: tx.invitations,
				},
				PromptStores:     ports.PromptStores{Prompts: tx.prompts},
				ConnectionStores: ports.ConnectionStores{Connections: tx.connections},
				PaymentStores:    ports.PaymentStores{Usage: usage},
			}
			if err = fn(stores); err != nil {
				return err
			}
		}
		return nil
	})
	return tx
}

// expectTransaction runs fn on the service's own stores.
func (s *mockedService) expectTransaction(t *testing.T) {
	usage := mocks.NewMockUsage(gomock.NewController(t))
	usage.EXPECT().Lock(s.ctx, identity.WorkspaceID("acme")).AnyTimes()
	usage.EXPECT().Amounts(s.ctx, identity.WorkspaceID("acme"), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	s.atomic.EXPECT().Atomically(s.ctx,
		anything).DoAndReturn(func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			ChatStores:    ports.ChatStores{Chats: s.chats},
			PaymentStores: ports.PaymentStores{Usage: usage},
		})
	})
}

// template returns ann's template, with a manager, a viewer, and an invited member.
func template() *chat.Template {
	return &chat.Template{
		Resource: access.Resource{Revision: 1, Subject: access.Subject{
			Workspace: "acme", Owner: "ann", Visibility: access.Private,
			Grants: access.Grants{{User: "max", Role: access.Manager}, {User: "vic", Role: access.Viewer}},
		}},
		ID: "ctpl", Content: chat.Content{Name: "Support"}, Status: chat.StatusDraft,
	}
}

// party returns what the store knows of a user.
func party(user identity.UserID) chat.Party {
	p := chat.Party{User: user, InWorkspace: slices.Contains([]identity.UserID{"max", "vic", "sam"}, user), Members: 3}
	if m, ok := map[identity.UserID]chat.Member{
		"max": {User: "max", Role: access.Manager, Revision: 1}, "vic": {User: "vic", Role: access.Viewer, Revision: 1},
		"usr_1": {User: "usr_1", Role: access.Viewer, Invited: true, Email: "guest@example.com", Revision: 1},
	}[user]; ok {
		p.Member = &m
	}
	return p
}

// expectUpdate runs a change twice, on fresh templates. after is the template of the last run.
func (s *mockedService) expectUpdate(by identity.Actor, current **chat.Template) *gomock.Call {
	return s.chats.EXPECT().Update(s.ctx, by, chat.ID("ctpl"), anything).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ chat.ID, change func(*chat.Template) error) (*chat.Template,
			error) {
			for range 2 {
				*current = template()
				if err := change(*current); err != nil {
					return nil, err
				}
			}
			return *current, nil
		})
}

// expectUpdateFor is expectUpdate for a change that names users.
func (s *mockedService) expectUpdateFor(by identity.Actor, users []identity.UserID,
	current **chat.Template) *gomock.Call {
	return s.chats.EXPECT().UpdateFor(s.ctx, by, chat.ID("ctpl"), users, anything).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ chat.ID, _ []identity.UserID,
			change func(*chat.Template, []chat.Party) error) (*chat.Template, error) {
			for range 2 {
				*current = template()
				var parties []chat.Party
				for _, user := range users {
					parties = append(parties, party(user))
				}
				if err := change(*current, parties); err != nil {
					return nil, err
				}
			}
			return *current, nil
		})
}

func (s *mockedService) expectGet(by identity.Actor) {
	s.chats.EXPECT().Get(s.ctx, by, chat.ID("ctpl")).Return(template(), nil)
}

// expectMember returns the id of the requested member of the workspace.
func (s *mockedService) expectMember(user identity.UserID, email string, actualUser identity.UserID) {
	s.users.EXPECT().Member(s.ctx, identity.WorkspaceID("acme"), user, email).Return(actualUser, nil)
}

// expectPrompt lets by lock ptpl, which is ann's, with the version that ref names.
func (s *mockedService) expectPrompt(by identity.Actor, ref prompt.Ref, v *prompt.VersionInfo) {
	p := &prompt.Template{ID: "ptpl",
		Resource: access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann",
			Visibility: access.Workspace}}}
	s.prompts.EXPECT().Lock(s.ctx, by, prompt.ID("ptpl"), ref).Return(p, v, nil).MinTimes(1)
}

// acme returns the workspace, whose admin is ada.
func acme() *account.Workspace {
	return &account.Workspace{ID: "acme", Org: "org", Name: "Acme",
		Members: map[identity.UserID]account.Member{"ada": {User: "ada", Role: identity.Admin}}}
}
