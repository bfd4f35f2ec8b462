package chats_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestList(t *testing.T) {
	s := newMocked(t)
	f, q := chat.Filter{Query: "x"}, page.Query{After: "a", Limit: 5}
	want := chat.Page{Items: []chat.Summary{template().Summary()}, Next: "b"}
	s.lists.EXPECT().Visible(s.ctx, owner, f, q).Return(want, nil)
	if got, err := s.List(s.ctx, owner, f, q); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("List = %+v, %v", got, err)
	}
}

func TestRegistry(t *testing.T) {
	if r := newMocked(t).Registry(owner); len(r.Agents) != 2 {
		t.Errorf("registry %+v", r)
	}
}

func TestGet(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a viewer reads it": {viewer, nil}, "a stranger is told nothing": {stranger, chat.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			_, err := s.Get(s.ctx, tt.by, "ctpl")
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestCreate(t *testing.T) {
	t.Run("what is made is stored", func(t *testing.T) {
		s := newMocked(t)
		s.expectTransaction(t)
		var storedTemplate *chat.Template
		s.chats.EXPECT().Add(s.ctx, anything).DoAndReturn(func(_ context.Context, c *chat.Template) error {
			storedTemplate = c
			return nil
		})
		got, err := s.Create(s.ctx, owner,
			chat.Draft{Content: chat.Content{Name: "Support", Agents: []chat.Selected{{ID: "assistant"}}}})
		require.NoError(t, err)
		if got != storedTemplate || got.Owner != "ann" {
			t.Errorf("Create = %+v", got)
		}
	})
	t.Run("what the registry does not offer is not", func(t *testing.T) {
		s := newMocked(t)
		s.expectTransaction(t)
		_, err := s.Create(s.ctx, owner,
			chat.Draft{Content: chat.Content{Name: "Support", Agents: []chat.Selected{{ID: "x"}}}})
		require.ErrorIs(t, err, chat.ErrUnknownItem)
	})
}

func TestPrompts(t *testing.T) {
	ref := prompt.Ref{Number: 2}
	draft, frozen := &prompt.VersionInfo{ID: "pver", Template: "ptpl", Number: 2},
		&prompt.VersionInfo{ID: "pver", Template: "ptpl", Number: 2, Frozen: true}
	for label, tt := range map[string]struct {
		by   identity.Actor
		v    *prompt.VersionInfo
		want error
	}{
		"one that is the caller's":      {owner, draft, nil},
		"a version that viewers see":    {manager, frozen, nil},
		"a draft, which viewers do not": {manager, draft, chat.ErrPromptUnavailable},
		"a version that is not there":   {owner, nil, chat.ErrPromptUnavailable},
		"one that is not there":         {owner, &prompt.VersionInfo{ID: "none"}, chat.ErrPromptUnavailable},
	} {
		wantPrompt := chat.Prompt{Template: "ptpl", Ref: "v2"}
		t.Run(label+", in a new chat", func(t *testing.T) {
			s := newMocked(t)
			tx := s.expectAtomically(t)
			tx.expectPrompt(tt.by, ref, tt.v)
			if tt.want == nil {
				tx.chats.EXPECT().Add(s.ctx, anything).Return(nil).Times(2)
			}
			_, err := s.Create(s.ctx, tt.by, chat.Draft{Content: chat.Content{Name: "Support", Prompt: wantPrompt}})
			require.ErrorIs(t, err, tt.want)
		})
		t.Run(label+", in one that changes", func(t *testing.T) {
			s := newMocked(t)
			tx := s.expectAtomically(t)
			tx.expectPrompt(tt.by, ref, tt.v)
			var current *chat.Template
			tx.expectUpdate(tt.by, &current).MinTimes(1)
			_, err := s.Change(s.ctx, tt.by, "ctpl", nil, chat.Changes{Prompt: &wantPrompt})
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a template that is not there is no outage", func(t *testing.T) {
		s := newMocked(t)
		tx := s.expectAtomically(t)
		tx.prompts.EXPECT().Lock(s.ctx, owner, prompt.ID("ptpl"), ref).Return(nil, nil, prompt.ErrNotFound)
		_, err := s.Create(s.ctx, owner,
			chat.Draft{Content: chat.Content{Name: "Support", Prompt: chat.Prompt{Template: "ptpl", Ref: "v2"}}})
		require.ErrorIs(t, err, chat.ErrPromptUnavailable)
	})
}

func TestChange(t *testing.T) {
	t.Run("an owner renames it", func(t *testing.T) {
		s := newMocked(t)
		var current *chat.Template
		s.expectTransaction(t)
		s.expectUpdate(owner, &current)
		got, err := s.Change(s.ctx, owner, "ctpl", revision.Match{1}, chat.Changes{Name: new("Help")})
		require.NoError(t, err)
		if got != current || got.Name != "Help" {
			t.Errorf("Change = %+v", got)
		}
	})
	t.Run("another revision was meant", func(t *testing.T) {
		s := newMocked(t)
		var current *chat.Template
		s.expectTransaction(t)
		s.expectUpdate(owner, &current)
		_, err := s.Change(s.ctx, owner, "ctpl", revision.Match{9}, chat.Changes{Name: new("Help")})
		require.ErrorIs(t, err, revision.ErrMismatch)
	})
	for label, tt := range map[string]struct {
		to   identity.UserID
		want error
	}{"it is handed to a member of the workspace": {"sam", nil},
		"and to no one else": {"usr", chat.ErrUserNotInWorkspace}} {
		t.Run(label, func(t *testing.T) {
			s := newMocked(t)
			var current *chat.Template
			s.expectTransaction(t)
			s.expectUpdateFor(owner, []identity.UserID{tt.to}, &current)
			_, err := s.Change(s.ctx, owner, "ctpl", nil, chat.Changes{Owner: &tt.to})
			require.ErrorIs(t, err, tt.want)
			if tt.want == nil && current.Owner != "sam" {
				t.Errorf("owner = %s", current.Owner)
			}
		})
	}
}

func TestDeleteAndRestore(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"the owner deletes it": {owner, nil}, "a manager may not": {manager, chat.ErrForbidden},
		"a stranger is told nothing": {stranger, chat.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			tx := s.expectAtomically(t)
			tx.workspaces.EXPECT().Lock(s.ctx, identity.OrgID("org"), identity.WorkspaceID("acme")).MinTimes(1)
			tx.chats.EXPECT().Waiting(s.ctx, identity.WorkspaceID("acme"), chat.ID("ctpl")).
				Return([]identity.UserID{"usr_1"}, nil).MinTimes(1)
			var current *chat.Template
			tx.expectUpdateFor(tt.by, []identity.UserID{"usr_1"}, &current).MinTimes(1)
			ends := 0
			if tt.want == nil {
				tx.chats.EXPECT().Invited(s.ctx, identity.WorkspaceID("acme"), identity.UserID("usr_1")).MinTimes(1)
				tx.invitations.EXPECT().Update(s.ctx, tt.by, identity.WorkspaceID("acme"),
					account.InvitationID("inv_1"), anything).DoAndReturn(func(_ context.Context, _ identity.Actor,
					_ identity.WorkspaceID, _ account.InvitationID,
					change func(*account.Workspace, *account.Invitation) error) error {
					i := &account.Invitation{ID: "inv_1", Guest: true}
					err := change(nil, i)
					if i.Withdrawn {
						ends++
					}
					return err
				}).MinTimes(1)
			}
			require.ErrorIs(t, s.Delete(s.ctx, tt.by, "ctpl", nil), tt.want)
			if current.DeletedAt.IsZero() == (tt.want == nil) || (ends > 0) != (tt.want == nil) ||
				(len(current.ChangedMembers) == 1) != (tt.want == nil) {
				t.Errorf("deleted at %v, %d invitations ended, members %+v", current.DeletedAt, ends,
					current.ChangedMembers)
			}
		})
	}
	t.Run("the owner brings it back", func(t *testing.T) {
		s := newMocked(t)
		s.expectTransaction(t)
		deletedTemplate := template()
		deletedTemplate.DeletedAt = now
		s.chats.EXPECT().Update(s.ctx, owner, chat.ID("ctpl"), anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID, change func(*chat.Template) error) (*chat.Template,
				error) {
				return deletedTemplate, change(deletedTemplate)
			})
		if got, err := s.Restore(s.ctx, owner, "ctpl"); err != nil || !got.DeletedAt.IsZero() {
			t.Fatalf("Restore = %+v, %v", got, err)
		}
	})
}

