package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// shiftClock gives the database a clock that is ahead of this machine's. An unqualified name finds the function of the
// schema first.
func (d *deployment) shiftClock(t *testing.T, ahead time.Duration) {
	t.Helper()
	d.sql(t, `CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
		'SELECT pg_catalog.clock_timestamp() + interval ''`+strconv.Itoa(int(ahead.Seconds()))+` seconds'''`)
	d.sql(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog',
		current_database()); END $$`)
}

// TestAClockThatIsCorrected starts a node whose clock is an hour behind that of the database, and corrects it.
func TestAClockThatIsCorrected(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, postgres, set("metrics.addr", "127.0.0.1:0"))
	d.shiftClock(t, time.Hour)
	s := d.start(t)
	ann := s.user(t, "member")
	// ahead returns how far the time of ann's last heartbeat is ahead of this machine's clock.
	ahead := func(t *testing.T) time.Duration {
		t.Helper()
		seen, err := time.Parse(time.RFC3339, ann.do(t, "POST", presences, object{}).at("last_seen_at"))
		require.NoError(t, err)
		return time.Until(seen).Round(time.Minute)
	}
	t.Run("the log, the metric and doctor say so", func(t *testing.T) {
		s.stderr.await(t, s, regexp.MustCompile(
			`the clocks of this machine and of the database differ.*"ahead_seconds":-3[56]`))
		found := regexp.MustCompile(`(?m)^atrium_clock_offset_seconds (-3[56]\S*)$`).FindString(s.metrics(t))
		if found == "" {
			t.Error("there is no such metric")
		}
		out := s.must(t, "doctor")
		if !strings.Contains(out, "WARNING clock          this machine's clock is ahead of the database's by -1h0m") &&
			!strings.Contains(out, "WARNING clock          this machine's clock is ahead of the database's by -59m59") {
			t.Errorf("doctor says:\n%s", out)
		}
	})
	t.Run("presences have the database's time", func(t *testing.T) {
		if got := ahead(t); got != time.Hour {
			t.Errorf("a heartbeat is %s ahead", got)
		}
	})
	t.Run("presences follow a correction within a minute, and no one goes offline", func(t *testing.T) {
		d.shiftClock(t, 0)
		s.stderr.await(t, s, regexp.MustCompile(`the clocks of this machine and of the database agree again`))
		soon(t, func() string { return ahead(t).String() }, "0s")
		ann.get(t, presences+"/me").has(t, map[string]string{"status": "online"})
		assert.Contains(t, "doctor says", s.must(t, "doctor"), "ok      clock")
	})
}

// TestASuspendedNode stops the process of one of two nodes, as a suspended machine does, and lets it go on.
func TestASuspendedNode(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, postgres)
	s, other := d.start(t), d.start(t)
	ann, operator := s.user(t, "member"), s.user(t, "viewer", "--operator")
	revokedClient, id := ann.key(t)
	ann.create(t, presences, object{"ttl_seconds": proof.Sample(300, 30)})
	operator.at(other).get(t, presences).has(t, map[string]string{"counts.online": "1"})
	revokedClient.get(t, "/api/me")

	s.signal(t, syscall.SIGSTOP)
	other.must(t, "token", "revoke", id)
	pause(t.Context(), proof.Sample(2*time.Second, 40*time.Second)) // the suspension; ann ends after 30 s
	s.signal(t, syscall.SIGCONT)

	t.Run("it refuses a key at once that was revoked meanwhile", func(t *testing.T) {
		revokedClient.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
	})
	t.Run("it agrees with the other node about presences", func(t *testing.T) {
		want := "online"
		if proof.Running() {
			want = "offline"
		}
		for _, node := range []*server{s, other} {
			soon(t, func() string { return operator.at(node).get(t, presences).at("data.0.status") }, want)
		}
		ann.do(t, "POST", presences, object{"ttl_seconds": 300}).is(t, 200)
		for _, node := range []*server{s, other} {
			soon(t, func() string { return operator.at(node).get(t, presences).at("data.0.status") }, "online")
		}
	})
	t.Run("it serves", func(t *testing.T) {
		s.anonymous().get(t, "/api/health/ready")
		ann.template(t, "afterwards")
	})
}
