package prompt

import (
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Version is one content state. It starts as a draft that can be edited. The first activation or label freezes it
// permanently.
type Version struct {
	VersionInfo
	Content Content

	// Pinned is the content with its includes as they were when the version was frozen; nil if it has none, or is a
	// draft.
	Pinned *Expansion

	// Choice is how a rollout chose the version for its reader; nil if none did.
	Choice *Choice
}

// VersionInfo is a version without its content.
type VersionInfo struct {
	ID               VersionID
	Template         ID
	Number           int // from 1, never reused
	ContentHash      string
	Labels           []string // sorted; each belongs to at most one template version
	CommitMessage    string   // up to 500 characters
	Frozen           bool
	FirstActivatedAt time.Time // zero: not yet
	Revision         int64
	CreatedBy        identity.UserID
	EditedBy         identity.UserID // who changed the content last; empty: CreatedBy
	CreatedAt        time.Time
	UpdatedAt        time.Time
	Includes         []Include // in the order of their first use
	Deleted          bool      // set by Delete, for the store to remove it
}

// isBy reports whether a user is an author of v. No one created the keys that the server's commands make.
func (v *VersionInfo) isBy(user identity.UserID) bool {
	return user != "" && (user == v.CreatedBy || user == v.EditedBy)
}

// Expanded returns v with the content that its readers get.
func (v *Version) Expanded(e Expansion) *Version {
	out := *v
	out.Content, out.ContentHash, out.Pinned = e.Content, e.Hash, &e
	return &out
}

// info returns the VersionInfo of v; nil for nil.
func (v *Version) info() *VersionInfo {
	if v == nil {
		return nil
	}
	return &v.VersionInfo
}

// VersionSummary is what a list shows about a version: its content without the text, messages, tools and response
// format, which can be megabytes.
type VersionSummary struct {
	VersionInfo
	Format    Format
	Variables []Variable
	Model     *ModelConfig
	Reads     *int64 // of applications within the last ReadsListed days; nil if they were not counted
}

// Summary returns what a list shows of v.
func (v *Version) Summary() VersionSummary {
	return VersionSummary{VersionInfo: v.VersionInfo, Format: v.Content.Format, Variables: v.Content.Variables,
		Model: v.Content.Model}
}

// VersionPage is one page of versions.
type VersionPage = page.Of[VersionSummary]

// VersionDraft is the caller's request for a new version.
type VersionDraft struct {
	Content           Content
	VariablesDeclared bool // otherwise they are inferred from the text
	Labels            []string
	CommitMessage     string
	Base              VersionID // if given, must be the latest
	Activate          bool      // make it the active version at once
	Reason            string    // of the activation, up to 500 characters; empty unless Activate
	Acknowledged      bool      // activate it although it breaks the contract (Compatibility)

	Pointer string // to the item that has it, in an import; empty: the template's

	// Copied is the version that this one is a copy of, if any. The copy keeps its number, and is frozen if it is.
	Copied *VersionInfo

	checked *checkedContent // of Check; nil without it
}

// Type returns the type of the templates that can have d.
func (d VersionDraft) Type() Type {
	if len(d.Content.Messages) > 0 {
		return Chat
	}
	return Text
}

// AddVersion creates the next version of t, a draft unless it has labels or is activated. used are the labels of t.
func (t *Template) AddVersion(by identity.Actor, d VersionDraft, labels Labels) (*Version, error) {
	denial := t.Allow(by, access.Editor)
	if len(d.Labels) > 0 || d.Activate {
		denial = t.mayMove(by, d.Labels...)
	}
	if denial != nil {
		return nil, denial
	}
	if d.Base != "" && d.Base != t.AllVersions.Latest {
		return nil, ErrBaseOutdated
	}
	content, hash, err := d.content(t.Type)
	if err := fault.Join(err, checkNotes(d.Labels, d.CommitMessage), d.checkReason()); err != nil {
		return nil, err
	}
	if err := t.checkGates(by, d.Labels); err != nil {
		return nil, err
	}
	t.LastNumber++
	if d.Copied != nil {
		t.LastNumber = max(t.LastNumber, d.Copied.Number)
	}
	v := &Version{Content: content, VersionInfo: VersionInfo{
		ID: VersionID(id.New(VersionPrefix)), Template: t.ID, Number: t.LastNumber, ContentHash: hash,
		Labels: sorted(d.Labels), CommitMessage: d.CommitMessage,
		Revision: 1, CreatedBy: by.User, CreatedAt: by.At, UpdatedAt: by.At,
	}}
	t.AllVersions.add(v.info())
	if len(v.Labels) > 0 || (d.Copied != nil && d.Copied.Frozen) {
		t.freeze(v.info())
	}
	t.Record(by, "prompt_version.created", string(t.ID),
		v.named(labels.taken(v.info(), map[string]any{"labels": v.Labels})))
	t.relabelled(by, v.info(), nil, labels, "")
	if d.Activate {
		return v, t.Activate(by, nil, v.info(), nil, d.Reason)
	}
	return v, nil
}

// VersionChanges are new values for some version fields; nil keeps the old one.
type VersionChanges struct {
	Content func(Content) Content // nil: the content stays

	// VariablesDeclared means that Content declares the variables. InferVariables means that they are inferred from the
	// new text. If neither is set, the variables stay as they are, unless they are those inferred from the old text:
	// then they are inferred again, from the new one.
	VariablesDeclared bool
	InferVariables    bool

	Labels        *[]string
	CommitMessage *string
}

// apply returns old with the changes.
func (c VersionChanges) apply(t Type, old Content) (Content, error) {
	if c.Content == nil {
		return old, nil
	}
	infer := c.InferVariables || (!c.VariablesDeclared && old.IsInferred())
	return c.Content(old).checked(t, !infer)
}

// ChangeVersion edits a version: its content only while it is a draft, labels and commit message
// always. A label of another version moves to v. used are the labels of t.
func (t *Template) ChangeVersion(by identity.Actor, match revision.Match, v *Version, c VersionChanges,
	allLabels Labels) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v.info()) {
		return ErrVersionNotFound
	}
	relabels := c.Labels != nil && !slices.Equal(sorted(*c.Labels), v.Labels)
	denial := t.Allow(by, access.Editor)
	if relabels {
		denial = t.mayMove(by, slices.Concat(RemovedLabels(v.Labels, *c.Labels), RemovedLabels(*c.Labels, v.Labels))...)
	}
	if denial != nil {
		return denial
	}
	if err := match.Check(v.Revision); err != nil {
		return err
	}
	if relabels && match == nil && allLabels.othersAmong(by, RemovedLabels(v.Labels, *c.Labels)) {
		return ErrLabelChanged.Because("The change would take away a label that another user gave to the version. " +
			"Read the version and send its ETag in If-Match, or delete the label by itself.")
	}
	if c.Content != nil && v.Frozen {
		return ErrVersionFrozen
	}
	changes := map[string]any{}
	content, err := c.apply(t.Type, v.Content)
	message := v.CommitMessage
	var labels []string // the labels of v may be from before one was reserved
	if relabels {
		labels = *c.Labels // in the order of the request, which errors point into
	}
	if c.CommitMessage != nil {
		message = *c.CommitMessage
	}
	if err := fault.Join(err, checkNotes(labels, message)); err != nil {
		return err
	}
	if relabels {
		if err := t.checkGates(by, RemovedLabels(*c.Labels, v.Labels)); err != nil {
			return err
		}
	}
	if c.Content != nil {
		if v.Content = content; content.Hash() != v.ContentHash {
			v.EditedBy = by.User
		}
		event.Set(&v.ContentHash, new(content.Hash()), "content_hash", changes)
	}
	if message != v.CommitMessage {
		v.CommitMessage = message
		changes["commit_message"] = true
	}
	if relabels {
		t.setLabels(by, v.info(), *c.Labels, allLabels, "", changes)
	}
	if len(changes) > 0 {
		v.Revision++
		v.UpdatedAt = by.At
		t.Record(by, "prompt_version.updated", string(t.ID), v.named(changes))
	}
	return nil
}

