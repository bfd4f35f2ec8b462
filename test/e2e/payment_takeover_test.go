package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestEntitlementsEndSoonAfterACrash kills the server while it learns that a workspace has stopped paying. When it runs
// again, it takes the job over: at once on SQLite, and within 15 seconds on PostgreSQL, where another node could still
// be working on it.
func TestEntitlementsEndSoonAfterACrash(t *testing.T) {
	proof.Only(t)
	for engine, limit := range map[string]time.Duration{sqlite: 5 * time.Second, postgres: 15 * time.Second} {
		t.Run(engine, func(t *testing.T) {
			s := start(t, engine, sold)
			ann := s.user(t, "owner")
			ann.card(t, cardNumber)
			ann.subscribe(t, "basic")
			ann.makeDefault(t, ann.card(t, "4000000000000341"))
			jobs := func(state string) string {
				return s.column(t, "SELECT COUNT(*) FROM jobs WHERE kind = 'payment.events' AND state = '"+state+"'")[0]
			}
			s.await(t, func() bool { return jobs("queued") == "0" && jobs("running") == "0" })
			slow := strings.Fields("payments sandbox provoke --call subscriptions" + strings.Repeat(" timeout", 9))
			s.must(t, slow...)
			s.must(t, "payments", "sandbox", "advance", "60d")
			s.await(t, func() bool { return jobs("running") == "1" })
			s.kill(t)
			s.must(t, "payments", "sandbox", "provoke")
			begin := time.Now()
			s = s.deployment.start(t)
			ann = ann.at(s)
			s.await(t, func() bool { return ann.get(t, payments+"/entitlements").at("entitled") == "false" })
			duration := time.Since(begin)
			t.Logf("not entitled after %s", duration.Round(10*time.Millisecond))
			if duration > limit {
				t.Errorf("want at most %s", limit)
			}
		})
	}
}
