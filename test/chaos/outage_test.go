package chaos

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// The promises for a failing database, from the third bar of security.md. They are asserted only while proving.
const (
	refusedWithin  = time.Second           // 503, once the database is cut off
	beyondDeadline = time.Second           // of any request
	healthWithin   = 50 * time.Millisecond // while requests wait for a silent database
)

var (
	deadline        = proof.Sample(10*time.Second, 3*time.Second) // server.request_timeout of these tests
	recoveredWithin = proof.Sample(patience, 2*time.Second)       // after it is back
)

// trouble is one way in which the database fails and recovers.
type trouble struct {
	name      string
	lasts     time.Duration // while proving; a fifth of it otherwise
	begin     func()
	end       func()
	may       map[int]bool  // permitted statuses of refused requests
	within    time.Duration // time limit for these refusals
	reachable bool          // requests may succeed meanwhile, and connections stay open
}

// TestATroubledDatabase runs eight writers while PostgreSQL stops, crashes, is cut off, goes silent and is slow.
// Refusals must be documented and in time, acknowledged writes must exist afterwards, and no resource may leak.
func TestATroubledDatabase(t *testing.T) {
	server := services.StartOwnPostgres(t)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	proxy := fixture.NewProxy(t, u.Host)
	primary := u.Host
	standby, err := url.Parse(server.Standby().URL)
	require.NoError(t, err)
	direct := *u
	u.Host = proxy.Addr()
	d := deploy(t, u.String(), "ATRIUM_METRICS_ADDR=127.0.0.1:0", "ATRIUM_LOG_LEVEL=info",
		"ATRIUM_SERVER_REQUEST_TIMEOUT="+deadline.String(), "ATRIUM_DATABASE_STATEMENT_TIMEOUT="+deadline.String())
	n := d.Start(t, suite.Binary(t))
	l := newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node { return n })
	if _, err := l.try("GET", "/api/nothing", nil); err != nil { // loads the contract before durations count
		t.Fatal(err)
	}
	behindTheProxy := &program.Deployment{Folder: d.Folder, Database: direct.String()}

	// In a failover the connections end, and for a while the address still leads to the standby.
	toStandby := func() {
		proxy.Lead(standby.Host)
		proxy.Cut()
		proxy.Restore()
	}
	toPrimary := func() {
		proof.Eventually(t, "the node is not ready on a standby", func() bool {
			return get(t, n.URL+"/api/health/ready") == http.StatusServiceUnavailable
		})
		proxy.Lead(primary)
	}
	only503, late := map[int]bool{503: true}, map[int]bool{503: true, 504: true}
	for _, tr := range []trouble{
		{"its address leads to a standby", 4 * time.Second, toStandby, toPrimary, only503, refusedWithin, false},
		{"it is stopped", 4 * time.Second, func() { server.Down(false) }, server.Up, only503, refusedWithin, false},
		{"it crashes", 4 * time.Second, func() { server.Down(true) }, server.Up, only503, refusedWithin, false},
		{"it is cut off", 10 * time.Second, proxy.Cut, proxy.Restore, only503, refusedWithin, false},
		{"it goes silent", 10 * time.Second, func() { proxy.Swallow(true) }, func() { proxy.Swallow(false) }, late,
			deadline + beyondDeadline, false},
		{"it is slow by 2 s", 10 * time.Second, func() { proxy.Delay(2 * time.Second) }, func() { proxy.Delay(0) },
			late, deadline + beyondDeadline, true},
	} {
		t.Run(tr.name, func(t *testing.T) {
			l.t, l.excuse = t, nil
			health := pulse(t, n)
			l.during(func() { // measured without trouble
				l.first(t)
				time.Sleep(proof.Sample(100*time.Millisecond, time.Second))
			})
			usual, _ := health()
			previous := countLeftovers(t, n, behindTheProxy)
			tr.suffer(t, n, l, usual)
			db := behindTheProxy.Open(t)
			if lost := l.ledger.check(t, db); lost > 0 {
				t.Errorf("%d acknowledged writes are lost", lost)
			}
			whole(t, db)
			settles(t, n, behindTheProxy, previous)
			t.Logf("%d acknowledged writes are there", l.ledger.acked)
		})
	}
}

