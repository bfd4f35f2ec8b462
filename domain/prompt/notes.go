package prompt

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
)

// checkReason returns the error in the reason of an activation.
func (d VersionDraft) checkReason() error {
	if d.Reason != "" && !d.Activate {
		return fault.InField("/reason", "not_allowed_value", "Is the reason of an activation: set activate too.")
	}
	return checkReason(d.Reason)
}

// checkReason returns the error in the reason of an activation.
func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > 500 {
		return fault.InField("/reason", "too_long", "Must have at most 500 characters.")
	}
	return nil
}

// checkNotes returns all errors in labels and a commit message.
func checkNotes(labels []string, message string) error {
	var wrong fault.Fields
	if len(labels) > 10 {
		wrong.Add("/labels", "too_many_items", "Must have at most 10 items.")
	}
	for i, l := range labels {
		pointer := fmt.Sprintf("/labels/%d", i)
		switch {
		case !isLabel(l):
			wrong.Add(pointer, "invalid_format", "Must have 1 to 36 of a-z, 0-9, dot, hyphen and underscore.")
		case l == "latest", l == "active", numberPattern.MatchString(l), id.Valid(VersionPrefix, l):
			wrong.Add(pointer, "not_allowed_value",
				"Is reserved: active, latest, version numbers and identifiers are no labels.")
		case slices.Contains(labels[:i], l):
			wrong.Add(pointer, "duplicate_item", "Must not be listed twice.")
		}
	}
	if utf8.RuneCountInString(message) > 500 {
		wrong.Add("/commit_message", "too_long", "Must have at most 500 characters.")
	}
	return wrong.Err()
}

// sorted never returns nil, so that no event contains a null.
func sorted(labels []string) []string {
	out := append([]string{}, labels...)
	slices.Sort(out)
	return out
}
