package sqlstore_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestARenameOfAPersonTakesFewStatements(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db, sent := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		if err != nil {
			t.Fatal(err)
		}
		s := db.Stores()
		by := fixture.NewTeam(t, s, orgs["one"]).Member
		sent.Take()
		name := "Ann Mary Louise Lee of the Long Names"
		if _, err := s.Users.Update(t.Context(), by.Org, by.User,
			func(u *account.User, in []account.Membership) error {
				return u.Change(by, nil, in, account.UserChanges{Name: &name})
			}); err != nil {
			t.Fatal(err)
		}
		// The person, their memberships, the new values, words that go, words that come, and the event.
		atMost(t, sent, 8)
	})
}
