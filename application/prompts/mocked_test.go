package prompts_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner    = actor("ann")
	manager  = actor("max")
	viewer   = actor("vic")
	stranger = actor("sam")

	errOutage = errors.New("the store is away")
)

func actor(user identity.UserID) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: identity.Member,
		Ceiling: identity.Owner, At: now}
}

// mockedService is a Service on mocked ports. A call that a test does not expect fails it.
type mockedService struct {
	*prompts.Service
	prompts  *mocks.MockPrompts
	lists    *mocks.MockPromptLists
	feedback *mocks.MockPromptFeedback
	folders  *mocks.MockPromptFolders
	chats    *mocks.MockChatLists // in a transaction, whose other stores are those above
	users    *mocks.MockUsers
	keys     *mocks.MockKeys
	jobs     *mocks.MockJobs
	used     quota.Amounts // of the workspace, of which each limit is 1
	ctx      context.Context

	elsewhere identity.WorkspaceID // where the test may also write
}

type ctxKey struct{}

func newMocked(t *testing.T) *mockedService {
	c := gomock.NewController(t)
	s := &mockedService{prompts: mocks.NewMockPrompts(c), lists: mocks.NewMockPromptLists(c),
		chats: mocks.NewMockChatLists(c), feedback: mocks.NewMockPromptFeedback(c),
		folders: mocks.NewMockPromptFolders(c), users: mocks.NewMockUsers(c), keys: mocks.NewMockKeys(c),
		jobs: mocks.NewMockJobs(c)}
	stores := ports.PromptStores{Prompts: s.prompts, PromptLists: s.lists, PromptFeedback: s.feedback,
		PromptFolders: s.folders}
	atomic, usage := mocks.NewMockAtomic(c), mocks.NewMockUsage(c)
	run := func(_ context.Context, fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			Atomic:        atomic,
			PromptStores:  stores,
			ChatStores:    ports.ChatStores{ChatLists: s.chats},
			PaymentStores: ports.PaymentStores{Usage: usage},
			AccountStores: ports.AccountStores{Users: s.users, Keys: s.keys},
			Jobs:          s.jobs,
		})
	}
	atomic.EXPECT().Atomically(gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(run)
	atomic.EXPECT().Try(gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(run)
	usage.EXPECT().Lock(gomock.Any(), gomock.Any()).AnyTimes()
	usage.EXPECT().Amounts(gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, time.Time) (quota.Amounts, error) { return s.used, nil })
	s.lists.EXPECT().Includers(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any(),
		gomock.Any()).AnyTimes()
	s.Service = prompts.NewService(atomic, stores, s.users, func(
		_ context.Context, by identity.Actor,
	) (quota.Limits, error) {
		if by.Workspace != "acme" && by.Workspace != s.elsewhere {
			t.Errorf("the quotas of %s were asked for", by.Workspace)
		}
		return quota.Limits{Amounts: quota.Amounts{PromptTemplates: 1, PromptVersions: 1, ChatTemplates: 1,
			StorageBytes: 1}}, nil
	})
	s.ctx = context.WithValue(t.Context(), ctxKey{}, "the caller's own")
	return s
}

// template returns ann's template, which is shared with a manager and a viewer.
func template() *prompt.Template {
	return &prompt.Template{
		Resource: access.Resource{Revision: 1, Subject: access.Subject{
			Workspace: "acme", Owner: "ann", Visibility: access.Private,
			Grants: access.Grants{{User: "max", Role: access.Manager}, {User: "vic", Role: access.Viewer}},
		}},
		ID: "tpl", Name: "Greeting", Type: prompt.Text, LastNumber: 2, Compatibility: prompt.Unchecked,
		IncludeMode: prompt.Pinned,
	}
}

// recipient returns what the store knows of a user.
func recipient(user identity.UserID) prompt.Recipient {
	r := prompt.Recipient{User: user, InWorkspace: slices.Contains([]identity.UserID{"ann", "max", "vic", "sam"}, user),
		Shares: 2}
	if role := map[identity.UserID]access.Role{"max": access.Manager, "vic": access.Viewer}[user]; role != access.None {
		r.Share = &prompt.Share{User: user, Role: role, Revision: 1}
	}
	return r
}

