package presence_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/require"
)

// numbered applies a heartbeat of ann as a store does.
func numbered(t rapid.TB, r *presence.Record, seq *int64, h presence.Heartbeat, now time.Time) {
	t.Helper()
	previous := r.Copy()
	require.NoError(t, r.Beat(ann, h, now))
	*seq = r.Number(previous, *seq)
}

func settled(r *presence.Record, seq *int64, now time.Time) {
	previous := r.Copy()
	r.Settle(now)
	*seq = r.Number(previous, *seq)
}

func TestWhatIsDoneWhileInvisibleIsNotSeen(t *testing.T) {
	for name, hide := range map[string]func(t *testing.T, r *presence.Record, seq *int64){
		"for good": func(t *testing.T, r *presence.Record, seq *int64) {
			numbered(t, r, seq, saying(claiming(presence.ManualInvisible), "hidden"), after(10))
		},
		"for a while": func(t *testing.T, r *presence.Record, seq *int64) {
			numbered(t, r, seq, until(saying(claiming(presence.ManualInvisible), "hidden"), 500), after(10))
		},
		"after a visible while": func(t *testing.T, r *presence.Record, seq *int64) {
			numbered(t, r, seq, saying(claiming(presence.ManualInvisible), "hidden"), after(1))
			numbered(t, r, seq, until(saying(claiming(presence.ManualDND), "before"), 10), after(2))
			settled(r, seq, after(10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, seq := annsOwn(), int64(0)
			numbered(t, r, &seq, saying(beat("web", true), "before"), start)
			hide(t, r, &seq)
			hidden := seq
			seen := r.View(presence.Public, after(20))
			if seen.Status != presence.Offline || seen.Claim.Text != "before" || seen.Seq != hidden {
				t.Errorf("others see %+v", seen)
			}
			numbered(t, r, &seq, beat("phone", false), after(30))
			numbered(t, r, &seq, saying(beat("phone", false), "secret"), after(40))
			settled(r, &seq, after(100)) // the first device is gone
			for _, a := range []presence.Access{presence.Public, presence.Whole} {
				current := r.View(a, after(110))
				current.Access = seen.Access
				if !reflect.DeepEqual(current, seen) {
					t.Errorf("others see\n%+v, before\n%+v", current, seen)
				}
			}
			if r.Seq <= hidden || r.IsNewFor(bob, hidden, after(110)) || r.IsNewFor(operator, hidden, after(110)) {
				t.Errorf("others are told of seq %d after %d", r.Seq, hidden)
			}
			if ownView := r.View(presence.Own, after(110)); ownView.Seq != r.Seq || ownView.Claim.Text != "secret" ||
				!r.IsNewFor(ann, hidden, after(110)) {
				t.Errorf("the owner sees %+v", ownView)
			}
			numbered(t, r, &seq, saying(claiming(presence.ManualOnline), "back"), after(120))
			if v := r.View(presence.Public, after(121)); v.Status != presence.Online || v.Claim.Text != "back" ||
				v.Seq != seq || !r.IsNewFor(bob, hidden, after(121)) || r.Mask != nil {
				t.Errorf("others see %+v", v)
			}
		})
	}
}

// TestOthersAreToldOfEveryVisibleChange draws heartbeats: what others see never changes without a new Seq for them.
func TestOthersAreToldOfEveryVisibleChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, seq, now := annsOwn(), int64(0), start
		claims := []presence.Manual{presence.Auto, presence.ManualOnline, presence.ManualInvisible}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			settled(r, &seq, now) // as nodes do when something ends
			previous, original := r.SeqFor(presence.Public, now), r.View(presence.Public, now)
			h := beat(rapid.SampledFrom([]string{"web", "phone"}).Draw(t, "device"), rapid.Bool().Draw(t, "idle"))
			if rapid.Bool().Draw(t, "claims") {
				h.Status = new(rapid.SampledFrom(claims).Draw(t, "claim"))
				h.Text = new(rapid.StringN(0, 3, 9).Filter(isReadable).Draw(t, "text"))
			}
			if h.Claims() && rapid.Bool().Draw(t, "ends") {
				h.Until = new(now.Add(5 * time.Second))
			}
			numbered(t, r, &seq, h, now)
			current := r.View(presence.Public, now)
			isVisible := original.Status != current.Status || original.Claim != current.Claim
			if isVisible && r.SeqFor(presence.Public, now) <= previous && original.Seq != 0 {
				t.Fatalf("others see %+v after %+v, and are not told", current, original)
			}
		}
	})
}

func isReadable(s string) bool { return !naming.Reordered(s) }
