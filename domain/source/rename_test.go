package source_test

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestASourceIsRenamedByWhoManagesIt(t *testing.T) {
	for name, tt := range map[string]struct {
		by      identity.Actor
		to      string
		wrong   error
		renamed bool
	}{
		"its owner":               {owner, "Newsletter", nil, true},
		"an admin":                {admin, "Newsletter", nil, true},
		"the name that it has":    {owner, "People", nil, false},
		"another member":          {peer, "Newsletter", source.ErrForbidden, false},
		"an empty name":           {owner, " ", fault.ErrInvalid, false},
		"a name that is too long": {owner, strings.Repeat("x", 121), fault.ErrInvalid, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &source.Source{ID: "src_1", Workspace: "acme", Owner: owner.User, Name: "People", Revision: 1}
			require.ErrorIs(t, s.Rename(tt.by, revision.Match{1}, tt.to), tt.wrong)
			if isRenamed := len(s.Recorded()) == 1; isRenamed != tt.renamed || (s.Name == "Newsletter") != tt.renamed ||
				(s.Revision == 2) != tt.renamed {
				t.Errorf("name %q, revision %d, events %v", s.Name, s.Revision, s.Recorded())
			}
		})
	}
}
