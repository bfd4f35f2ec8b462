package prompt

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// maxGuardedLabels is how many labels of a template can be gated, and how many can be protected.
const maxGuardedLabels = 10

// RequestedPart is a version that gets a label, or a part of its readers, when a request is fulfilled.
type RequestedPart struct {
	Version     VersionID `json:"version_id"`
	Number      int       `json:"number"`
	Percent     int       `json:"weight"`
	ContentHash string    `json:"content_hash"`   // when the request was made
	Guard       Guard     `json:"guard,omitzero"` // of the rollout, with the first version
}

// IsGated reports whether approvals, required checks and the contract apply to a label. The empty label stands for
// activations.
func (t *Template) IsGated(label string) bool {
	return label == "" || slices.Contains(t.GatedLabels, label)
}

// Entering returns the versions that a label's move gives to readers, and to which its gates apply: all that did not
// have the label. There are none if the label is not gated.
func (t *Template) Entering(a Activation) (entering []VersionID) {
	if !t.IsGated(a.Label) {
		return nil
	}
	versions := []VersionID{a.To}
	for _, w := range a.Weights {
		versions = append(versions, w.Version)
	}
	for _, v := range versions {
		if v != "" && v != a.From && !slices.Contains(entering, v) {
			entering = append(entering, v)
		}
	}
	return entering
}

// LabelWaits reports whether by's move has to wait for something, or may have to.
func (t *Template) LabelWaits(by identity.Actor, m LabelMove) bool {
	return t.waits(by, m.Label, m.NotBefore)
}

// mayMove is mayRelease for moves of certain labels: protected ones require the manager role.
func (t *Template) mayMove(by identity.Actor, labels ...string) error {
	if err := t.mayRelease(by); err != nil {
		return err
	}
	return t.mayMoveProtected(by, labels...)
}

func (t *Template) mayMoveProtected(by identity.Actor, labels ...string) error {
	if t.Access(by) >= access.Manager {
		return nil
	}
	for _, label := range labels {
		if slices.Contains(t.ProtectedLabels, label) {
			return ErrForbidden.Because(
				fmt.Sprintf("The label %s is protected: moving it requires the manager role.", label))
		}
	}
	return nil
}

// checkGates returns ErrGated if one of labels is gated, and giving it to a version has to wait.
func (t *Template) checkGates(by identity.Actor, labels []string) error {
	for _, label := range labels {
		if t.LabelWaits(by, LabelMove{Label: label}) {
			return ErrGated
		}
	}
	return nil
}

// PlanLabel returns a request to give d's label to versions, the first of which gets the label itself, and records
// nothing. A nil version is one that t does not have. The request does not have the checks yet that it waits for.
func (t *Template) PlanLabel(
	by identity.Actor, versions []*VersionInfo, d RolloutDraft, labels Labels,
) (*ActivationRequest, error) {
	if err := t.Allow(by, access.Viewer); err != nil {
		return nil, err
	}
	for _, v := range versions {
		if !t.Has(by, v) {
			return nil, ErrVersionNotFound
		}
	}
	if err := t.mayAsk(by, d.Label, d.BypassChecks); err != nil {
		return nil, err
	}
	if err := d.LabelMove.check(labels); err != nil {
		return nil, err
	}
	err := fault.Join(checkLabel(d.Label), checkWish(by, d.activating()))
	if len(versions) != 1 || d.Versions[0].Weight != slotCount { // otherwise it is no rollout
		err = fault.Join(err, d.checkWeights(versions), d.Guard.check())
	}
	if err != nil {
		return nil, err
	}
	current := labels[d.Label]
	r := t.plan(by, d.activating())
	r.Label, r.Base, r.BaseNumber = d.Label, current.Version, current.Number
	for i, v := range versions {
		r.Parts = append(r.Parts, RequestedPart{Version: v.ID, Number: v.Number, Percent: d.Versions[i].Weight,
			ContentHash: v.ContentHash})
	}
	r.Parts[0].Guard = d.Guard
	r.Subject()
	return &r, nil
}

// Subject sets the version that a request for a label is about: the first that does not have the label yet.
func (r *ActivationRequest) Subject() {
	if len(r.Parts) == 0 {
		return
	}
	part := r.Parts[0]
	if entering := r.Entering(); len(entering) > 0 {
		part = entering[0]
	}
	r.Version, r.Number, r.ContentHash = part.Version, part.Number, part.ContentHash
}

// Entering returns the versions that readers get when r is fulfilled, and that they did not get by the same name
// before: the gates apply to them.
func (r *ActivationRequest) Entering() []RequestedPart {
	if r.Label == "" {
		return []RequestedPart{{Version: r.Version, Number: r.Number, ContentHash: r.ContentHash}}
	}
	return slices.DeleteFunc(slices.Clone(r.Parts), func(p RequestedPart) bool { return p.Version == r.Base })
}

