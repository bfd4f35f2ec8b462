package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestCrashUnderLoad kills the process repeatedly while eight clients write. Every acknowledged write must exist, and
// no write may be half done.
func TestCrashUnderLoad(t *testing.T) {
	rounds := proof.Sample(5, 200) // on each engine
	onEach(t, func(t *testing.T, engine string) {
		d := on(t, engine)
		n := d.Start(t, suite.Binary(t))
		l := newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node { return n })
		l.mortal = true
		lost := 0
		for round := range rounds {
			l.begin()
			// enough for writers to reach each of their steps, and to be interrupted anywhere
			l.answers(10 + rand.Int64N(60))
			time.Sleep(rand.N(5 * time.Millisecond))
			n.Kill(t)
			l.end()
			n = d.Start(t, suite.Binary(t))
			if (round+1)%20 == 0 || round+1 == rounds {
				db := d.Open(t)
				lost += l.ledger.check(t, db)
				whole(t, db)
				db.Close()
			}
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
		}
		t.Logf("%d kills, %d requests answered, %d acknowledged writes checked, %d lost", rounds, l.answered.Load(),
			l.ledger.acked, lost)
		if l.ledger.acked < 10*rounds {
			t.Errorf("only %d writes were acknowledged: this shows nothing", l.ledger.acked)
		}
	})
}