func TestQuotas(t *testing.T) {
	full := quota.Amounts{ChatTemplates: 1, StorageBytes: 1}
	for name, tt := range map[string]struct {
		used quota.Amounts // with what is added
		call func(*mockedService) error
		want error
	}{
		"a new one within them is kept": {full, func(s *mockedService) error {
			s.chats.EXPECT().Add(s.ctx, anything).Return(nil)
			_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "x"}})
			return err
		}, nil},
		"one beyond the count is undone": {quota.Amounts{ChatTemplates: 2}, func(s *mockedService) error {
			s.chats.EXPECT().Add(s.ctx, anything).Return(nil)
			_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "x"}})
			return err
		}, quota.ErrExceeded},
		"one beyond the bytes is undone": {quota.Amounts{StorageBytes: 2}, func(s *mockedService) error {
			s.chats.EXPECT().Add(s.ctx, anything).Return(nil)
			_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "x"}})
			return err
		}, quota.ErrExceeded},
		"beyond them nothing grows": {quota.Amounts{StorageBytes: 2}, func(s *mockedService) error {
			var current *chat.Template
			s.expectUpdate(owner, &current)
			_, err := s.Change(s.ctx, owner, "ctpl", nil, chat.Changes{Name: new("Longer than it was")})
			return err
		}, quota.ErrExceeded},
		"what does not grow can be changed": {quota.Amounts{ChatTemplates: 2, StorageBytes: 2}, func(s *mockedService) error {
			var current *chat.Template
			s.expectUpdate(owner, &current)
			_, err := s.Change(s.ctx, owner, "ctpl", nil, chat.Changes{Name: new("x")})
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.used = tt.used
			s.expectTransaction(t)
			require.ErrorIs(t, tt.call(s), tt.want)
		})
	}
}

