package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// seedEvents gives a workspace so many events: half of them by one user, of four types.
func (s *server) seedEvents(t *testing.T, org, workspace, user string, events int) {
	t.Helper()
	s.sql(t, fmt.Sprintf(`INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data,
		created_at, request_id, address)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 'evt_00' || CAST(1000000000 + i AS TEXT), '%s', '%s',
			CASE i %% 4 WHEN 0 THEN 'prompt_template.deleted' WHEN 1 THEN 'prompt_template.restored'
				WHEN 2 THEN 'chat_template.deleted' ELSE 'chat_template.restored' END,
			CASE WHEN i %% 2 = 0 THEN '%s' ELSE '' END, '', 'subject_' || CAST(i AS TEXT), '{"name":"x"}', i, '',
			'192.0.2.1' FROM n`, events, org, workspace, user))
	s.sql(t, `ANALYZE`)
}

// latencies are how long requests took that were answered 200, and how many were answered otherwise.
type latencies struct {
	took   []time.Duration
	others map[int]int
}

func (l *latencies) at(share float64) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[min(int(float64(len(l.took))*share), len(l.took)-1)]
}

func (l *latencies) String() string {
	return fmt.Sprintf("%d answered: p50 %s, p99 %s, longest %s; refused %v", len(l.took), l.at(.5), l.at(.99),
		l.at(1), l.others)
}

// ask sends one request without checking its answer, which costs the client more than the server.
func (c *client) ask(ctx context.Context, over *http.Client, path string) (status int, took time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.server.url+path, nil)
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	begun := time.Now()
	resp, err := over.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, time.Since(begun), err
}

// sample sends one request after the other, with a pause between them as programs have.
func (c *client) sample(t *testing.T, n int, pause time.Duration, path string) *latencies {
	t.Helper()
	l := &latencies{others: map[int]int{}}
	for range n {
		status, took, err := c.ask(t.Context(), http.DefaultClient, path)
		if err != nil {
			t.Fatal(err)
		}
		if status == http.StatusOK {
			l.took = append(l.took, took)
		} else {
			l.others[status]++
		}
		time.Sleep(pause)
	}
	return l
}

// attack sends requests for paths, so many at a time, until end is called. end waits for the first response with 200,
// and returns all of them.
func (c *client) attack(t *testing.T, atOnce int, paths ...string) (end func() *latencies) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	over := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: atOnce}}
	l := &latencies{others: map[int]int{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var turn atomic.Int64
	answered := make(chan struct{})
	first := sync.OnceFunc(func() { close(answered) })
	for range atOnce {
		wg.Go(func() {
			for ctx.Err() == nil {
				status, took, err := c.ask(ctx, over, paths[int(turn.Add(1))%len(paths)])
				mu.Lock()
				switch {
				case err != nil:
				case status == http.StatusOK:
					l.took = append(l.took, took)
					first()
				default:
					l.others[status]++
				}
				mu.Unlock()
				if status == http.StatusTooManyRequests {
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
	return func() *latencies {
		select { // the victim may be done before a server that has just started answers the attacker
		case <-answered:
		case <-time.After(proof.Patience):
		}
		cancel()
		wg.Wait()
		over.CloseIdleConnections()
		return l
	}
}

// defaultLimits are those that a server has which no test has raised.
var defaultLimits = []option{
	set("server.rate_limit.per_minute", "600"), set("server.rate_limit.burst", "100"),
	set("server.concurrency.per_caller", "4"), set("server.concurrency.per_workspace", "5"),
}

// TestFilteredListsHoldUpNoOne lets one key list events by filters that match none, many at a time, in a
// workspace with a long trail; another workspace goes on reading.
func TestFilteredListsHoldUpNoOne(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		events, samples, pause := 20_000, 30, 5*time.Millisecond
		if proof.Running() { // below the limit of a key
			events, samples, pause = 1_500_000, 300, 125*time.Millisecond
		}
		s := start(t, engine, defaultLimits...)
		attacker, victim := s.user(t, "owner"), s.user(t, "owner", "--workspace", "victim")
		s.seedEvents(t, "org", attacker.workspace, attacker.id, events)
		quiet := victim.sample(t, samples, pause, templates)
		for _, atOnce := range []int{12, 60} {
			end := attacker.attack(t, atOnce, "/api/events?type=nothing.at_all",
				"/api/events?type=nothing.at_all&actor="+attacker.id,
				"/api/events?created_after=2099-01-01T00:00:00Z", templates+"?q=nowhere")
			loud := victim.sample(t, samples, pause, templates)
			attacked := end()
			t.Logf("%s, %d events, %d at a time: the victim quiet %s; under attack %s; the attacker %s", engine, events,
				atOnce, quiet, loud, attacked)
			if len(loud.others) > 0 || len(loud.took) != samples {
				t.Errorf("the victim was refused: %v", loud.others)
			}
			if len(attacked.took) == 0 {
				t.Error("no request of the attacker was answered")
			}
			if limit := 5*quiet.at(.99) + 50*time.Millisecond; proof.Running() && loud.at(.99) > limit {
				t.Errorf("the victim's p99 is %s, want %s at most", loud.at(.99), limit)
			}
		}
	})
}
