package prompt

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// RequestPrefix begins the identifiers of activation requests.
const RequestPrefix = "areq"

// RequestJob rechecks a pending activation request. Its subject is the request.
const RequestJob job.Kind = "prompt.activate"

// Limits of activation requests.
const (
	MaxRequests  = 20                   // how many requests of one template can wait
	MaxApprovals = 10                   // how many approvals a template can require
	MaxScheduled = 366 * 24 * time.Hour // how far ahead a request can schedule the activation
	RequestLife  = 30 * 24 * time.Hour  // how long a request waits, after its scheduled time if it has one
)

// RequestID identifies an activation request.
type RequestID string

// RequestState is an activation request's state. Only one that waits can change.
type RequestState string

// The states.
const (
	Waiting   RequestState = "waiting"
	Activated RequestState = "activated"
	Refused   RequestState = "refused"
	Cancelled RequestState = "cancelled"
)

// Cause is why a request was cancelled.
type Cause string

// The causes.
const (
	Withdrawn       Cause = "withdrawn"       // by its author or a manager
	BaseMoved       Cause = "base_moved"      // another version became active
	VersionChanged  Cause = "version_changed" // the version was edited or deleted
	AccessLost      Cause = "access_lost"     // its author may no longer activate the version
	TemplateDeleted Cause = "template_deleted"
	IncludeLost     Cause = "include_lost"   // an include no longer has a text that its author can see
	ContractBroken  Cause = "contract_break" // the template requires compatibility now, and the version breaks it
	LimitReached    Cause = "limit_reached"  // of labels of a version, or rollouts of a template
	Expired         Cause = "expired"        // it waited for RequestLife
)

// Activating is the caller's request to activate a version.
type Activating struct {
	Expected     *VersionID // the version that the caller believes to be active; nil: any
	Reason       string     // up to 500 characters
	Acknowledged bool       // activate it although it breaks the contract
	NotBefore    time.Time  // zero: now
	BypassChecks bool       // do not wait for required checks; requires the manager role
}

// ActivationRequest asks for the activation of one version in place of the active one, or for a label's move, as soon
// as it has the approvals and passed checks that it needs, and its time has come.
type ActivationRequest struct {
	ID           RequestID
	Template     ID
	Workspace    identity.WorkspaceID
	Label        string // that the version gets; empty: the request is for an activation
	Version      VersionID
	Number       int
	ContentHash  string          // of the version when the request was made
	Parts        []RequestedPart // of a label: the versions that get it, the first itself; others by a rollout
	Base         VersionID       // the version that was active, or had the label, at that time; empty: none
	BaseNumber   int
	By           identity.UserID
	Key          identity.KeyID // the API key that made the request; empty: none
	Ceiling      identity.Role  // the ceiling of the credential that made the request
	Reason       string
	Acknowledged bool
	BypassChecks bool
	NotBefore    time.Time // zero: as soon as possible
	State        RequestState
	Cause        Cause           // empty unless it is cancelled
	EndedAt      time.Time       // zero while it waits
	EndedBy      identity.UserID // empty while it waits, and if the server ended it
	Approvals    int             // how many it needs
	Missing      []string        // the required checks that have not passed
	Decisions    []Decision      // oldest first, one of each user
	Revision     int64
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// RequestPage is one page of activation requests.
type RequestPage = page.Of[ActivationRequest]

// Decision is what one user decided about an activation request.
type Decision struct {
	By       identity.UserID `json:"by"`
	Approves bool            `json:"approves"`
	Comment  string          `json:"comment"` // up to 500 characters
	At       time.Time       `json:"at"`
}

// Approved returns how many users approve r.
func (r *ActivationRequest) Approved() int {
	n := 0
	for _, d := range r.Decisions {
		if d.Approves {
			n++
		}
	}
	return n
}

// ExpiresAt is when r is cancelled if it still waits.
func (r *ActivationRequest) ExpiresAt() time.Time {
	from := r.CreatedAt
	if r.NotBefore.After(from) {
		from = r.NotBefore
	}
	return from.Add(RequestLife)
}

// IsReady reports whether r no longer waits for anything.
func (r *ActivationRequest) IsReady(now time.Time) bool {
	return r.Approved() >= r.Approvals && len(r.Missing) == 0 && !now.Before(r.NotBefore)
}

// approvalsFor returns how many approvals by needs to activate a version: none with the manager role.
func (t *Template) approvalsFor(by identity.Actor) int {
	if !t.Protected || t.Access(by) >= access.Manager {
		return 0
	}
	return t.Approvals
}

// Waits reports whether by's activation has to wait for something, or may have to.
func (t *Template) Waits(by identity.Actor, a Activating) bool { return t.waits(by, "", a.NotBefore) }

// waits reports whether an activation, or a label's move, has to wait for something, or may have to.
func (t *Template) waits(by identity.Actor, label string, notBefore time.Time) bool {
	return !notBefore.IsZero() || (t.IsGated(label) && (t.approvalsFor(by) > 0 || len(t.RequiredChecks) > 0))
}

// MayRequest returns why by may not ask for the activation of v, or nil. A nil v is a version that t does not have.
func (t *Template) MayRequest(by identity.Actor, match revision.Match, v *VersionInfo, a Activating) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v) {
		return ErrVersionNotFound
	}
	if err := t.mayAsk(by, "", a.BypassChecks); err != nil {
		return err
	}
	if err := match.Check(t.Revision); err != nil {
		return err
	}
	if a.Expected != nil && *a.Expected != t.Active.Version {
		return ErrActiveChanged
	}
	return checkWish(by, a)
}

