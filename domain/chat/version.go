package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
)

// VersionPrefix begins a version's identifier.
const VersionPrefix = "cver"

const (
	maxVersions = 1000 // for each template
	maxReason   = 500  // characters
)

// Errors about versions.
var (
	ErrVersionNotFound = &fault.Error{Kind: fault.NotFound, Code: "chat_version_not_found",
		Detail: "The chat template has no such version."}
	ErrPublishedChanged = &fault.Error{Kind: fault.Conflict, Code: "published_changed",
		Detail: "The published version is not the one you expected."}
	ErrVersionLimit = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "A chat template can have at most 1,000 versions. Copy it, and publish the copy."}
)

// VersionID identifies a version. The empty one identifies none.
type VersionID string

// Version is what a template was when it was published. It never changes.
type Version struct {
	VersionInfo
	Content
}

// VersionInfo is a version without its content.
type VersionInfo struct {
	ID        VersionID
	Number    int // from 1
	CreatedBy identity.UserID
	CreatedAt time.Time
}

// VersionPage is one page of versions.
type VersionPage = page.Of[VersionInfo]

// Publication is an entry of the ledger: a version became the published one.
type Publication struct {
	Number     int       // from 1; the store assigns it
	FromID     VersionID // empty: none was published before
	FromNumber int
	ToID       VersionID
	ToNumber   int
	Reason     string // up to 500 characters; empty: none was given
	By         identity.UserID
	At         time.Time
}

// PublicationPage is one page of publications.
type PublicationPage = page.Of[Publication]

// VersionRef names a version. The zero VersionRef names none.
type VersionRef struct {
	Draft     bool // the draft that editors are working on
	Published bool
	Number    int
	ID        VersionID
}

// ParseVersionRef reads draft, published, v and a number, or a version's id. Other texts name no version.
func ParseVersionRef(text string) VersionRef {
	switch text {
	case "draft":
		return VersionRef{Draft: true}
	case "published":
		return VersionRef{Published: true}
	}
	if digits, ok := strings.CutPrefix(text, "v"); ok {
		n, err := strconv.Atoi(digits)
		if err == nil && n > 0 && strconv.Itoa(n) == digits {
			return VersionRef{Number: n}
		}
	}
	if id.Valid(VersionPrefix, text) {
		return VersionRef{ID: VersionID(text)}
	}
	return VersionRef{}
}

// Release is the caller's request to publish a version.
type Release struct {
	Version    *Version   // an earlier version; nil: the draft becomes a version
	Expected   *VersionID // the published version must be this one; empty: none; nil: any
	Reason     string
	PromptGone bool // the prompt of Version no longer exists
}

// Publish makes a version the one that embedded chats and runtimes get, and publishes the template if it is not
// published. Requires the manager role. Publishing the published version has no effect.
func (t *Template) Publish(by identity.Actor, match revision.Match, r Release) error {
	if err := t.allow(by, access.Manager, match); err != nil {
		return err
	}
	var errs fault.Fields
	if utf8.RuneCountInString(r.Reason) > maxReason {
		errs.Add("/reason", "too_long", fmt.Sprintf("Must have at most %d characters.", maxReason))
	}
	errs.AddCharacters("/reason", r.Reason)
	naming.CheckText(&errs, "/reason", r.Reason)
	if err := errs.Err(); err != nil {
		return err
	}
	if r.Expected != nil && *r.Expected != t.publishedID() {
		return ErrPublishedChanged
	}
	if (r.Version == nil && t.PromptGone) || r.PromptGone {
		return ErrPromptGone
	}
	if t.Status != StatusPublished {
		t.Record(by, "chat_template.updated", string(t.ID),
			map[string]any{"status": event.Change{From: t.Status, To: StatusPublished}})
	}
	if err := t.publish(by, r); err != nil {
		return err
	}
	t.Touch(by)
	return nil
}

// publish makes a version the published one: the version of r, or else the draft as it is now.
func (t *Template) publish(by identity.Actor, r Release) error {
	version, previous := r.Version, t.Published
	switch {
	case version != nil:
	case previous != nil && len(previous.Content.Differences(t.Content)) == 0:
		version = previous
	case t.Versions >= maxVersions:
		return ErrVersionLimit
	default:
		t.Versions++
		version = &Version{Content: t.Content, VersionInfo: VersionInfo{ID: VersionID(id.New(VersionPrefix)),
			Number: t.Versions, CreatedBy: by.User, CreatedAt: by.At}}
		t.NewVersion = version
	}
	t.Status = StatusPublished
	if previous == nil || previous.ID != version.ID {
		p := &Publication{ToID: version.ID, ToNumber: version.Number, Reason: r.Reason, By: by.User, At: by.At}
		data := map[string]any{"version_id": version.ID, "version": version.Number}
		if previous != nil {
			p.FromID, p.FromNumber = previous.ID, previous.Number
			data["from_version_id"] = previous.ID
		}
		if r.Reason != "" {
			data["reason"] = r.Reason
		}
		t.Published, t.Publication = version, p
		t.Record(by, "chat_template.published", string(t.ID), data)
	}
	return nil
}

func (t *Template) publishedID() VersionID {
	if t.Published == nil {
		return ""
	}
	return t.Published.ID
}

// Served returns what embedded chats and runtimes get: the published version, or the draft if a template has none.
func (t *Template) Served() Content {
	if t.Published == nil {
		return t.Content
	}
	return t.Published.Content
}

// HasChanges reports whether the draft differs from the published version, or has never been published.
func (t *Template) HasChanges() bool {
	return t.Published == nil || len(t.Published.Content.Differences(t.Content)) > 0
}

// Differences returns the fields in which c and o differ, in the order and with the names of the contract.
func (c Content) Differences(o Content) []string {
	var names []string
	for _, field := range []struct {
		name string
		same bool
	}{
		{"name", c.Name == o.Name},
		{"description", c.Description == o.Description},
		{"avatar_url", c.AvatarURL == o.AvatarURL},
		{"instructions", c.Instructions == o.Instructions},
		{"prompt", c.Prompt == o.Prompt},
		{"agents", slices.EqualFunc(c.Agents, o.Agents, equalSelected)},
		{"tools", slices.EqualFunc(c.Tools, o.Tools, equalSelected)},
		{"capabilities", slices.Equal(c.Capabilities, o.Capabilities)},
		{"workflows", sameWorkflows(c.Workflows, o.Workflows)},
		{"model_config", sameModel(c.Model, o.Model)},
		{"greeting", c.Greeting == o.Greeting},
		{"conversation_starters", slices.Equal(c.Starters, o.Starters)},
		{"translations", slices.EqualFunc(c.Translations, o.Translations, sameTranslation)},
		{"metadata", equalJSON(object(c.Metadata), object(o.Metadata))},
		{"reply", c.Reply.equal(o.Reply)},
		{"theme", c.Theme.Same(o.Theme)},
	} {
		if !field.same {
			names = append(names, field.name)
		}
	}
	return names
}

// UnifiedInstructions returns a unified diff of the instructions; empty if they are equal.
func UnifiedInstructions(fromName, toName string, from, to Content) string {
	return prompt.DiffContents(fromName, toName, prompt.Content{Text: from.Instructions},
		prompt.Content{Text: to.Instructions}).Unified
}

func equalSelected(a, b Selected) bool { return a.ID == b.ID && equalJSON(a.Config, b.Config) }

// object returns a JSON object, the empty one for none.
func object(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("{}")
	}
	return text
}

// equalJSON reports whether two texts are the same except for white space between tokens.
func equalJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 || json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return len(a) == len(b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}
