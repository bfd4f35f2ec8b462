// Package chats holds the use cases of chat templates.
package chats

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/webhook"
	"github.com/atrium-hq/atrium/ports"
)

// Registries returns an org's current registry. A reload of the configuration creates a new one.
type Registries func(identity.OrgID) *chat.Registry

// MailInvitation mails a committed invitation's link, and returns whether a mail server accepted it.
type MailInvitation func(ctx context.Context, i *account.Invitation, ws *account.Workspace, url string) bool

// Service holds the use cases, one method each.
type Service struct {
	atomic   ports.Atomic
	chats    ports.Chats
	lists    ports.ChatLists
	versions ports.ChatVersions
	deps     Deps
}

// Deps are a Service's dependencies other than the stores of its area.
type Deps struct {
	Users          ports.Users
	Prompts        ports.PromptVersions
	Registries     Registries
	MailLimits     account.MailLimits
	MailInvitation MailInvitation
	Quotas         ports.Quotas
	Expand         ExpandPrompt // the prompt that holds a template's instructions
	Choose         ChoosePrompt
}

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.ChatStores, d Deps) *Service {
	return &Service{atomic: atomic, chats: s.Chats, lists: s.ChatLists, versions: s.ChatVersions, deps: d}
}

// Registry returns what by's org offers to chats.
func (s *Service) Registry(by identity.Actor) *chat.Registry { return s.deps.Registries(by.Org) }

// List returns the templates that by may see.
func (s *Service) List(ctx context.Context, by identity.Actor, f chat.Filter, q page.Query) (chat.Page, error) {
	return s.lists.Visible(ctx, by, f, q)
}

// Create creates a template that by owns.
func (s *Service) Create(ctx context.Context, by identity.Actor, d chat.Draft) (*chat.Template, error) {
	return s.withPromptLocked(ctx, by, d.Prompt, func(tx ports.Stores, isSeen bool) (
		t *chat.Template, grown []quota.Kind, err error,
	) {
		facts := chat.Facts{Registry: s.deps.Registries(by.Org), PromptSeen: isSeen}
		if facts.ReplyUsable, err = usableReply(ctx, tx, by, d.Reply); err != nil {
			return nil, nil, err
		}
		if t, err = chat.New(by, d, facts); err != nil {
			return nil, nil, err
		}
		return t, []quota.Kind{quota.ChatTemplates, quota.StorageBytes}, tx.Chats.Add(ctx, t)
	})
}

// Imported is a draft with the workflows that it had where it was exported.
type Imported struct {
	chat.Draft
	Workflows []string // of the registry
}

// Import creates a template that by owns, and attaches its workflows.
func (s *Service) Import(ctx context.Context, by identity.Actor, in Imported) (*chat.Template, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*chat.Template, error) {
		bound := *s
		bound.atomic, bound.chats = tx.Atomic, tx.Chats
		t, err := bound.Create(ctx, by, in.Draft)
		for i := 0; i < len(in.Workflows) && err == nil; i++ {
			t, _, _, err = bound.AttachWorkflow(ctx, by, t.ID, in.Workflows[i])
		}
		return t, err
	})
}