// checkWish returns the errors in what a request waits for.
func checkWish(by identity.Actor, a Activating) error {
	var errs fault.Fields
	switch {
	case a.NotBefore.IsZero():
	case !a.NotBefore.After(by.At):
		errs.Add("/activate_at", "in_the_past", "Must be in the future.")
	case a.NotBefore.Sub(by.At) > MaxScheduled:
		errs.Add("/activate_at", "too_late", "Must be within 366 days.")
	}
	if a.BypassChecks && a.Reason == "" {
		errs.Add("/reason", "required", "Activating a version without its required checks needs a reason.")
	}
	return fault.Join(checkReason(a.Reason), errs.Err())
}

// mayAsk is mayMove for an activation, or a label's move, that waits for approvals.
func (t *Template) mayAsk(by identity.Actor, label string, bypasses bool) error {
	need := access.Editor
	if bypasses {
		need = access.Manager
	}
	if err := t.Allow(by, need); err != nil {
		return err
	}
	if t.IsGated(label) && t.approvalsFor(by) > 0 {
		return t.mayMoveProtected(by, label)
	}
	return t.mayMove(by, label)
}

// Plan returns a request for the activation of v, which MayRequest has allowed, and records nothing. checks are the
// checks of v.
func (t *Template) Plan(by identity.Actor, v *VersionInfo, a Activating, checks []Check) ActivationRequest {
	r := t.plan(by, a)
	r.Version, r.Number, r.ContentHash = v.ID, v.Number, v.ContentHash
	r.Base, r.BaseNumber = t.Active.Version, t.Active.Number
	return t.Seen(r, by, checks)
}

