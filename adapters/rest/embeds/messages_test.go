package embeds

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestRepliesThatNeverEndLeaveRoomForOtherWorkspacesAndOrgs(t *testing.T) {
	g := newAnswerGates()
	// fill begins replies to visitors of a workspace until none is admitted, and returns how many there were.
	fill := func(org, workspace string) (n int) {
		for token := range 20 {
			for visitor := range 40 {
				embedToken := &embed.Token{ID: embed.TokenID(fmt.Sprint(workspace, token)),
					Org: identity.OrgID(org), Workspace: identity.WorkspaceID(workspace)}
				for range 3 {
					if _, ok := g.enter(t.Context(), embedToken, fmt.Sprint("visitor ", visitor), ""); ok {
						n++
					}
				}
			}
		}
		return n
	}
	for i, want := range []int{250, 250, 250, 0} {
		if n := fill("arena", fmt.Sprint("attack", i)); n != want {
			t.Errorf("workspace %d of the org has %d replies at the same time, want %d", i, n, want)
		}
	}
	if n := fill("shop", "victim"); n != 250 {
		t.Errorf("a workspace of another org has %d replies at the same time", n)
	}
}
