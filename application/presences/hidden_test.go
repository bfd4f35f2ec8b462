package presences_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAResumedWatchDoesNotHearOfWhoIsInvisible disconnects readers while another user is invisible.
func TestAResumedWatchDoesNotHearOfWhoIsInvisible(t *testing.T) {
	staged(t, func(t *testing.T, s *env, n *node) {
		for _, r := range []*reader{newReader(ann, "bob"), newReader(operator)} {
			send(t, n, bob, claim(presence.Auto))
			send(t, n, bob, saying("before"))
			r.open(t, n)
			r.read(t, 10)
			send(t, n, bob, claim(presence.ManualInvisible))
			time.Sleep(100 * time.Millisecond)
			r.read(t, 10)
			before, err := n.List(t.Context(), operator, presence.Filter{}, page.Query{Limit: 1})
			require.NoError(t, err)
			for range 3 {
				r.watch.Close()
				send(t, n, bob, beat("phone"))
				send(t, n, bob, saying("secret"))
				if reset := r.open(t, n); reset {
					t.Fatal("the reader starts from the beginning")
				}
				count := r.told
				time.Sleep(100 * time.Millisecond)
				b, err := r.watch.Next(t.Context())
				if require.NoError(t, err); (b != nil && len(b.Views)+len(b.Gone) > 0) || r.told != count {
					t.Errorf("%s hears %+v", r.by.User, b)
				}
			}
			found, err := n.List(t.Context(), operator, presence.Filter{SinceSeq: r.seq}, page.Query{Limit: 10})
			if require.NoError(t, err); len(found.Items) > 0 {
				t.Errorf("the list since %d has %+v", r.seq, found.Items)
			}
			if found.Seq != before.Seq {
				t.Errorf("the Seq of the list has moved from %d to %d", before.Seq, found.Seq)
			}
			send(t, n, bob, claim(presence.ManualDND))
			time.Sleep(100 * time.Millisecond)
			if r.read(t, 10); r.seen["prs_bob"] != presence.DND || r.texts["prs_bob"] != "secret" {
				t.Errorf("%s sees %v %v", r.by.User, r.seen, r.texts)
			}
			r.watch.Close()
		}
	})
}