// Activate makes v the version that callers receive, and freezes it. Repeating it changes nothing. A
// nil v is a version that t does not have; only callers who may see t learn that. expected, if given,
// is the version that the caller believes to be active. ErrGated if the activation has to wait for approvals or checks.
func (t *Template) Activate(by identity.Actor, match revision.Match, v *VersionInfo, expectation *VersionID,
	reason string) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v) {
		return ErrVersionNotFound
	}
	if err := t.mayRelease(by); err != nil {
		return err
	}
	if err := match.Check(t.Revision); err != nil {
		return err
	}
	if expectation != nil && *expectation != t.Active.Version {
		return ErrActiveChanged
	}
	if err := checkReason(reason); err != nil {
		return err
	}
	if t.Active.Version == v.ID {
		return nil
	}
	if t.Waits(by, Activating{}) {
		return ErrGated
	}
	t.activate(by, v, ActivationRequest{Reason: reason})
	return nil
}

// activate makes v the active version, for a request, or for none if r has no ID. Repeating it changes nothing.
func (t *Template) activate(by identity.Actor, v *VersionInfo, r ActivationRequest) {
	if t.Active.Version == v.ID {
		return
	}
	if v.FirstActivatedAt.IsZero() {
		t.freeze(v)
		v.FirstActivatedAt = by.At
		v.Revision++
		v.UpdatedAt = by.At
	}
	step := Activation{From: t.Active.Version, FromNumber: t.Active.Number, To: v.ID, ToNumber: v.Number,
		By: by.User, At: by.At, Reason: r.Reason, Request: r.ID}
	t.Active = Active{Version: v.ID, Number: v.Number, At: by.At, By: by.User}
	t.Activated = append(t.Activated, step)
	data := v.named(map[string]any{"active_version_id": event.Change{From: event.ID(step.From), To: step.To},
		"reason": r.Reason})
	if r.ID != "" {
		data["request_id"] = r.ID
	}
	if r.BypassChecks {
		data["checks_bypassed"] = true
	}
	t.Record(by, "prompt_template.activated", string(t.ID), data)
	t.Touch(by)
}