// Versions returns every version that r gives to readers.
func (r *ActivationRequest) Versions() []VersionID {
	if r.Label == "" {
		return []VersionID{r.Version}
	}
	versions := make([]VersionID, len(r.Parts))
	for i, p := range r.Parts {
		versions[i] = p.Version
	}
	return versions
}

// Rollout returns the weights that r asks for; none if it asks for one version.
func (r *ActivationRequest) Rollout() []Weight {
	if len(r.Parts) < 2 {
		return nil
	}
	weights := make([]Weight, len(r.Parts))
	for i, p := range r.Parts {
		weights[i] = Weight{Version: p.Version, Number: p.Number, Percent: p.Percent}
	}
	return weights
}

// draft returns what r asks for.
func (r *ActivationRequest) draft() RolloutDraft {
	d := RolloutDraft{LabelMove: LabelMove{Label: r.Label, Reason: r.Reason, fulfils: r}, Guard: r.Guard()}
	for _, p := range r.Parts {
		d.Versions = append(d.Versions, WeightedRef{Ref: Ref{ID: p.Version}, Weight: p.Percent})
	}
	return d
}

// Guard returns how the versions of the rollout that r asks for are compared; zero: they are not.
func (r *ActivationRequest) Guard() (g Guard) {
	for _, p := range r.Parts {
		g = cmp.Or(g, p.Guard)
	}
	return g
}

// Standing is what decides about a request at a certain time.
type Standing struct {
	Base     VersionID      // the version that is active, or has the label; empty: none
	Versions []*VersionInfo // as in ActivationRequest.Versions; nil if deleted
	Checks   []Check        // of all of them
}

// changed reports whether a version of r was edited or deleted.
func (s Standing) changed(r ActivationRequest) bool {
	for i, v := range s.Versions {
		hash := r.ContentHash
		if r.Label != "" {
			hash = r.Parts[i].ContentHash
		}
		if v == nil || v.ContentHash != hash {
			return true
		}
	}
	return false
}

// JoinFor is Join for the rollout that r, which IsReady, asks for.
func (t *Template) JoinFor(author identity.Actor, v *VersionInfo, r ActivationRequest) error {
	return t.Join(author, v, r.draft().LabelMove)
}

// FulfilLabel gives the label of r, which IsReady, to first, and divides its readers among first and others if r asks
// for that. If r was recorded (it has an ID), it ends, and the ledger names it.
func (t *Template) FulfilLabel(
	author identity.Actor, first *Version, others []*VersionInfo, r ActivationRequest, labels Labels,
) (err error) {
	d, entries := r.draft(), len(t.Activated)
	if len(others) == 0 {
		err = t.MoveLabel(author, first, d.LabelMove, labels)
	} else {
		err = t.RollOut(author, first, others, d, labels)
	}
	if err != nil || r.ID == "" {
		return err
	}
	for i := entries; i < len(t.Activated); i++ {
		t.Activated[i].Request = r.ID
	}
	t.end(author, r, Activated, "")
	return nil
}

// note adds to an event's data why a label moved, and what the move fulfils.
func (m LabelMove) note(data map[string]any) map[string]any {
	if m.Reason != "" {
		data["reason"] = m.Reason
	}
	if m.fulfils == nil {
		return data
	}
	if m.fulfils.ID != "" {
		data["request_id"] = m.fulfils.ID
	}
	if m.fulfils.BypassChecks {
		data["checks_bypassed"] = true
	}
	return data
}

// setNames changes a list of names, and adds that to an event's changes. A nil next keeps it.
func setNames(names, next *[]string, field string, changes map[string]any) {
	if next == nil || slices.Equal(sorted(*next), sorted(*names)) {
		return
	}
	changes[field] = event.Change{From: sorted(*names), To: sorted(*next)}
	*names = slices.Sorted(slices.Values(*next))
}

// checkGuarded adds what is wrong with the names of gated or protected labels.
func checkGuarded(errs *fault.Fields, pointer string, labels []string) {
	if len(labels) > maxGuardedLabels {
		errs.Add(pointer, "too_many_items", fmt.Sprintf("Must have at most %d items.", maxGuardedLabels))
	}
	for i, label := range labels {
		item := fmt.Sprintf("%s/%d", pointer, i)
		if addLabel(errs, item, label); slices.Contains(labels[:i], label) {
			errs.Add(item, "duplicate_item", "Must not be listed twice.")
		}
	}
}
