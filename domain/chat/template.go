// Package chat holds chat templates: their content and capabilities, who may change them, and the
// registry of what an org offers to chats.
package chat

import (
	"encoding/json"
	"slices"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/webhook"
)

// Prefix begins a template's identifier.
const Prefix = "ctpl"

// ID identifies a template. The empty one identifies none.
type ID string

// Page is one page of templates.
type Page = page.Of[Summary]

// Status reports whether a template serves chats.
type Status string

// The statuses.
const (
	StatusDraft     Status = "draft"
	StatusPublished Status = "published" // the only one in which embedded chats work
	StatusDisabled  Status = "disabled"
)

// Template is the configuration for one kind of chat. Its owner is one field, so that two owners, or none, cannot be
// expressed.
type Template struct {
	access.Resource
	ID      ID
	Content // the draft: what editors see and change
	Status  Status

	// PromptGone reports that Prompt names a prompt template or version that no longer exists.
	PromptGone bool

	// PromptLost reports that the owner may no longer read the prompt of the draft or of the published version, which
	// therefore stay at the version that they had.
	PromptLost bool

	Replies ReplyRun // to visitors, of the published version or the draft without one

	// Transcripts is the webhook that gets each finished turn of visitors; empty: none. It belongs to no version, so
	// that it ends at once, and no publication of an earlier version begins it again.
	Transcripts webhook.ID

	Published *Version // nil: none was published yet
	Versions  int      // the number of the latest version; 0: there is none

	// NewVersion and Publication are for the store to save; nil: there are none.
	NewVersion  *Version
	Publication *Publication

	// ChangedMembers holds members for the store to save; one without a role is deleted. The owner is
	// never among them.
	ChangedMembers []Member
}

// Content is the template part that editors may change.
type Content struct {
	Name         string // 1 to 120 characters
	Description  string // up to 2000 characters
	AvatarURL    string // https; empty: none
	Instructions string // up to 64 KiB; empty if Prompt holds them, or without instructions
	Prompt       Prompt
	Agents       []Selected // up to 10
	Tools        []Selected // up to 50
	Capabilities []string   // up to 20
	Workflows    []Workflow // up to 50, oldest first
	Model        *prompt.ModelConfig
	Greeting     string          // up to 2000 characters
	Starters     []string        // up to 10, each up to 200 characters: suggestions for a visitor's first message
	Metadata     json.RawMessage // a JSON object, up to 16 KiB
	Reply        Reply
	Theme        Theme
	Translations []Translation // up to 20, of different languages
}

// Prompt names a prompt template version that holds the instructions. The zero Prompt names none.
type Prompt struct {
	Template prompt.ID
	Ref      string // active, latest, v<number>, a label or a version's id
}

// Version returns which version p names. latest is the latest frozen one: who made the chat may not be who may read the
// drafts, and drafts change without being released.
func (p Prompt) Version() prompt.Ref {
	ref := prompt.ParseRef(p.Ref)
	ref.Frozen = ref.Latest
	return ref
}

// Reference returns how the template of refers to p.
func (p Prompt) Reference(template ID) prompt.Reference {
	return prompt.Reference{Holder: string(template), Template: p.Template, Ref: p.Ref}
}

// Selected is an agent or a tool of the registry, and its configuration in this template.
type Selected struct {
	ID     string
	Config json.RawMessage // a JSON object; nil for the item's own defaults
}

// Facts are what a change must know besides the template.
type Facts struct {
	Registry   *Registry // of the org
	PromptSeen bool      // the prompt that is set exists, and the caller may see it
	Owner      Party     // the new owner, if any

	ReplyUsable bool // the connection of the reply that is set is of the right kind, and the caller may use it

	WebhookExists bool // the webhook of the transcripts that is set
}

// Draft is the caller's request for a new template.
type Draft struct {
	Content
	Status     Status            // empty: draft
	Visibility access.Visibility // empty: private
}

// New creates a template that by owns. Requires the member role in the workspace.
func New(by identity.Actor, d Draft, f Facts) (*Template, error) {
	return newTemplate(by, d, f, Content{})
}

// newTemplate is New, and does not check the items that the content known has.
func newTemplate(by identity.Actor, d Draft, f Facts, original Content) (*Template, error) {
	switch {
	case by.ReadOnly():
		return nil, identity.ErrReadOnly
	case by.Role < identity.Member:
		return nil, identity.Needs(identity.Member)
	}
	t := &Template{
		Resource: access.NewResource(by, d.Visibility), ID: ID(id.New(Prefix)), Content: d.Content, Status: d.Status,
	}
	if t.Status == "" {
		t.Status = StatusDraft
	}
	t.Name = naming.Normal(t.Name)
	if err := t.check(true, Content{}); err != nil {
		return nil, err
	}
	if err := f.check(original, t.Content, t.Prompt != Prompt{}, t.Reply.Answers()); err != nil {
		return nil, err
	}
	t.Record(by, "chat_template.created", string(t.ID),
		map[string]any{"name": t.Name, "status": t.Status, "visibility": t.Visibility})
	if t.Status == StatusPublished {
		return t, t.publish(by, Release{})
	}
	return t, nil
}