// version returns one of the template's versions: 1 is frozen, 2 a draft.
func version(number int) *prompt.Version {
	c := prompt.Content{Text: "Hello {{name}}", Format: prompt.Mustache,
		Variables: []prompt.Variable{{Name: "name", Type: "string", Required: true}}}
	return &prompt.Version{Content: c, VersionInfo: prompt.VersionInfo{
		ID: prompt.VersionID([]string{"", "ver1", "ver2"}[number]), Template: "tpl", Number: number,
		ContentHash: c.Hash(), Frozen: number == 1, Revision: 1,
	}}
}

// uses is what a store returns of a template that chat templates use.
func uses(isUsed bool) []prompt.Use {
	if !isUsed {
		return nil
	}
	return []prompt.Use{
		{ID: "ctpl_1", Name: "Support", Owner: "ann", OwnerName: "Ann"},
		{ID: "ctpl_2", Name: "Hidden", Owner: "sam"},
		{ID: "ctpl_3", Name: "Hidden too", Owner: "ann", OwnerName: "Ann"},
	}
}

func (s *mockedService) expectLock(by identity.Actor) {
	s.prompts.EXPECT().Lock(s.ctx, by, prompt.ID("tpl"), prompt.Ref{}).Return(template(), nil, nil)
}

// The stores below run each change twice, on fresh aggregates, as stores do after a conflict.

func (s *mockedService) expectUpdate(by identity.Actor) {
	s.prompts.EXPECT().Update(s.ctx, by, prompt.ID("tpl"), gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, change func(*prompt.Template) error) (t *prompt.Template,
			err error) {
			for range 2 {
				t = template()
				if err := change(t); err != nil {
					return nil, err
				}
			}
			return t, nil
		})
}

func (s *mockedService) expectUpdateFor(by identity.Actor, user identity.UserID) *gomock.Call {
	return s.prompts.EXPECT().UpdateFor(s.ctx, by, prompt.ID("tpl"), user, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, _ identity.UserID,
			change func(*prompt.Template, prompt.Recipient) error) (t *prompt.Template, err error) {
			for range 2 {
				t = template()
				if err := change(t, recipient(user)); err != nil {
					return nil, err
				}
			}
			return t, nil
		})
}

func (s *mockedService) expectUpdateVersion(by identity.Actor, ref prompt.Ref, infoOf func() *prompt.VersionInfo) {
	s.prompts.EXPECT().UpdateVersion(s.ctx, by, prompt.ID("tpl"), ref, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
			change func(*prompt.Template, *prompt.VersionInfo) error) (t *prompt.Template, err error) {
			for range 2 {
				t = template()
				if err := change(t, infoOf()); err != nil {
					return nil, err
				}
			}
			return t, nil
		})
}

func (s *mockedService) expectEditVersion(by identity.Actor, ref prompt.Ref, versionOf func() *prompt.Version) {
	s.prompts.EXPECT().EditVersion(s.ctx, by, prompt.ID("tpl"), ref, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID, _ prompt.Ref,
			change func(*prompt.Template, *prompt.Version, prompt.Labels) error) (t *prompt.Template, err error) {
			for range 2 {
				t = template()
				if err := change(t, versionOf(), nil); err != nil {
					return nil, err
				}
			}
			return t, nil
		})
}

func (s *mockedService) expectAddVersion(by identity.Actor) {
	s.expectAdd(by, gomock.Eq(prompt.ID("tpl")))
}

// expectAddFirst expects a version of a template that the test creates.
func (s *mockedService) expectAddFirst() { s.expectAdd(owner, gomock.Not(prompt.ID("tpl"))) }

func (s *mockedService) expectAdd(by identity.Actor, id gomock.Matcher) {
	s.prompts.EXPECT().AddVersion(s.ctx, by, id, gomock.Any()).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID,
			change func(*prompt.Template, prompt.Labels) (*prompt.Version, error)) error {
			for range 2 {
				if _, err := change(template(), nil); err != nil {
					return err
				}
			}
			return nil
		})
}

func (s *mockedService) expectGet(by identity.Actor) {
	s.prompts.EXPECT().Get(s.ctx, by, prompt.ID("tpl")).Return(template(), nil)
}

func (s *mockedService) expectGetVersion(by identity.Actor, ref prompt.Ref, v *prompt.Version) {
	s.prompts.EXPECT().GetVersion(s.ctx, by, prompt.ID("tpl"), ref).Return(template().Reading(), v, nil)
}
