// Package prompt holds prompt templates, their versions and shares, and who may do what with
// them.
package prompt

import (
	"cmp"
	"encoding/json"
	"slices"
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
	"github.com/atrium-hq/atrium/domain/revision"
)

// The prefixes of identifiers.
const (
	Prefix        = "ptpl"
	VersionPrefix = "pver"
)

type (
	// ID identifies a template. The empty one identifies none.
	ID string
	// VersionID identifies a version. The empty one identifies none.
	VersionID string

	// Page is one page of templates.
	Page = page.Of[Template]
)

// Template is a prompt that people share and revise. Active names the version that callers receive. It
// is one field, so that two active versions cannot be expressed.
type Template struct {
	access.Resource
	ID             ID
	Name           string
	Type           Type
	Description    string
	Tags           []string
	Metadata       json.RawMessage // a JSON object
	Protected      bool            // activation and labels require the manager role
	Approvals      int             // with which an editor can activate a protected template version; 0: never
	RequiredChecks []string        // names of the checks that a version must pass before it is activated
	Thresholds     []Threshold     // that results of checks must meet, sorted by name; not only of required checks
	GatedLabels    []string        // to which approvals, required checks and the contract apply as to activations
	Compatibility  Compatibility
	IncludeMode    IncludeMode

	ProtectedLabels []string // that only managers move

	Active         Active
	LastNumber     int // number of the newest version ever created: numbers are never reused
	AllVersions    Summary
	FrozenVersions Summary // the versions that viewers see
	OpenRequests   int     // how many activation requests wait
	Referenced     bool    // whether chats or prompts have a Reference to it, or had one
	LastRead       Day     // when an application last read a version, as of loading; zero: never

	// What the methods have changed, for the store to save: entries of the ledger, rollouts, checks, activation
	// requests and shares. A share without a role is deleted.
	Activated       []Activation
	ChangedRollouts []Rollout
	Reported        []Check
	ChangedRequests []ActivationRequest
	ChangedShares   []Share
}

// Active is the version that callers receive. The zero Active means that there is none.
type Active struct {
	Version VersionID
	Number  int
	At      time.Time
	By      identity.UserID
}

// Summary counts versions and names the newest.
type Summary struct {
	Count        int
	Latest       VersionID // empty without a version
	LatestNumber int
}

// add counts one more version.
func (s *Summary) add(v *VersionInfo) {
	s.Count++
	if v.Number > s.LatestNumber {
		s.Latest, s.LatestNumber = v.ID, v.Number
	}
}

// Activation is an entry of the ledger: who activated which version in place of which other, or moved a label, and why.
type Activation struct {
	Label      string    // empty for an activation
	From       VersionID // empty for the first, and if no version had the label
	FromNumber int       // 0 if From is empty, and if the version was deleted before numbers were recorded
	To         VersionID // empty if the label was taken away
	ToNumber   int       // 0 if To is empty, and if the version was deleted before numbers were recorded
	By         identity.UserID
	At         time.Time
	Reason     string
	Request    RequestID // the request that this activation fulfils; empty: none
	Weights    []Weight  // of a rollout that started or changed; the first is the weight of To
}

// Versions returns the summary of the versions that by may see.
func (t *Template) Versions(by identity.Actor) Summary {
	if t.SeesDrafts(by) {
		return t.AllVersions
	}
	return t.FrozenVersions
}

// LatestFor returns the version that ref, which is a latest one, names for by, or empty.
func (t *Template) LatestFor(by identity.Actor, ref Ref) VersionID {
	if ref.Frozen {
		return t.FrozenVersions.Latest
	}
	return t.Versions(by).Latest
}

// Draft is the caller's request for a new template.
type Draft struct {
	Name        string
	Type        Type
	Description string
	Tags        []string
	Metadata    json.RawMessage
	Visibility  access.Visibility
	Protected   bool

	Compatibility  Compatibility // empty: Unchecked
	Approvals      int
	RequiredChecks []string
	Thresholds     []Threshold
	IncludeMode    IncludeMode // empty: Pinned

	GatedLabels     []string
	ProtectedLabels []string
}

