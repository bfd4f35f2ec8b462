package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// through connects to the shop through a proxy, at which a test sees the connections. Its own statements go past it.
func (s *shopWarehouse) through(t *testing.T) (*shopWarehouse, *fixture.Proxy) {
	t.Helper()
	p := fixture.NewProxy(t, s.url.Host)
	u := *s.url
	u.Host = p.Addr()
	return &shopWarehouse{url: &u, name: s.name, db: s.db}, p
}

// hold locks the tables of the shop against reads, until the returned function is called.
func (s *shopWarehouse) hold(t *testing.T, holdings []string) (release func()) {
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), nil)
	if err == nil {
		_, err = tx.ExecContext(t.Context(), `LOCK TABLE `+strings.Join(holdings, ", ")+` IN ACCESS EXCLUSIVE MODE`)
	}
	require.NoError(t, err)
	return func() { _ = tx.Rollback() }
}

// sorted puts lines into one order: a row that is written as it was may move.
func sorted(lines string) string {
	return strings.Join(slices.Sorted(strings.Lines(lines)), "")
}

// awaits waits until a condition is true.
func awaits(t *testing.T, name string, s *server, isSuch func() bool) {
	t.Helper()
	proof.Eventually(t, name, isSuch, "the server wrote: ", s.stderr)
}

// TestARevocationAmidRefreshes revokes a connection at one node while another one refreshes eight sources through it,
// two at a time. After the answer no connection is opened, running reads are cut off, and no source changes.
func TestARevocationAmidRefreshes(t *testing.T) {
	t.Parallel()
	const many = 8
	rounds := proof.Sample(5, 50)
	d := deployMigrated(t, postgres, toShops)
	d.flags = []string{"--no-work"}
	s := d.start(t)
	d.spawn(t, d.command("work"))
	ann := s.user(t, "member")
	shop := newShop(t)
	seen, proxy := shop.through(t)
	connection := ann.create(t, connections, seen.connection(fixture.Canary)).at("id")
	var ids, holdings []string
	for range many {
		body := shop.people(t, connection)
		holdings = append(holdings, body["location"].(object)["table"].(string))
		ids = append(ids, ann.create(t, sources, body).at("id"))
	}
	count := func(jobs string) int {
		t.Helper()
		n, err := strconv.Atoi(d.column(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'source.refresh' AND `+jobs)[0])
		require.NoError(t, err)
		return n
	}
	settle := func() bool {
		return count(fmt.Sprintf(`(state = 'running' OR state = 'queued' AND due_at < %d)`,
			time.Now().UnixMicro())) == 0
	}
	const atOnce = 2 // jobs of one workspace
	reading := func() bool { return count(`state = 'running'`) == atOnce && proxy.Open() >= atOnce }
	awaits(t, "the refreshes of what was attached have ended", s, settle)
	release := shop.hold(t, holdings)
	for _, id := range ids {
		ann.do(t, "POST", sources+"/"+id+"/refresh", nil).is(t, 202)
	}
	for round := range rounds {
		awaits(t, "refreshes of the other node have connected", s, reading)
		ann.do(t, "DELETE", connections+"/"+connection, nil).is(t, 200)
		answeredAt, connectedCount, rows := time.Now(), proxy.Accepted(), sorted(s.dumpOf(t, "sources"))
		awaits(t, "what reads is cut off", s, func() bool { return proxy.Open() == 0 })
		proof.Within(t, "the end of the reads", time.Since(answeredAt), 2*time.Second)
		release()
		// Then nobody is left who could connect, or store anything.
		awaits(t, "the jobs have ended", s, func() bool { return count(`state = 'running'`) == 0 })
		if n := count(`state = 'queued'`); n > 0 {
			t.Errorf("round %d: %d jobs are queued for sources that are paused", round, n)
		}
		if current := proxy.Accepted(); current != connectedCount {
			t.Errorf("round %d: %d connections were opened after the answer", round, current-connectedCount)
		}
		if next := sorted(s.dumpOf(t, "sources")); next != rows {
			t.Errorf("round %d: sources changed after the answer:\n%s\nbefore:\n%s", round, next, rows)
		}
		if round < rounds-1 { // what comes back is read at once, and stands still there
			release = shop.hold(t, holdings)
		}
		ann.do(t, "POST", connections+"/"+connection+"/verify",
			object{"credential": seen.credential(fixture.Canary)}).is(t, 200)
	}
	awaits(t, "all have come back", s, settle)
	for _, id := range ids {
		ann.get(t, sources+"/"+id).has(t, map[string]string{"status": "active", "failure": "null"})
	}
	t.Logf("%d rounds, %d connections", rounds, proxy.Accepted())
}

// TestAKilledRefresh kills a node during a refresh, as a power failure does.
func TestAKilledRefresh(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, postgres, toShops)
	d.flags = []string{"--no-work"}
	s := d.start(t)
	ann := s.user(t, "member")
	shop := newShop(t)
	seen, proxy := shop.through(t)
	body := shop.people(t, ann.create(t, connections, seen.connection(fixture.Canary)).at("id"))
	id := ann.create(t, sources, body).at("id")

	release := shop.hold(t, []string{body["location"].(object)["table"].(string)})
	doomedServer := d.spawn(t, d.command("work"))
	awaits(t, "the refresh has connected", doomedServer, func() bool { return proxy.Open() > 0 })
	doomedServer.kill(t)
	release()
	lease, err := strconv.ParseInt(d.column(t, `SELECT due_at - started_at FROM jobs WHERE state = 'running'
		AND subject = '`+id+`'`)[0], 10, 64)
	if err != nil || time.Duration(lease)*time.Microsecond > 2*time.Minute {
		t.Fatalf("the job is somebody's for %s: more than its limit of a minute, and another one",
			time.Duration(lease)*time.Microsecond)
	}
	d.sql(t, `UPDATE jobs SET due_at = 1 WHERE state = 'running' AND subject = '`+id+`'`) // expire the lease
	other := d.spawn(t, d.command("work"))
	found := other.stderr.await(t, other, regexp.MustCompile(`"kind":"source.refresh".*`))[0]
	if !strings.Contains(found, `"attempt":2`) || !strings.Contains(found, `"outcome":"succeeded"`) {
		t.Errorf("the other node says %s", found)
	}
	refreshed(t, ann, id).has(t, map[string]string{"status": "active"})
	if n := strings.Count(other.stderr.String(), `"kind":"source.refresh"`); n != 1 {
		t.Errorf("it was done %d times", n)
	}
}
