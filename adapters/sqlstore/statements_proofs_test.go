package sqlstore_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestTheCallersOfAllStreamsAreOneStatement counts the statements that the check of open streams sends.
func TestTheCallersOfAllStreamsAreOneStatement(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		team := fixture.NewTeam(t, s, orgs["one"])
		var proofs []account.Proof
		for range 10 {
			key, _ := fixture.Key(t, s, team.Member, account.KeyDraft{Name: "k"})
			proofs = append(proofs, account.Proof{Key: key.Hash})
		}
		for _, n := range []int{1, len(proofs)} {
			sent.Take()
			found, err := s.Tickets.Proven(t.Context(), team.Org, proofs[:n])
			if err != nil || found[n-1] == nil {
				t.Fatalf("%v, %v", found, err)
			}
			atMost(t, sent, 1)
		}
	})
}
