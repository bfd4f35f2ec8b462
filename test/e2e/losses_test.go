package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// What becomes of something that a person made with a role that they lose.
const (
	itEnds      = "ends"           // a credential gets 401, and still does if the account is enabled again
	itPauses    = "is suspended"   // a credential gets 401 until the account is enabled again
	itIsLower   = "loses the role" // a credential can do what is left to the person
	itGoesOn    = "goes on"
	isOwnerless = "ownerless"    // it goes on, and an admin confirms or deletes it
	isCancelled = "is cancelled" // when it is due
	isNone      = "–"            // the role cannot make it, or the organisation does not have it
)

// lossColumns are what a role can make.
var lossColumns = []string{"API key", "service key", "session", "session by a passkey", "stream that needs the role",
	"other stream", "webhook", "reply endpoint", "embed token", "scheduled activation", "directory token",
	"consent to Google Sheets"}

// lossTable says what becomes of each within a second, on every node.
var lossTable = lossRows()

func lossRows() map[string][]string {
	row := func(credentials [4]string, streams [2]string, others ...string) []string {
		return slices.Concat(credentials[:], streams[:], others)
	}
	ownerless := []string{isOwnerless, isOwnerless, itGoesOn, isCancelled, itGoesOn, itGoesOn}
	streams := [2]string{itEnds, itGoesOn}
	lower := row([4]string{itIsLower, itEnds, itIsLower, itIsLower}, streams, ownerless...)
	streams[1] = itEnds
	removal := row([4]string{itEnds, itEnds, itIsLower, itIsLower}, streams, ownerless...)
	suspension := row([4]string{itPauses, itEnds, itPauses, itPauses}, streams, ownerless...)
	end := row([4]string{itEnds, itEnds, itEnds, itEnds}, streams, ownerless...)
	return map[string][]string{
		"an admin whose role is lowered": lower,
		"an owner who transfers the workspace": row([4]string{itIsLower, itEnds, itIsLower, itIsLower},
			[2]string{itGoesOn, itGoesOn}, slices.Repeat([]string{itGoesOn}, 6)...),
		"an admin who is removed":                    removal,
		"an admin who leaves":                        removal,
		"an admin by a group who is taken out of it": lower,
		"an admin by a group that loses its role":    lower,
		"an admin by a group that is deleted":        lower,
		"an admin by a claim that the next token lacks": row([4]string{itIsLower, itEnds, itIsLower, isNone},
			[2]string{itEnds, itGoesOn}, ownerless...),
		"an admin by a directory's group who is taken out of it": removal,
		"an admin who is deactivated by the directory": row([4]string{itPauses, itPauses, itPauses, itPauses}, streams,
			ownerless...),
		"an admin who is deleted by the directory":     end,
		"an admin who is disabled by an operator":      suspension,
		"an admin who is disabled at the command line": suspension,
		"an admin who is erased":                       end,
		"a viewer whose share of a prompt template ends": row([4]string{itIsLower, isNone, itIsLower, itIsLower},
			[2]string{isNone, itGoesOn}, isNone, isNone, isNone, isCancelled, itGoesOn, isNone),
	}
}

// TestLosses loses a role in every way, and looks at everything that the role has made. docs/security.md has the table;
// ATRIUM_LOSSES=1 writes it.
func TestLosses(t *testing.T) {
	t.Parallel()
	s := newLossStage(t, nil)
	issuer := fixture.NewIssuer(t, "ES256")
	claimStage := newLossStage(t, issuer)
	byClaim := &realm{claimStage.nearServer, issuer}
	var names []string
	for i, way := range append(s.lossesOf(t), byClaim.claimLoss(claimStage.owner)) {
		names = append(names, way.person)
		if !proof.Running() && i%3 != 0 {
			continue
		}
		t.Run(way.person, func(t *testing.T) {
			stage := s
			if strings.Contains(way.person, "claim") {
				stage = claimStage
			}
			stage.loses(t, way, fmt.Sprint("leaver-", i))
		})
	}
	for name := range lossTable {
		if !slices.Contains(names, name) {
			t.Errorf("no one loses a role as %s", name)
		}
	}
	checkLossPage(t, names)
}

// loses compares a way to lose a role with the table.
func (s *lossStage) loses(t *testing.T, way loss, name string) {
	t.Helper()
	want, exists := lossTable[way.person]
	if !exists {
		t.Fatalf("the table has no row for %s", way.person)
	}
	l := way.arrive(t, name)
	power, role := "/api/webhooks", "admin"
	switch {
	case strings.Contains(way.person, "transfers"):
		role, power = "owner", "/api/workspaces/"+l.workspace+"/members/"+l.id+"/access"
		s = s.ownedBy(l.client)
	case strings.Contains(way.person, "share"):
		role, power = "", l.kind
	}
	template := power
	if role != "" {
		template = s.released(t, s.owner, name)
	}
	k := s.bets(t, l.client, power, role, !strings.Contains(way.person, "claim"))
	k.schedules(t, template)
	for thing, c := range k.credentials {
		require.Equal(t, thing, k.does(t, c), itGoesOn)
	}
	begin := time.Now()
	l.lose(t)
	for _, isStream := range []bool{true, false} { // the end of a stream is seen when it is looked at
		for i, thing := range lossColumns {
			if (k.streams[thing] != nil) == isStream {
				k.becomes(t, thing, want[i], begin)
			}
		}
	}
	k.returns(t, want)
}

// ownedBy returns a stage whose workspace is another one.
func (s *lossStage) ownedBy(owner *client) *lossStage {
	other := *s
	other.owner = owner
	return &other
}

const (
	lossPage  = "../../docs/security.md"
	lossBegin = "<!-- losses: written by ATRIUM_LOSSES=1 go test ./test/e2e -run TestLosses -->\n"
	lossEnd   = "<!-- end of losses -->\n"
)

// checkLossPage compares the table of the page with lossTable, or writes it.
func checkLossPage(t *testing.T, names []string) {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "\n| who loses the role | %s |\n|---|%s\n", strings.Join(lossColumns, " | "),
		strings.Repeat("---|", len(lossColumns)))
	for _, name := range names {
		fmt.Fprintf(&page, "| %s | %s |\n", name, strings.Join(lossTable[name], " | "))
	}
	page.WriteString("\n")
	text, err := os.ReadFile(lossPage)
	require.NoError(t, err)
	head, rest, hasBegin := strings.Cut(string(text), lossBegin)
	previous, tail, hasEnd := strings.Cut(rest, lossEnd)
	switch {
	case !hasBegin || !hasEnd:
		t.Fatalf("%s has no place for the table", lossPage)
	case os.Getenv("ATRIUM_LOSSES") != "":
		require.NoError(t, os.WriteFile(lossPage, []byte(head+lossBegin+page.String()+lossEnd+tail), 0o600))
	case previous != page.String():
		t.Errorf("%s has another table; ATRIUM_LOSSES=1 writes it:\n%s", lossPage, page.String())
	}
}
