package prompt

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// Labels maps each template label to the version that has it.
type Labels map[string]Labelled

// Labelled is the version that has a label.
type Labelled struct {
	Version VersionID
	Number  int
	By      identity.UserID // moved the label there; empty if that was before moves were recorded
	Rollout *Rollout        // that divides the readers of the label; nil: none runs
}

// LabelMove is the caller's request to give a label to a version, or to take it away.
type LabelMove struct {
	Label    string
	Expected *Ref   // the version that the caller believes to have the label, by id or number; the zero Ref: none
	Reason   string // up to 500 characters

	// How a gated label waits, as in Activating. NotBefore also applies to other labels.
	Acknowledged bool
	NotBefore    time.Time
	BypassChecks bool

	fulfils *ActivationRequest // that passed the gates; nil: none, and the gates apply
}

// activating returns what m asks for beside the label.
func (m LabelMove) activating() Activating {
	return Activating{Reason: m.Reason, Acknowledged: m.Acknowledged, NotBefore: m.NotBefore,
		BypassChecks: m.BypassChecks}
}

// check returns the error in the reason, or ErrLabelChanged if another version than the expected one has the label.
func (m LabelMove) check(labels Labels) error {
	if err := checkReason(m.Reason); err != nil || m.Expected == nil {
		return err
	}
	if current := labels[m.Label]; *m.Expected != (Ref{ID: current.Version}) &&
		*m.Expected != (Ref{Number: current.Number}) {
		return ErrLabelChanged
	}
	return nil
}

// MoveLabel gives a label to v, and freezes it. Another version of t that has it loses it, and a rollout of the label
// ends. Repeating it changes nothing. A nil v is a version that t does not have. labels are all labels in t. It returns
// ErrLabelLimit if v has 10 labels, and ErrGated if the label is gated and has to wait (LabelWaits).
func (t *Template) MoveLabel(by identity.Actor, v *Version, m LabelMove, labels Labels) error {
	if err := t.mayLabel(by, v.info(), m); err != nil {
		return err
	}
	if err := m.check(labels); err != nil {
		return err
	}
	if slices.Contains(v.Labels, m.Label) {
		if labels[m.Label].Rollout != nil {
			t.labelled(by, m.Label, v.info(), m.Reason, labels)
			t.endRollouts(by, []string{m.Label}, labels, m.Reason)
		}
		return nil
	}
	if err := checkLabel(m.Label); err != nil {
		return err
	}
	if len(v.Labels) == maxLabels {
		return ErrLabelLimit
	}
	t.relabel(by, v, append(slices.Clone(v.Labels), m.Label), m, labels)
	return nil
}

// RemoveLabel removes a label from v, the version that has it, or nil.
func (t *Template) RemoveLabel(by identity.Actor, match revision.Match, v *Version, m LabelMove, labels Labels) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if err := t.mayMove(by, m.Label); err != nil {
		return err
	}
	if err := m.check(labels); err != nil {
		return err
	}
	if v == nil {
		return ErrLabelNotFound
	}
	if err := match.Check(v.Revision); err != nil {
		return err
	}
	t.relabel(by, v, RemovedLabels(v.Labels, []string{m.Label}), m, labels)
	return nil
}

// relabel changes nothing of v but its labels.
func (t *Template) relabel(by identity.Actor, v *Version, labels []string, m LabelMove, allLabels Labels) {
	data := m.note(map[string]any{})
	t.setLabels(by, v.info(), labels, allLabels, m.Reason, data)
	v.Revision++
	v.UpdatedAt = by.At
	t.Record(by, "prompt_version.updated", string(t.ID), v.named(data))
}

// setLabels gives v these labels, and adds them to an event's data.
func (t *Template) setLabels(by identity.Actor, v *VersionInfo, labels []string, allLabels Labels, reason string,
	data map[string]any) {
	previous := v.Labels
	v.Labels = sorted(labels)
	data["labels"] = event.Change{From: sorted(previous), To: v.Labels}
	allLabels.taken(v, data)
	if len(v.Labels) > 0 {
		t.freeze(v)
	}
	t.relabelled(by, v, previous, allLabels, reason)
	lost := RemovedLabels(previous, v.Labels)
	t.unlabelled(by, v, lost, reason)
	t.endRollouts(by, lost, allLabels, reason)
}

// relabelled adds to the ledger the labels that v has and did not have before, and ends their rollouts.
func (t *Template) relabelled(by identity.Actor, v *VersionInfo, previous []string, labels Labels, reason string) {
	removals := RemovedLabels(v.Labels, previous)
	for _, label := range removals {
		t.labelled(by, label, v, reason, labels)
	}
	t.endRollouts(by, removals, labels, reason)
}

// labelled adds to the ledger that v has a label.
func (t *Template) labelled(by identity.Actor, label string, v *VersionInfo, reason string, labels Labels) {
	from := labels[label]
	t.Activated = append(t.Activated, Activation{Label: label, From: from.Version, FromNumber: from.Number,
		To: v.ID, ToNumber: v.Number, By: by.User, At: by.At, Reason: reason})
}

// unlabelled adds to the ledger the labels that v lost, and no other version got.
func (t *Template) unlabelled(by identity.Actor, v *VersionInfo, lost []string, reason string) {
	for _, label := range lost {
		t.Activated = append(t.Activated, Activation{Label: label, From: v.ID, FromNumber: v.Number, By: by.User,
			At: by.At, Reason: reason})
	}
}

// taken adds to an event's data the numbers of the versions that lose labels to v.
func (l Labels) taken(v *VersionInfo, data map[string]any) map[string]any {
	from := map[string]int{}
	for _, label := range v.Labels {
		if n := l[label].Number; n != 0 && n != v.Number {
			from[label] = n
		}
	}
	if len(from) > 0 {
		data["labels_taken_from"] = from
	}
	return data
}

// othersAmong reports whether another user than by gave one of labels to the version that has it.
func (l Labels) othersAmong(by identity.Actor, labels []string) bool {
	return slices.ContainsFunc(labels, func(label string) bool {
		mover := l[label].By
		return mover != "" && mover != by.User
	})
}

// RemovedLabels returns the labels of before that are not in after.
func RemovedLabels(previous, next []string) []string {
	return slices.DeleteFunc(slices.Clone(previous), func(l string) bool { return slices.Contains(next, l) })
}
