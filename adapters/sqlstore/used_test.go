package sqlstore_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/fixture"
)

func TestTheUseOfAKeyIsKnownAtOnceAndNotNotedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, url string) {
		a := adapter(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		k, token := fixture.Key(t, a.Stores, team.Member, account.KeyDraft{Name: "k"})
		_, err := a.Keys.Principal(t.Context(), team.Org, token.Hash()) // so that it is remembered
		used := fixture.At.Add(time.Hour)
		if err == nil {
			err = a.Keys.Used(t.Context(), team.Org, k.ID, used)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.Keys.Principal(t.Context(), team.Org, token.Hash())
		if err != nil || !p.Key.LastUsedAt.Equal(used) {
			t.Fatalf("last used %v, %v; want %v", p.Key.LastUsedAt, err, used)
		}
	})
}
