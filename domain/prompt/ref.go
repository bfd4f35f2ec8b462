package prompt

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/id"
)

// Ref names a template version: by id, number or label, or as active, previous or latest. The zero Ref names none.
type Ref struct {
	ID       VersionID
	Number   int
	Label    string
	Active   bool
	Previous bool // the one that was active before the active one
	Latest   bool
	Frozen   bool // with Latest: the latest version that is frozen, even for callers who see drafts
}

// ParseRef parses a reference: a version's id, v12, active, previous, latest, or a label. For anything else it
// returns the zero Ref, which matches no version.
func ParseRef(s string) Ref {
	switch s {
	case "active":
		return Ref{Active: true}
	case "previous":
		return Ref{Previous: true}
	case "latest":
		return Ref{Latest: true}
	}
	if id.Valid(VersionPrefix, s) {
		return Ref{ID: VersionID(s)}
	}
	if digits, ok := strings.CutPrefix(s, "v"); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil || n < 1 {
			return Ref{}
		}
		return Ref{Number: int(n)}
	}
	if isLabel(s) {
		return Ref{Label: s}
	}
	return Ref{}
}

var (
	labelPattern  = regexp.MustCompile(`^[a-z0-9_.-]+$`)
	numberPattern = regexp.MustCompile(`^v?[0-9]+$`)
)

const maxLabel = 36 // bytes

func isLabel(s string) bool { return len(s) <= maxLabel && labelPattern.MatchString(s) }