func TestWorkflows(t *testing.T) {
	s := newMocked(t)
	var current *chat.Template
	s.expectUpdate(owner, &current)
	got, w, isAttached, err := s.AttachWorkflow(s.ctx, owner, "ctpl", "digest")
	require.NoError(t, err)
	if got != current || !isAttached || w.ID != "digest" || len(got.Workflows) != 1 {
		t.Errorf("AttachWorkflow = %+v, %+v, %v", got, w, isAttached)
	}
	s.expectUpdate(owner, &current)
	_, _, _, err = s.AttachWorkflow(s.ctx, owner, "ctpl", "none")
	require.ErrorIs(t, err, chat.ErrUnknownWorkflow)
	s.expectUpdate(owner, &current)
	require.ErrorIs(t, s.DetachWorkflow(s.ctx, owner, "ctpl", nil, "digest"), chat.ErrWorkflowNotAttached)
	s.expectUpdate(viewer, &current)
	require.ErrorIs(t, s.DetachWorkflow(s.ctx, viewer, "ctpl", nil, "digest"), chat.ErrForbidden)
}

func TestImport(t *testing.T) {
	in := chats.Imported{Draft: chat.Draft{Content: chat.Content{Name: "Imported"}},
		Workflows: []string{"hand-over"}}
	// imports runs the import on a service whose transaction returns the template that it added.
	imports := func(t *testing.T, in chats.Imported) (*chat.Template, *chat.Template, error) {
		s := newMocked(t)
		usage := mocks.NewMockUsage(gomock.NewController(t))
		usage.EXPECT().Lock(s.ctx, anything).AnyTimes()
		usage.EXPECT().Amounts(s.ctx, anything, anything).AnyTimes()
		s.atomic.EXPECT().Atomically(s.ctx, anything).DoAndReturn(
			func(_ context.Context, fn func(ports.Stores) error) error {
				return fn(ports.Stores{
					Atomic:        s.atomic,
					ChatStores:    ports.ChatStores{Chats: s.chats},
					PaymentStores: ports.PaymentStores{Usage: usage},
				})
			}).MinTimes(1)
		var addedTemplate *chat.Template
		s.chats.EXPECT().Add(s.ctx, anything).DoAndReturn(func(_ context.Context, t *chat.Template) error {
			addedTemplate = t
			return nil
		}).MaxTimes(1)
		s.chats.EXPECT().Update(s.ctx, owner, anything, anything).DoAndReturn(
			func(_ context.Context, _ identity.Actor, _ chat.ID, change func(*chat.Template) error) (*chat.Template,
				error) {
				return addedTemplate, change(addedTemplate)
			}).AnyTimes()
		template, err := s.Import(s.ctx, owner, in)
		return template, addedTemplate, err
	}
	t.Run("an imported chat has its content and its workflows", func(t *testing.T) {
		template, addedTemplate, err := imports(t, in)
		require.NoError(t, err)
		if template != addedTemplate || template.Name != "Imported" || template.Owner != owner.User ||
			len(template.Workflows) != 1 || template.Workflows[0].ID != "hand-over" {
			t.Errorf("Import = %+v", template)
		}
	})
	t.Run("a workflow that this registry does not offer ends the whole import", func(t *testing.T) {
		unknown := in
		unknown.Workflows = []string{"hand-over", "nothing"}
		_, _, err := imports(t, unknown)
		require.ErrorIs(t, err, chat.ErrUnknownWorkflow)
	})
	t.Run("a draft that breaks a rule adds nothing", func(t *testing.T) {
		nameless := in
		nameless.Content.Name = ""
		_, addedTemplate, err := imports(t, nameless)
		if err == nil || addedTemplate != nil {
			t.Errorf("added %+v, %v", addedTemplate, err)
		}
	})
}

