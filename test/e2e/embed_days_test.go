package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// withinOneDay repeats what counts the replies of a day if midnight passed meanwhile.
func withinOneDay(counts func() []int) []int {
	for {
		day := embed.DayOf(time.Now())
		if result := counts(); embed.DayOf(time.Now()) == day {
			return result
		}
	}
}

func TestADayOfRepliesIsShared(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(`server: {trusted_proxies: [127.0.0.0/8]}
orgs: [{slug: default, egress: {allow: [127.0.0.0/8]}}]`))
		admin, bot := s.user(t, "admin"), newReplies(t, nil)
		// replies opens sessions for one message each until one of them is refused, and returns how many were answered.
		replies := func(e *embeddedChat, address int, visitor object) (count int) {
			t.Helper()
			from := fmt.Sprint("X-Forwarded-For: 192.0.2.", address)
			for ; count < 30; count++ {
				visitor["token"] = e.secret
				opened := s.anonymous().do(t, "POST", sessions, visitor, fromShop, from).is(t, 200)
				if a := e.says(t, opened.at("session"), object{"text": "?"}, fromShop, from); a.status != 200 {
					a.problem(t, 429, "daily_replies_reached")
					break
				}
			}
			return count
		}
		t.Run("an address that asks without end leaves half of the day to others", func(t *testing.T) {
			got := withinOneDay(func() []int {
				e := admin.replying(t, bot, object{"replies_per_day": 30})
				return []int{replies(e, 1, object{}), replies(e, 2, object{}), replies(e, 3, object{})}
			})
			// What is reserved for a busy token leaves less to the attacker, by chance.
			assert.That(t, got[0] <= 15 && got[1] == 10 && got[2] >= 5,
				"the attacker got %d replies, and two customers %d", got[0], got[1:])
		})
		t.Run("any number of addresses leave a fifth of the day to signed visitors", func(t *testing.T) {
			got := withinOneDay(func() []int {
				e := admin.replying(t, bot, object{"replies_per_day": 20})
				signed := object{"visitor": "ann", "visitor_signature": embed.SignVisitor(secret.New(e.visitorSecret),
					"ann", "", time.Now().Add(time.Hour))}
				s.anonymous().do(t, "POST", sessions, object{"token": e.secret, "visitor": "ann",
					"visitor_signature": signed["visitor_signature"]}, fromShop).is(t, 200)
				strangers := replies(e, 4, object{}) + replies(e, 5, object{"visitor": "ann"}) + replies(e, 6, object{})
				return []int{strangers, replies(e, 4, signed)}
			})
			assert.EqualSlice(t, "replies of strangers, and of a signed visitor", got, []int{16, 4})
		})
	})
}
