package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Bounds of rollouts.
const (
	MaxRollouts        = 10 // how many run on a template at the same time
	MaxRolloutVersions = 10 // how many versions a rollout has

	rolloutPrefix = "prol"
	slotCount     = 100
)

// Rollout divides a label's readers among versions by the reader's key, such as a user's id. The first part has the
// label: callers without a key, chat templates and includes read it.
type Rollout struct {
	Label string
	Seed  string        // differs between rollouts, so that it is not always the same readers who go first
	Parts []RolloutPart // none: the rollout has ended

	Guard    Guard
	Since    Day       // when it started; zero: unknown
	WarnedAt time.Time // when Warn reported that a version is worse; zero: not yet
}

// RolloutPart is the share of one version.
type RolloutPart struct {
	Version VersionID
	Number  int
	Slots   []byte // which of the rollout's 100 slots it has; each slot is 1 % of all keys
}

// Weight returns the percentage of all keys for which the version is chosen.
func (p RolloutPart) Weight() int { return len(p.Slots) }

// Choice is the rollout by which a version was chosen for a reader.
type Choice struct {
	Rollout *Rollout
	Weight  int // of the version, in percent
}

// Choose returns the part that has key. The same key gets the same part as long as the weights are the same. After a
// change of the weights, only as many keys get another part as the weights require.
func (r *Rollout) Choose(key string) RolloutPart {
	sum := sha256.Sum256([]byte(r.Seed + "\x00" + key))
	slot := byte(binary.BigEndian.Uint64(sum[:8]) % slotCount)
	for _, p := range r.Parts {
		if slices.Contains(p.Slots, slot) {
			return p
		}
	}
	return r.Parts[0] // the previous release of Atrium deleted the version that had the slot
}

// Weights returns the weights of the versions, in the order of the parts; none for a nil rollout.
func (r *Rollout) Weights() []Weight {
	if r == nil {
		return nil
	}
	out := make([]Weight, len(r.Parts))
	for i, p := range r.Parts {
		out[i] = Weight{Version: p.Version, Number: p.Number, Percent: p.Weight()}
	}
	return out
}

// Weight is the share among a label's readers that a version gets.
type Weight struct {
	Version VersionID `json:"version_id"`
	Number  int       `json:"number"`
	Percent int       `json:"weight"` // from 1 to 100
}

// WeightedRef is a version and the weight that the caller wants it to have.
type WeightedRef struct {
	Ref    Ref
	Weight int // percent
}

// RolloutDraft is the caller's request to divide a label's readers among versions.
type RolloutDraft struct {
	LabelMove
	Versions []WeightedRef // the first gets the label; the weights add up to 100
	Guard    Guard
}

// Join freezes v, a version that joins the rollout of m's label. v is nil if t does not have the version.
func (t *Template) Join(by identity.Actor, v *VersionInfo, m LabelMove) error {
	if err := t.mayLabel(by, v, m); err != nil || v.Frozen {
		return err
	}
	t.freeze(v)
	v.Revision++
	v.UpdatedAt = by.At
	t.Record(by, "prompt_version.updated", string(t.ID), v.named(map[string]any{}))
	return nil
}

// mayLabel returns nil if by may give m's label to v, which may be nil, at once.
func (t *Template) mayLabel(by identity.Actor, v *VersionInfo, m LabelMove) error {
	if err := t.Allow(by, access.Viewer); err != nil {
		return err
	}
	if !t.Has(by, v) {
		return ErrVersionNotFound
	}
	if m.fulfils != nil {
		return nil
	}
	if err := t.mayMove(by, m.Label); err != nil {
		return err
	}
	return t.checkGates(by, []string{m.Label})
}

// RollOut divides a label's readers among first, which gets the label, and others, which have joined. A rollout of the
// label that runs already is changed. used are the labels of t. Repeating it changes nothing.
func (t *Template) RollOut(
	by identity.Actor, first *Version, others []*VersionInfo, d RolloutDraft, labels Labels,
) error {
	if err := t.mayLabel(by, first.info(), d.LabelMove); err != nil {
		return err
	}
	if err := d.LabelMove.check(labels); err != nil {
		return err
	}
	versions := append([]*VersionInfo{first.info()}, others...)
	if err := fault.Join(checkLabel(d.Label), d.checkWeights(versions), d.Guard.check()); err != nil {
		return err
	}
	isLabelled := slices.Contains(first.Labels, d.Label)
	previous := labels[d.Label].Rollout
	switch {
	case !isLabelled && len(first.Labels) == maxLabels:
		return ErrLabelLimit
	case previous == nil && labels.rollouts() == MaxRollouts:
		return ErrRolloutLimit
	}
	next := previous.allocate(d, versions)
	next.guard(by, previous, d.Guard)
	if isLabelled && slices.Equal(previous.Weights(), next.Weights()) && previous.Guard == next.Guard {
		return nil
	}
	if isLabelled {
		t.labelled(by, d.Label, first.info(), d.Reason, labels)
	} else {
		others := Labels{} // in which the label ends no rollout
		maps.Copy(others, labels)
		others[d.Label] = Labelled{Version: labels[d.Label].Version, Number: labels[d.Label].Number}
		t.relabel(by, first, append(slices.Clone(first.Labels), d.Label), d.LabelMove, others)
	}
	t.Activated[len(t.Activated)-1].Weights = next.Weights()
	t.rolledOut(by, previous, next, d.LabelMove)
	return nil
}