// get returns the status of a response.
func get(t *testing.T, address string) int {
	t.Helper()
	resp, err := http.Get(address)
	require.NoError(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

// suffer runs a load through the trouble and checks every response. usual is the latency of health under the same load
// without trouble, which on a busy machine exceeds the promised one.
func (tr trouble) suffer(t *testing.T, n *program.Node, l *load, usual time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var start, end time.Time // of the trouble
	var slowest time.Duration
	refusedCounts := map[int]int{}
	l.excuse = func(a *answer) string {
		mu.Lock()
		defer mu.Unlock()
		if start.IsZero() || (!tr.may[a.status] && a.status != 409) ||
			(!end.IsZero() && a.begun.After(end.Add(recoveredWithin))) {
			return ""
		}
		refusedCounts[a.status]++
		slowest = max(slowest, a.took)
		if a.status != 409 && a.header.Get("Retry-After") == "" {
			return "" // every other refusal must carry Retry-After
		}
		return tr.name
	}
	var took time.Duration // until the first successful write
	health := pulse(t, n)
	l.during(func() {
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		start = time.Now()
		mu.Unlock()
		tr.begin()
		time.Sleep(proof.Sample(tr.lasts/5, tr.lasts))
		tr.end()
		mu.Lock()
		end = time.Now()
		returnTime := end
		mu.Unlock()
		l.first(t)
		took = time.Since(returnTime)
		// during which nothing may be refused
		time.Sleep(proof.Sample(200*time.Millisecond, 3*time.Second))
	})
	limit, worst := health()
	t.Logf("refused: %v, the slowest after %s; health answered within %s (%s before), at worst %s; the first success "+
		"%s after the end",
		refusedCounts, slowest.Round(time.Millisecond), limit.Round(time.Millisecond), usual.Round(time.Millisecond),
		worst.Round(time.Millisecond), took.Round(time.Millisecond))
	if !proof.Running() {
		return
	}
	if took > recoveredWithin {
		t.Errorf("it took %s until somebody wrote again", took)
	}
	if len(refusedCounts) == 0 && !tr.reachable {
		t.Error("nothing was refused: this shows nothing")
	}
	if slowest > tr.within {
		t.Errorf("somebody waited for %s", slowest)
	}
	// If requests are refused at once, the load uses the whole machine.
	if tr.within > refusedWithin && limit > max(healthWithin, 2*usual) {
		t.Errorf("health answered after %s", limit)
	}
}

// first waits for the first successful write and read.
func (l *load) first(t *testing.T) {
	t.Helper()
	proof.Eventually(t, "a client can write and read", func() bool {
		response, err := l.try("POST", prompts, object{"name": l.name()})
		if err != nil || response.status != 201 {
			return false
		}
		a, err := l.try("GET", prompts+"/"+response.id(t), nil)
		return err == nil && a.status == 200
	})
}

// pulse polls the node's health until the returned function is called. That function returns the 99th percentile
// and the maximum of the latencies. The maximum depends on the machine as much as on the node.
func pulse(t *testing.T, n *program.Node) func() (limit, worst time.Duration) {
	t.Helper()
	var took []time.Duration
	stop, stoppedSignal := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stoppedSignal)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			start := time.Now()
			resp, err := http.Get(n.URL + "/api/health/live")
			if err != nil {
				t.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if took = append(took, time.Since(start)); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("health answered %d, %v", resp.StatusCode, err)
			}
		}
	}()
	return func() (limit, worst time.Duration) {
		close(stop)
		<-stoppedSignal
		slices.Sort(took)
		return took[len(took)*99/100], took[len(took)-1]
	}
}

// leftovers are the resources of an idle node.
type leftovers struct {
	goroutines int // of the node
	pool       int // connections that the node counts
	backends   int // the node's connections that the database counts
}

var (
	goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)
	pooled     = regexp.MustCompile(`(?m)^go_sql_open_connections\{[^}]*\} (\d+)`)
)

func countLeftovers(t *testing.T, n *program.Node, d *program.Deployment) (out leftovers) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	resp, err := http.Get("http://" + n.Await(t, program.Metrics)[1] + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	number := func(owner *regexp.Regexp) int {
		found := owner.FindAllSubmatch(text, -1) // one of each pool
		if found == nil {
			t.Fatalf("%s is not among the metrics", owner)
		}
		sum := 0
		for _, f := range found {
			value, err := strconv.Atoi(string(f[1]))
			require.NoError(t, err)
			sum += value
		}
		return sum
	}
	db := d.Open(t)
	defer db.Close()
	backends, err := strconv.Atoi(column(t, db, `SELECT COUNT(*) FROM pg_stat_activity
		WHERE application_name = 'atrium'`)[0])
	require.NoError(t, err)
	return leftovers{number(goroutines), number(pooled), backends}
}

// settles waits until the node holds no more than before: as many goroutines, except those of idle connections in the
// pool, and no connection outside its pool.
func settles(t *testing.T, n *program.Node, d *program.Deployment, previous leftovers) {
	t.Helper()
	strangers := previous.backends - previous.pool // connections that listen for notifications
	current := proof.Await(t, fmt.Sprintf("no more is left over than %+v", previous), func() leftovers {
		return countLeftovers(t, n, d)
	}, func(item leftovers) bool {
		return item.goroutines <= previous.goroutines+1 && item.backends-item.pool <= max(strangers, 1)
	})
	t.Logf("before %+v, after %+v", previous, current)
}
