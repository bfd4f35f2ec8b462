// Package revision guards against lost updates: a change may name the revisions it is meant for.
package revision

import (
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// ErrMismatch says that somebody else changed the thing in between.
var ErrMismatch = &fault.Error{Kind: fault.PreconditionFailed, Code: "revision_mismatch", Detail: "The resource has changed since you read it. Read it again, then repeat your change."}

// Match is the condition of an If-Match header (RFC 9110, section 13.1.1): the revisions that a
// change is meant for. A nil Match sets no condition; an empty one never holds.
type Match []int64

// Check returns ErrMismatch unless a thing with this revision may be changed.
func (m Match) Check(revision int64) error {
	if m != nil && !slices.Contains(m, revision) {
		return ErrMismatch
	}
	return nil
}