// checkWeights returns all errors in the weights of versions.
func (d RolloutDraft) checkWeights(versions []*VersionInfo) error {
	var errs fault.Fields
	if n := len(d.Versions); n < 2 || n > MaxRolloutVersions {
		errs.Add("/versions", "not_allowed_value", "Must be 2 to 10 versions. To end a rollout, move the label.")
	}
	sum := 0
	for i, v := range d.Versions {
		sum += v.Weight
		if v.Weight < 1 || v.Weight > slotCount {
			errs.Add(fmt.Sprintf("/versions/%d/weight", i), "out_of_range", "Must be 1 to 100.")
		}
		if slices.ContainsFunc(versions[:i], func(o *VersionInfo) bool { return o.ID == versions[i].ID }) {
			errs.Add(fmt.Sprintf("/versions/%d/version", i), "duplicate_item", "Must not be listed twice.")
		}
	}
	if sum != slotCount {
		errs.Add("/versions", "not_allowed_value", "The weights must add up to 100.")
	}
	return errs.Err()
}

// allocate returns the rollout that d asks for. Versions keep as many of the slots that they have in r as they can.
func (r *Rollout) allocate(d RolloutDraft, versions []*VersionInfo) *Rollout {
	next := &Rollout{Label: d.Label, Parts: make([]RolloutPart, len(versions))}
	var free []byte
	if r == nil {
		r = &Rollout{Seed: id.New(rolloutPrefix)}
		for slot := range byte(slotCount) {
			free = append(free, slot)
		}
	}
	next.Seed = r.Seed
	texts := map[VersionID][]byte{}
	for _, p := range r.Parts {
		keeps := 0
		if i := slices.IndexFunc(versions, func(v *VersionInfo) bool { return v.ID == p.Version }); i >= 0 {
			keeps = min(d.Versions[i].Weight, len(p.Slots))
		}
		texts[p.Version] = p.Slots[:keeps]
		free = append(free, p.Slots[keeps:]...)
	}
	for i, v := range versions {
		slots := slices.Clone(texts[v.ID])
		n := d.Versions[i].Weight - len(slots)
		slots, free = append(slots, free[:n]...), free[n:]
		next.Parts[i] = RolloutPart{Version: v.ID, Number: v.Number, Slots: slots}
	}
	return next
}

// rolledOut records that a rollout has changed. Either may be nil.
func (t *Template) rolledOut(by identity.Actor, previous, next *Rollout, m LabelMove) {
	data := m.note(map[string]any{"weights": event.Change{From: percents(previous), To: percents(next)}})
	if next == nil {
		next = &Rollout{Label: previous.Label}
	}
	data["label"] = next.Label
	t.ChangedRollouts = append(t.ChangedRollouts, *next)
	t.Record(by, "prompt_template.rollout_changed", string(t.ID), data)
}

// percents returns for an event which versions a rollout has, never nil.
func percents(r *Rollout) []string { return named(r.Weights()) }

func named(weights []Weight) []string {
	out := []string{}
	for _, w := range weights {
		out = append(out, fmt.Sprintf("v%d=%d", w.Number, w.Percent))
	}
	return out
}

// endRollouts ends the rollouts of labels that moved, or that were taken away.
func (t *Template) endRollouts(by identity.Actor, labels []string, allLabels Labels, reason string) {
	for _, label := range labels {
		if r := allLabels[label].Rollout; r != nil {
			t.rolledOut(by, r, nil, LabelMove{Reason: reason})
		}
	}
}

// rollouts counts the labels that have a rollout.
func (l Labels) rollouts() int {
	n := 0
	for _, label := range l {
		if label.Rollout != nil {
			n++
		}
	}
	return n
}
