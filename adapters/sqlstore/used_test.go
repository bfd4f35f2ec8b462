package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheUseOfAKeyLeavesWhatIsKnownOfOthers(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		a := adapter(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		usage, _ := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "used"})
		_, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "other"})
		db := databases.Raw(t, url)
		// For a moment the cache still returns the old value, although the row was changed behind the store's back.
		// On a busy machine, the store may notice that change first. If it does each time, the use discarded the value.
		for try := range 50 {
			previous, err := a.Keys.Principal(t.Context(), team.Org, token.Hash())
			if err == nil {
				_, err = db.ExecContext(t.Context(),
					fmt.Sprintf(`UPDATE api_keys SET name = 'renamed-%d' WHERE name <> 'used'`, try))
			}
			if err == nil {
				err = a.Keys.Used(t.Context(), team.Org,
					map[identity.KeyID]account.KeyUse{usage.ID: {At: fixture.At.Add(time.Duration(try+1) * time.Hour)}})
			}
			require.NoError(t, err)
			current, err := a.Keys.Principal(t.Context(), team.Org, token.Hash())
			require.NoError(t, err)
			if previous.Key.Name == current.Key.Name {
				return
			}
		}
		t.Fatal("each time, the other key was read again after the use")
	})
}
