package prompt

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/naming"
)

// maxLabels is a version's maximum number of labels.
const maxLabels = 10

// checkReason returns the error in an activation's reason.
func (d VersionDraft) checkReason() error {
	if d.Reason != "" && !d.Activate {
		return fault.InField("/reason", "not_allowed_value", "Is the reason of an activation: set activate too.")
	}
	return checkReason(d.Reason)
}

// checkReason returns the error in an activation's reason.
func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > 500 {
		return fault.InField("/reason", "too_long", "Must have at most 500 characters.")
	}
	return naming.TextError("/reason", reason)
}

// checkNotes returns all errors in labels and a commit message.
func checkNotes(labels []string, message string) error {
	var errs fault.Fields
	if len(labels) > maxLabels {
		errs.Add("/labels", "too_many_items", "Must have at most 10 items.")
	}
	for i, l := range labels {
		pointer := fmt.Sprintf("/labels/%d", i)
		if addLabel(&errs, pointer, l); slices.Contains(labels[:i], l) {
			errs.Add(pointer, "duplicate_item", "Must not be listed twice.")
		}
	}
	if utf8.RuneCountInString(message) > 500 {
		errs.Add("/commit_message", "too_long", "Must have at most 500 characters.")
	}
	naming.CheckText(&errs, "/commit_message", message)
	return errs.Err()
}

// checkLabel returns the error in a label of its own.
func checkLabel(label string) error {
	var errs fault.Fields
	addLabel(&errs, "/label", label)
	return errs.Err()
}

// addLabel adds what is wrong with a label.
func addLabel(errs *fault.Fields, pointer, label string) {
	switch {
	case !isLabel(label):
		errs.Add(pointer, "invalid_format", "Must have 1 to 36 of a-z, 0-9, dot, hyphen and underscore.")
	case ParseRef(label) != Ref{Label: label}, numberPattern.MatchString(label):
		errs.Add(pointer, "not_allowed_value",
			"Is reserved: active, previous, latest, numbers, version numbers and identifiers are no labels.")
	}
}

// sorted never returns nil, so that no event contains a null.
func sorted(labels []string) []string {
	out := append([]string{}, labels...)
	slices.Sort(out)
	return out
}