// DeleteVersion deletes a version that is not active, and not part of one of the rollouts of t. A draft requires the
// editor role, any other version the manager role. Its number is never reused.
func (t *Template) DeleteVersion(
	by identity.Actor, match revision.Match, v *VersionInfo, rollouts []Rollout,
) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v) {
		return ErrVersionNotFound
	}
	need := access.Editor
	if v.Frozen {
		need = access.Manager
	}
	if err := t.Allow(by, need); err != nil {
		return err
	}
	if err := match.Check(v.Revision); err != nil {
		return err
	}
	if t.Active.Version == v.ID {
		return ErrVersionActive
	}
	for _, r := range rollouts {
		if slices.ContainsFunc(r.Parts, func(p RolloutPart) bool { return p.Version == v.ID }) {
			return ErrVersionInRollout
		}
	}
	v.Deleted = true
	t.unlabelled(by, v, v.Labels, "")
	t.Record(by, "prompt_version.deleted", string(t.ID), v.named(map[string]any{"labels": sorted(v.Labels)}))
	return nil
}

// Has reports whether v, which may be nil, is a version of t that by may see.
func (t *Template) Has(by identity.Actor, v *VersionInfo) bool {
	return v != nil && v.Template == t.ID && (v.Frozen || t.SeesDrafts(by))
}

// freeze makes v permanent, and visible to viewers.
func (t *Template) freeze(v *VersionInfo) {
	if !v.Frozen {
		v.Frozen = true
		t.FrozenVersions.add(v)
	}
}

// Diff compares the contents of two versions.
func Diff(from, to *Version) Difference {
	return DiffContents(fmt.Sprintf("v%d", from.Number), fmt.Sprintf("v%d", to.Number), from.Content, to.Content)
}

// Refs returns the references to v that do not depend on other versions: its id, its number and its
// labels.
func (v *VersionInfo) Refs() []string {
	return append([]string{string(v.ID), fmt.Sprintf("v%d", v.Number)}, v.Labels...)
}

// named adds to an event's data the version that it is about.
func (v *VersionInfo) named(data map[string]any) map[string]any {
	data["version_id"], data["version_number"] = v.ID, v.Number
	return data
}