// New creates a template that by owns. Requires the member role in the workspace.
func New(by identity.Actor, d Draft) (*Template, error) {
	switch {
	case by.ReadOnly():
		return nil, identity.ErrReadOnly
	case by.Role < identity.Member:
		return nil, identity.Needs(identity.Member)
	}
	t := &Template{
		Resource: access.NewResource(by, d.Visibility), ID: ID(id.New(Prefix)), Name: naming.Normal(d.Name),
		Type: d.Type, Description: d.Description, Tags: d.Tags, Metadata: d.Metadata, Protected: d.Protected,
		Compatibility: cmp.Or(d.Compatibility, Unchecked), Approvals: d.Approvals,
		RequiredChecks:  slices.Sorted(slices.Values(d.RequiredChecks)),
		Thresholds:      sortedThresholds(d.Thresholds),
		GatedLabels:     slices.Sorted(slices.Values(d.GatedLabels)),
		ProtectedLabels: slices.Sorted(slices.Values(d.ProtectedLabels)),
		IncludeMode:     cmp.Or(d.IncludeMode, Pinned),
	}
	if t.Type == "" {
		t.Type = Text
	}
	if err := fault.Join(t.check(true), t.checkTexts(true, true)); err != nil {
		return nil, err
	}
	t.Record(by, "prompt_template.created", string(t.ID),
		map[string]any{"name": t.Name, "type": t.Type, "visibility": t.Visibility})
	return t, nil
}

// Changes are new values for some template fields; nil keeps the old one.
type Changes struct {
	Name        *string
	Description *string
	Tags        *[]string
	Metadata    func(json.RawMessage) json.RawMessage // computes the new value from the old one
	Visibility  *access.Visibility
	Protected   *bool
	Owner       *identity.UserID // must be a member of the workspace

	Compatibility  *Compatibility
	Approvals      *int
	RequiredChecks *[]string
	Thresholds     *[]Threshold
	IncludeMode    *IncludeMode

	GatedLabels     *[]string
	ProtectedLabels *[]string
}

// Needs returns the role that these changes require.
func (c Changes) Needs() access.Role {
	switch {
	case c.Owner != nil:
		return access.Owner
	case c.Visibility != nil, c.Protected != nil, c.Compatibility != nil, c.Approvals != nil, c.RequiredChecks != nil,
		c.Thresholds != nil, c.IncludeMode != nil, c.GatedLabels != nil, c.ProtectedLabels != nil:
		return access.Manager
	default:
		return access.Editor
	}
}

// Change applies changes. owner is the user that c.Owner names, if any.
func (t *Template) Change(by identity.Actor, match revision.Match, c Changes, owner Recipient) error {
	if err := t.allow(by, c.Needs(), match); err != nil {
		return err
	}
	changes := map[string]any{}
	c.Name = naming.Changed(t.Name, c.Name)
	event.Set(&t.Name, c.Name, "name", changes)
	event.Set(&t.Visibility, c.Visibility, "visibility", changes)
	event.Set(&t.Protected, c.Protected, "protected", changes)
	event.Set(&t.Compatibility, c.Compatibility, "compatibility", changes)
	event.Set(&t.Approvals, c.Approvals, "approvals", changes)
	setNames(&t.RequiredChecks, c.RequiredChecks, "required_checks", changes)
	setThresholds(&t.Thresholds, c.Thresholds, changes)
	setNames(&t.GatedLabels, c.GatedLabels, "gated_labels", changes)
	setNames(&t.ProtectedLabels, c.ProtectedLabels, "protected_labels", changes)
	event.Set(&t.IncludeMode, c.IncludeMode, "include_mode", changes)
	event.SetQuietly(&t.Description, c.Description, "description", changes)
	if c.Tags != nil {
		tags := strings.Join(t.Tags, "\x00")
		t.Tags = *c.Tags
		if strings.Join(t.Tags, "\x00") != tags {
			changes["tags"] = true
		}
	}
	if c.Metadata != nil {
		metadata := string(t.Metadata)
		if t.Metadata = c.Metadata(t.Metadata); string(t.Metadata) != metadata {
			changes["metadata"] = true
		}
	}
	if err := fault.Join(t.check(c.Name != nil), t.checkTexts(changes["description"] != nil,
		changes["tags"] != nil)); err != nil {
		return err
	}
	if c.Owner != nil && *c.Owner != t.Owner {
		if owner.User != *c.Owner || !owner.InWorkspace || c.Owner.IsGroup() {
			return ErrUserNotInWorkspace
		}
		t.transfer(by, owner)
	}
	if len(changes) > 0 {
		t.Record(by, "prompt_template.updated", string(t.ID), changes)
	}
	t.Touch(by)
	return nil
}