// Copy copies a template's draft in the same workspace. by owns it.
func (s *Service) Copy(
	ctx context.Context, by identity.Actor, id chat.ID, c chat.Copying,
) (*chat.Template, error) {
	from, err := s.Inside(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return s.withPromptLocked(ctx, by, from.Prompt, func(tx ports.Stores, isSeen bool) (
		duplicate *chat.Template, grown []quota.Kind, err error,
	) {
		facts := chat.Facts{Registry: s.deps.Registries(by.Org), PromptSeen: isSeen}
		if facts.ReplyUsable, err = usableReply(ctx, tx, by, from.Reply); err != nil {
			return nil, nil, err
		}
		if duplicate, err = from.Copy(by, c, facts); err != nil {
			return nil, nil, err
		}
		return duplicate, []quota.Kind{quota.ChatTemplates, quota.StorageBytes}, tx.Chats.Add(ctx, duplicate)
	})
}

// Get returns a template.
func (s *Service) Get(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	t, err := s.chats.Get(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return t, t.Allow(by, access.Viewer)
}

// Change changes a template's own fields, or transfers it to another owner.
func (s *Service) Change(ctx context.Context, by identity.Actor, id chat.ID, match revision.Match,
	c chat.Changes) (*chat.Template, error) {
	facts := chat.Facts{Registry: s.deps.Registries(by.Org)}
	var ref chat.Prompt
	if c.Prompt != nil {
		ref = *c.Prompt
	}
	return s.withPromptLocked(ctx, by, ref, func(tx ports.Stores, isSeen bool) (
		updated *chat.Template, grown []quota.Kind, err error,
	) {
		facts.PromptSeen = isSeen
		if c.Reply != nil {
			if facts.ReplyUsable, err = usableReply(ctx, tx, by, *c.Reply); err != nil {
				return nil, nil, err
			}
		}
		if facts.WebhookExists, err = hasWebhook(ctx, tx, by, c.Transcripts); err != nil {
			return nil, nil, err
		}
		change := func(t *chat.Template) error {
			size := t.Content.Size()
			err := t.Change(by, match, c, facts)
			grown = nil
			// A workspace above its quota can still change what it has.
			if t.Content.Size() > size || t.NewVersion != nil {
				grown = []quota.Kind{quota.StorageBytes}
			}
			return err
		}
		if c.Owner == nil {
			updated, err = tx.Chats.Update(ctx, by, id, change)
			return updated, grown, err
		}
		updated, err = tx.Chats.UpdateFor(ctx, by, id, []identity.UserID{*c.Owner},
			func(t *chat.Template, p []chat.Party) error {
				facts.Owner = p[0]
				return change(t)
			})
		return updated, grown, err
	})
}

// withPromptLocked runs act in one transaction, and passes it whether by may see the prompt. The prompt is locked: a
// concurrent deletion waits, and then finds that the prompt is in use. It returns the template that act returns. If a
// quota of the kinds that act returns is exceeded, the transaction is rolled back with a *quota.LimitError. Limits are
// read before the transaction starts.
func (s *Service) withPromptLocked(ctx context.Context, by identity.Actor, p chat.Prompt,
	act func(tx ports.Stores, isSeen bool) (*chat.Template, []quota.Kind, error)) (*chat.Template, error) {
	limits, err := s.deps.Quotas(ctx, by)
	if err != nil {
		return nil, err
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*chat.Template, error) {
		isSeen := false
		if ref := p.Version(); ref != (prompt.Ref{}) {
			t, v, err := tx.Prompts.Lock(ctx, by, p.Template, ref)
			switch {
			case err == nil:
				isSeen = t.Allow(by, access.Viewer) == nil && t.Has(by, v)
			case !errors.Is(err, prompt.ErrNotFound):
				return nil, err
			}
		}
		t, kinds, err := act(tx, isSeen)
		if err != nil {
			return nil, err
		}
		return t, tx.CheckUsage(ctx, by, limits, kinds...)
	})
}

// Delete hides a template; Restore restores it. Members who have not accepted are removed permanently, and their
// invitations to the workspace end unless they have another purpose.
func (s *Service) Delete(ctx context.Context, by identity.Actor, id chat.ID, match revision.Match) error {
	// The workspace is locked before the template, as in invite: no one is invited in the meantime.
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if err := tx.Workspaces.Lock(ctx, by.Org, by.Workspace); err != nil {
			return err
		}
		invitees, err := tx.Chats.Waiting(ctx, by.Workspace, id)
		if err != nil {
			return err
		}
		if _, err := tx.Chats.UpdateFor(ctx, by, id, invitees, func(t *chat.Template, p []chat.Party) error {
			if err := t.Delete(by, match); err != nil {
				return err
			}
			for _, invitee := range p {
				t.Disinvite(by, invitee)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, user := range invitees {
			if err := endUnusedInvitation(ctx, tx, by, user); err != nil {
				return err
			}
		}
		return nil
	})
}

// Restore restores a deleted template.
func (s *Service) Restore(ctx context.Context, by identity.Actor, id chat.ID) (*chat.Template, error) {
	return s.withPromptLocked(ctx, by, chat.Prompt{}, func(tx ports.Stores, _ bool) (
		*chat.Template, []quota.Kind, error,
	) {
		t, err := tx.Chats.Update(ctx, by, id, func(t *chat.Template) error { return t.Restore(by) })
		return t, []quota.Kind{quota.ChatTemplates}, err
	})
}

// AttachWorkflow attaches a workflow of the registry. isAttached is false if it was attached already.
func (s *Service) AttachWorkflow(
	ctx context.Context, by identity.Actor, id chat.ID, workflow string,
) (t *chat.Template, w chat.Workflow, isAttached bool, err error) {
	var out struct {
		chat.Workflow
		isNew bool
	}
	t, err = s.chats.Update(ctx, by, id, func(t *chat.Template) (err error) {
		out.Workflow, out.isNew, err = t.Attach(by, workflow, s.deps.Registries(by.Org))
		return err
	})
	return t, out.Workflow, out.isNew, err
}

// DetachWorkflow removes a workflow.
func (s *Service) DetachWorkflow(ctx context.Context, by identity.Actor, id chat.ID, match revision.Match,
	workflow string) error {
	_, err := s.chats.Update(ctx, by, id, func(t *chat.Template) error { return t.Detach(by, match, workflow) })
	return err
}

// usableReply reports whether by may use the connection of r. The kind of the connection must fit.
func usableReply(ctx context.Context, tx ports.Stores, by identity.Actor, r chat.Reply) (bool, error) {
	if !r.Answers() || r.Connection == "" {
		return false, nil
	}
	c, err := tx.Connections.Get(ctx, by.Workspace, r.Connection)
	if errors.Is(err, connection.ErrNotFound) {
		return false, nil
	}
	return err == nil && c.Kind == r.Needs() && c.MayTry(by, false) == nil, err
}

// hasWebhook reports whether by's workspace has a webhook; nil and the empty id are none.
func hasWebhook(ctx context.Context, tx ports.Stores, by identity.Actor, id *webhook.ID) (bool, error) {
	if id == nil || *id == "" {
		return false, nil
	}
	_, err := tx.Webhooks.Get(ctx, by.Workspace, *id)
	if errors.Is(err, webhook.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
