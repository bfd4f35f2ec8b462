// Package revision prevents lost updates: a change can name the revisions that it applies to.
package revision

import (
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// ErrMismatch reports that the object has changed in the meantime.
var ErrMismatch = &fault.Error{Kind: fault.PreconditionFailed, Code: "revision_mismatch",
	Detail: "The resource has changed since you read it. Read it again, then repeat your change."}

// Match is the condition of an If-Match header (RFC 9110, section 13.1.1): the revisions that a change
// applies to. A nil Match sets no condition. An empty one never matches.
type Match []int64

// Check returns ErrMismatch unless an object with this revision may be changed.
func (m Match) Check(revision int64) error {
	if m != nil && !slices.Contains(m, revision) {
		return ErrMismatch
	}
	return nil
}