// Changes are new values for some template fields; nil keeps the old one.
type Changes struct {
	Name         *string
	Description  *string
	AvatarURL    *string
	Instructions *string
	Prompt       *Prompt // the zero Prompt clears
	Agents       *[]Selected
	Tools        *[]Selected
	Capabilities *[]string
	Model        func(*prompt.ModelConfig) *prompt.ModelConfig // as Metadata
	Greeting     *string
	Starters     *[]string
	Translations *[]Translation
	Metadata     func(json.RawMessage) json.RawMessage // computes the new value from the old one
	Reply        *Reply                                // the zero Reply clears
	Theme        *Theme                                // replaces all of it
	Transcripts  *webhook.ID                           // the empty one ends them
	Status       *Status
	Visibility   *access.Visibility
	Owner        *identity.UserID // must be a member of the workspace
}

// Needs returns the role that these changes require.
func (c Changes) Needs() access.Role {
	switch {
	case c.Owner != nil:
		return access.Owner
	case c.Status != nil, c.Visibility != nil, c.Transcripts != nil:
		return access.Manager
	default:
		return access.Editor
	}
}

// Change applies changes. Items that do not change are not checked against the registry, which may have changed
// since: Registry.Issues reports that.
func (t *Template) Change(by identity.Actor, match revision.Match, c Changes, f Facts) error {
	if err := t.allow(by, c.Needs(), match); err != nil {
		return err
	}
	if err := t.mayForward(by, c.Transcripts, f); err != nil {
		return err
	}
	previous, changes, status := t.Content, map[string]any{}, t.Status
	c.Name = naming.Changed(t.Name, c.Name)
	event.Set(&t.Name, c.Name, "name", changes)
	event.Set(&t.Status, c.Status, "status", changes)
	event.Set(&t.Visibility, c.Visibility, "visibility", changes)
	event.Set(&t.Transcripts, c.Transcripts, "transcripts", changes)
	event.SetQuietly(&t.Description, c.Description, "description", changes)
	event.SetQuietly(&t.AvatarURL, c.AvatarURL, "avatar_url", changes)
	event.SetQuietly(&t.Instructions, c.Instructions, "instructions", changes)
	event.SetQuietly(&t.Greeting, c.Greeting, "greeting", changes)
	newPrompt := c.Prompt != nil && *c.Prompt != t.Prompt
	if newPrompt {
		changes["prompt"] = event.Change{From: t.Prompt.named(), To: c.Prompt.named()}
		t.Prompt, t.PromptGone = *c.Prompt, false
	}
	replaced(&t.Agents, c.Agents, sameSelected, "agents", changes)
	replaced(&t.Tools, c.Tools, sameSelected, "tools", changes)
	replaced(&t.Capabilities, c.Capabilities, sameText, "capabilities", changes)
	replaced(&t.Starters, c.Starters, sameText, "conversation_starters", changes)
	replaced(&t.Translations, c.Translations, sameTranslation, "translations", changes)
	if c.Model != nil {
		if t.Model = c.Model(t.Model); !sameModel(previous.Model, t.Model) {
			changes["model_config"] = true
		}
	}
	if c.Metadata != nil {
		if t.Metadata = c.Metadata(t.Metadata); string(t.Metadata) != string(previous.Metadata) {
			changes["metadata"] = true
		}
	}
	if c.Theme != nil && !c.Theme.Same(t.Theme) {
		changes["theme"] = true
		t.Theme = *c.Theme
	}
	newReply := c.Reply != nil && !c.Reply.equal(t.Reply)
	if newReply {
		changes["reply"] = true
		t.Reply = *c.Reply
	}
	if err := t.check(c.Name != nil, previous); err != nil {
		return err
	}
	newReply = newReply && t.Reply.Answers()
	if err := f.check(previous, t.Content, newPrompt && t.Prompt != Prompt{}, newReply); err != nil {
		return err
	}
	if c.Owner != nil && *c.Owner != t.Owner {
		if f.Owner.User != *c.Owner || !f.Owner.InWorkspace || c.Owner.IsGroup() {
			return ErrUserNotInWorkspace
		}
		t.transfer(by, f.Owner)
	}
	if len(changes) > 0 {
		t.Record(by, "chat_template.updated", string(t.ID), changes)
	}
	if t.Status == StatusPublished && status != StatusPublished {
		if err := t.publish(by, Release{}); err != nil {
			return err
		}
	}
	t.Touch(by)
	return nil
}

// transfer makes to the owner. The previous owner becomes a manager.
func (t *Template) transfer(by identity.Actor, party Party) {
	if manager := t.Transfer(by, t.object(), party.User); manager != "" {
		t.join(Member{User: manager, Role: access.Manager, InvitedBy: by.User}, by.At)
	}
	t.leave(party)
}

// Filter narrows a list of templates. Empty fields match every template.
type Filter struct {
	Query      string // part of the name or description, ignoring case
	Status     Status
	Visibility access.Visibility
	Prompt     prompt.ID // only templates that use it
	Refs       []string  // only those that use it by one of these references, 12 at most; empty: by any
}

// named returns a prompt as an event holds it: nil for none.
func (p Prompt) named() any {
	if p == (Prompt{}) {
		return nil
	}
	return map[string]any{"prompt_template_id": p.Template, "ref": p.Ref}
}

// replaced replaces a list and records the change, if the lists differ.
func replaced[T any](field *[]T, items *[]T, same func(T, T) bool, name string, changes map[string]any) {
	if items != nil && !slices.EqualFunc(*field, *items, same) {
		changes[name] = true
		*field = *items
	}
}

func sameSelected(a, b Selected) bool { return a.ID == b.ID && string(a.Config) == string(b.Config) }

func sameText(a, b string) bool { return a == b }

func sameModel(a, b *prompt.ModelConfig) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