// plan returns a request for no version yet.
func (t *Template) plan(by identity.Actor, a Activating) ActivationRequest {
	return ActivationRequest{
		ID: RequestID(id.New(RequestPrefix)), Template: t.ID, Workspace: t.Workspace, By: by.User, Key: by.Key,
		Ceiling: by.Ceiling, Reason: a.Reason, Acknowledged: a.Acknowledged, BypassChecks: a.BypassChecks,
		NotBefore: a.NotBefore, State: Waiting, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
}

// Seen returns r with the approvals and checks that t requires now. t was loaded for the author of r. checks belong to
// the versions of r.
func (t *Template) Seen(r ActivationRequest, author identity.Actor, checks []Check) ActivationRequest {
	r.Approvals, r.Missing = 0, nil
	if !t.IsGated(r.Label) {
		return r
	}
	r.Approvals = t.approvalsFor(author)
	if !r.BypassChecks {
		r.Missing = t.missing(r.Entering(), checks)
	}
	return r
}

// Request records r, a request that waits. open are the other waiting requests of t. Repeating a request returns the
// waiting one. ErrRequested if another request waits for the same version; ErrRequestLimit if MaxRequests wait.
func (t *Template) Request(
	by identity.Actor, r ActivationRequest, open []ActivationRequest,
) (ActivationRequest, error) {
	for _, other := range open {
		switch {
		case other.Label != r.Label, other.Version != r.Version:
		case other.By == r.By && other.NotBefore.Equal(r.NotBefore) && slices.Equal(other.Parts, r.Parts):
			return other, nil
		default:
			return r, ErrRequested
		}
	}
	if len(open) >= MaxRequests {
		return r, ErrRequestLimit
	}
	data := map[string]any{"base_version_id": event.ID(r.Base), "reason": r.Reason, "approvals_required": r.Approvals,
		"missing_checks": sorted(r.Missing)}
	if !r.NotBefore.IsZero() {
		data["activate_at"] = r.NotBefore
	}
	if weights := r.Rollout(); len(weights) > 0 {
		data["weights"] = named(weights)
	}
	t.OpenRequests++
	t.ChangedRequests = append(t.ChangedRequests, r)
	t.Record(by, "prompt_version.activation_requested", string(t.ID), r.named(data))
	return r, nil
}

// Decide records that by approves or refuses r. Requires the editor role, and a person who did not make the request. A
// refusal ends it. A later decision of the same user replaces the earlier one.
func (t *Template) Decide(by identity.Actor, r ActivationRequest, d Decision) (ActivationRequest, error) {
	if err := t.Allow(by, access.Editor); err != nil {
		return r, err
	}
	switch {
	case by.User == r.By:
		return r, ErrForbidden.Because("Another user has to approve or refuse your request.")
	case by.Service:
		return r, ErrForbidden.Because("A service key cannot approve or refuse a request.")
	case r.State != Waiting:
		return r, ErrRequestEnded
	case naming.Reordered(d.Comment):
		return r, naming.TextError("/comment", d.Comment)
	case utf8.RuneCountInString(d.Comment) > 500:
		return r, fault.InField("/comment", "too_long", "Must have at most 500 characters.")
	}
	d.By, d.At = by.User, by.At
	r.Decisions = append(slices.DeleteFunc(slices.Clone(r.Decisions),
		func(old Decision) bool { return old.By == by.User }), d)
	data := r.named(map[string]any{"comment": d.Comment})
	if d.Approves {
		t.Record(by, "prompt_version.activation_approved", string(t.ID), data)
		return t.changed(by, r), nil
	}
	t.Record(by, "prompt_version.activation_refused", string(t.ID), data)
	return t.end(by, r, Refused, ""), nil
}

// Withdraw cancels r. Requires its author, or the manager role.
func (t *Template) Withdraw(by identity.Actor, r ActivationRequest) (ActivationRequest, error) {
	need := access.Manager
	if by.User == r.By && !by.ReadOnly() {
		need = access.Viewer
	}
	if err := t.Allow(by, need); err != nil {
		return r, err
	}
	if r.State != Waiting {
		return r, ErrRequestEnded
	}
	return t.Cancel(by, r, Withdrawn), nil
}

// Cancel cancels r for a cause that by did not choose.
func (t *Template) Cancel(by identity.Actor, r ActivationRequest, c Cause) ActivationRequest {
	t.Record(by, "prompt_version.activation_cancelled", string(t.ID), r.named(map[string]any{"cause": c}))
	return t.end(by, r, Cancelled, c)
}

// Look returns r with the approvals and checks that it needs now, and the cause if it must be cancelled. With an empty
// cause it waits, or IsReady. author is the author of r, without a role if they have lost access, and t was loaded for
// them.
func (t *Template) Look(author identity.Actor, r ActivationRequest, s Standing) (ActivationRequest, Cause) {
	r = t.Seen(r, author, s.Checks)
	switch {
	case !t.DeletedAt.IsZero():
		return r, TemplateDeleted
	case t.mayAsk(author, r.Label, r.BypassChecks) != nil:
		return r, AccessLost
	case s.changed(r):
		return r, VersionChanged
	case s.Base != r.Base:
		return r, BaseMoved
	case !author.At.Before(r.ExpiresAt()):
		return r, Expired
	}
	return r, ""
}

// Keep saves the needs of r if they differ from the previous needs. It records no event, because the change that caused
// the difference has one.
func (t *Template) Keep(by identity.Actor, previous, r ActivationRequest) {
	if previous.Approvals != r.Approvals || !slices.Equal(previous.Missing, r.Missing) {
		t.changed(by, r)
	}
}

// ActivateReady activates v for r, a planned request that IsReady and was never recorded.
func (t *Template) ActivateReady(by identity.Actor, v *VersionInfo, r ActivationRequest) {
	r.ID = ""
	t.activate(by, v, r)
}

// Fulfil activates v for r, a recorded request that IsReady. The ledger names the author of r.
func (t *Template) Fulfil(author identity.Actor, v *VersionInfo, r ActivationRequest) ActivationRequest {
	t.activate(author, v, r)
	return t.end(author, r, Activated, "")
}

// end ends r.
func (t *Template) end(by identity.Actor, r ActivationRequest, s RequestState, c Cause) ActivationRequest {
	r.State, r.Cause, r.EndedAt, r.EndedBy = s, c, by.At, by.User
	t.OpenRequests--
	return t.changed(by, r)
}

// changed keeps r for the store.
func (t *Template) changed(by identity.Actor, r ActivationRequest) ActivationRequest {
	r.Revision++
	r.UpdatedAt = by.At
	t.ChangedRequests = append(t.ChangedRequests, r)
	return r
}

// named adds to an event's data the request that it is about, and its version.
func (r *ActivationRequest) named(data map[string]any) map[string]any {
	data["request_id"], data["version_id"], data["version_number"] = r.ID, r.Version, r.Number
	if r.Label != "" {
		data["label"] = r.Label
	}
	return data
}