// transfer makes to the owner. The previous owner becomes a manager.
func (t *Template) transfer(by identity.Actor, recipient Recipient) {
	if manager := t.Transfer(by, t.object(), recipient.User); manager != "" {
		t.save(Share{User: manager, Role: access.Manager, GrantedBy: by.User, Revision: 1, CreatedAt: by.At,
			UpdatedAt: by.At})
	}
	if recipient.Share != nil {
		t.save(Share{User: recipient.User})
	}
}

// check returns all that is wrong with the fields of t. A stored name (not renamed) is not checked.
func (t *Template) check(isRenamed bool) error {
	var errs fault.Fields
	switch n := utf8.RuneCountInString(t.Name); {
	case !isRenamed:
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > 255:
		errs.Add("/name", "too_long", "Must have at most 255 characters.")
	case !validName(t.Name):
		errs.Add("/name", "invalid_format", naming.Refusal+" Between slashes, no part is empty, \".\" or \"..\", "+
			"has a backslash, or begins or ends with a space.")
	}
	if t.Type != Text && t.Type != Chat {
		errs.Add("/type", "not_allowed_value", "Must be text or chat.")
	}
	t.Visibility.Check(&errs)
	if t.Compatibility != Unchecked && t.Compatibility != Backward {
		errs.Add("/compatibility", "not_allowed_value", "Must be none or backward.")
	}
	if t.IncludeMode != Pinned && t.IncludeMode != Floating {
		errs.Add("/include_mode", "not_allowed_value", "Must be pinned or floating.")
	}
	if utf8.RuneCountInString(t.Description) > 2000 {
		errs.Add("/description", "too_long", "Must have at most 2000 characters.")
	}
	if len(t.Tags) > 20 {
		errs.Add("/tags", "too_many_items", "Must have at most 20 items.")
	}
	for _, tag := range t.Tags {
		if n := utf8.RuneCountInString(tag); n == 0 || n > 50 {
			errs.Add("/tags", "too_long", "Every tag must have 1 to 50 characters.")
			break
		}
	}
	if t.Approvals < 0 || t.Approvals > MaxApprovals {
		errs.Add("/approvals", "out_of_range", "Must be 0 to 10.")
	}
	checkRequired(&errs, t.RequiredChecks)
	checkThresholds(&errs, t.Thresholds)
	checkGuarded(&errs, "/gated_labels", t.GatedLabels)
	checkGuarded(&errs, "/protected_labels", t.ProtectedLabels)
	if len(t.Metadata) > 16<<10 {
		errs.Add("/metadata", "too_long", "Must take at most 16 KiB as JSON.")
	}
	return errs.Err()
}

// checkTexts returns what is wrong with new texts that others read.
func (t *Template) checkTexts(isDescribed, isTagged bool) error {
	var errs fault.Fields
	if isDescribed {
		naming.CheckText(&errs, "/description", t.Description)
	}
	if isTagged {
		naming.CheckText(&errs, "/tags", strings.Join(t.Tags, " "))
	}
	return errs.Err()
}

// validName reports whether every name part, between slashes, can be shown as a folder, and is one in an archive.
func validName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.Contains(part, `\`) ||
			part != strings.TrimSpace(part) || naming.Deceptive(part) {
			return false
		}
	}
	return true
}

// NameKey is what makes names the same: two live templates in a workspace never share it.
func NameKey(name string) string { return strings.ToLower(naming.Normal(name)) }

// Filter narrows a list of templates. Empty fields match every template.
type Filter struct {
	Query  string // part of the name, the description, a tag or the text (Version.Searched), ignoring case
	Tag    string
	Folder string // all templates below it
	Label  string // of any version
	Owner  identity.UserID
	Active *bool // whether a version is active

	UnusedSince Day // no version was read on that day or later, and the template is older; zero: any

	// Deleted selects the templates that the caller can restore, instead of live ones.
	Deleted bool

	// ByName sorts by NameKey instead of the newest first. It has no effect on deleted templates.
	ByName bool
}

// Narrows reports whether f matches fewer templates than the caller can see.
func (f Filter) Narrows() bool {
	f.ByName = false
	return f != Filter{}
}