func TestTheConnectionOfAReplyMustFit(t *testing.T) {
	reply := chat.Reply{Kind: chat.CompatibleReply, Connection: "con_1", Model: "small"}
	for name, tt := range map[string]struct {
		found *connection.Connection
		err   error
		want  error
	}{
		"one that exists": {&connection.Connection{Workspace: "acme", Kind: connection.OpenAICompatible,
			Status: connection.Active}, nil, nil},
		"another kind": {&connection.Connection{Workspace: "acme", Kind: connection.Postgres,
			Status: connection.Active}, nil, chat.ErrReplyConnection},
		"a revoked one": {&connection.Connection{Workspace: "acme", Kind: connection.OpenAICompatible,
			Status: connection.Revoked}, nil, chat.ErrReplyConnection},
		"none":      {nil, connection.ErrNotFound, chat.ErrReplyConnection},
		"an outage": {nil, errOutage, errOutage},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			tx := s.expectAtomically(t)
			tx.connections.EXPECT().Get(s.ctx, identity.WorkspaceID("acme"), connection.ID("con_1")).AnyTimes().
				Return(tt.found, tt.err)
			tx.chats.EXPECT().Add(s.ctx, gomock.Any()).AnyTimes()
			_, err := s.Create(s.ctx, owner, chat.Draft{Content: chat.Content{Name: "n", Reply: reply}})
			require.ErrorIs(t, err, tt.want)
		})
	}
}
