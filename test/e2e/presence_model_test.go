package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestNodesAgreeWithWhatWasHeard has users send heartbeats to nodes that share a PostgreSQL, and kills some nodes. It
// compares what each node shows of every user, in its stream and in its list, with the acknowledged heartbeats.
func TestNodesAgreeWithWhatWasHeard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes int
		redis bool
		short bool // part of every run, and not of proofs alone
	}{
		"two nodes, by NOTIFY":   {2, false, true},
		"three nodes, by NOTIFY": {3, false, false},
		"two nodes, by Redis":    {2, true, false},
		"three nodes, by Redis":  {3, true, true},
	} {
		if !tt.short && !proof.Running() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []option
			if tt.redis {
				options = append(options, set("redis.url", services.Redis(t).URL))
			}
			newCrowd(t, deployMigrated(t, postgres, options...), tt.nodes).live(t)
		})
	}
}

// crowd is users with known histories who send heartbeats to nodes, and an operator who reads from each node.
type crowd struct {
	*deployment
	random    *rand.Rand
	nodes     []*server
	readers   []*reader // of each node
	operator  *client
	people    []*client
	histories []*fixture.PresenceHistory

	ended                                 map[int]bool  // whose presence was deleted since all nodes agreed
	acted                                 time.Time     // when the last action was acknowledged
	slowest                               time.Duration // until everybody showed what they had to
	beats, claims, deletes, kills, checks int

	trace []string // of all actions
}

func newCrowd(t *testing.T, d *deployment, nodes int) *crowd {
	t.Helper()
	c := &crowd{deployment: d, random: rand.New(rand.NewPCG(proof.Seed(t), 8)), nodes: make([]*server, nodes),
		readers: make([]*reader, nodes), ended: map[int]bool{}}
	c.nodes[0] = d.start(t)
	c.operator = c.nodes[0].user(t, "viewer", "--operator")
	people := proof.Sample(3, 6)
	for range people {
		c.people, c.histories = append(c.people, c.nodes[0].user(t, "member")),
			append(c.histories, &fixture.PresenceHistory{})
	}
	for i := range c.nodes {
		if i > 0 {
			c.nodes[i] = d.start(t)
		}
		c.look(t, i)
	}
	return c
}

// look opens a stream at a node.
func (c *crowd) look(t *testing.T, node int) {
	t.Helper()
	c.readers[node] = newReader(c.operator, "")
	c.readers[node].open(t, c.nodes[node])
}

// late is the maximum delay until a change is shown: two seconds while proving.
func late() time.Duration {
	if proof.Running() {
		return 2 * time.Second
	}
	return patience
}

func (c *crowd) live(t *testing.T) {
	lasts := proof.Sample(3*time.Second, 3*time.Minute) // in which devices come and go
	for ends := time.Now().Add(lasts); time.Now().Before(ends) && !t.Failed(); {
		for range 1 + c.random.IntN(4) {
			c.act(t, c.random.IntN(40))
		}
		c.agree(t)
		if proof.Running() {
			pause(t.Context(), time.Duration(c.random.IntN(1500))*time.Millisecond)
		}
	}
	c.act(t, 0) // at least one dies
	c.agree(t)
	if proof.Running() { // and then everybody falls silent
		for heard := time.Now(); time.Since(heard) < 42*time.Second && !t.Failed(); {
			c.agree(t)
			pause(t.Context(), 200*time.Millisecond)
		}
		for i := range c.people {
			if got := c.histories[i].Possible(time.Now(), time.Now(), late()); len(got) != 1 || !got[presence.Offline] {
				t.Errorf("somebody is still there: %v", got)
			}
		}
	}
	for _, r := range c.readers {
		r.sound(t)
	}
	t.Logf("%d heartbeats, %d claims, %d deletions, %d kills; compared %d times at %d nodes, the slowest agreed "+
		"after %s", c.beats, c.claims, c.deletes, c.kills, c.checks, len(c.nodes), c.slowest.Round(time.Millisecond))
}

var manual = map[presence.Manual]string{presence.Auto: "auto", presence.ManualOnline: "online",
	presence.ManualAway: "away", presence.ManualDND: "dnd", presence.ManualInvisible: "invisible"}

// act performs one random change.
func (c *crowd) act(t *testing.T, action int) {
	t.Helper()
	personCount, node := c.random.IntN(len(c.people)), c.random.IntN(len(c.nodes))
	h, by := c.histories[personCount], c.people[personCount].at(c.nodes[node])
	switch action {
	case 0:
		c.note("node %d is killed", node)
		c.nodes[node].kill(t)
		for _, h := range c.histories {
			h.Lose(c.nodes[node])
		}
		c.nodes[node] = c.start(t)
		c.look(t, node)
		c.kills++
	case 1, 2, 3:
		a := by.do(t, "DELETE", presences+"/me", nil)
		c.note("%s is deleted at node %d: %d", by.id, node, a.status)
		switch {
		case a.status == 204 || !h.Heard():
			*h, c.ended[personCount] = fixture.PresenceHistory{}, true
		case a.status != 404 || !c.ended[personCount]:
			t.Errorf("%s", a)
		default:
			// A node that had not learned of the last deletion acknowledged the heartbeat. This one has not learned of
			// that either. The heartbeat revives the presence when its node learns of the deletion.
		}
		c.deletes++
	default:
		b := presence.Heartbeat{Device: []string{"a", "b"}[c.random.IntN(2)],
			TTL: time.Duration(30+c.random.IntN(10)) * time.Second, Idle: c.random.IntN(3) == 0}
		body := object{"device_id": b.Device, "ttl_seconds": int(b.TTL / time.Second), "activity": "active"}
		if b.Idle {
			body["activity"] = "idle"
		}
		if action < 16 {
			b.Status = new([]presence.Manual{presence.Auto, presence.ManualOnline, presence.ManualAway,
				presence.ManualDND, presence.ManualInvisible}[c.random.IntN(5)])
			body["status"] = manual[*b.Status]
			c.claims++
		}
		if action < 10 {
			b.Until = new(time.Now().Add(time.Duration(500+c.random.IntN(3000)) * time.Millisecond).UTC().Truncate(
				time.Millisecond))
			body["manual_until"] = b.Until.Format(time.RFC3339Nano)
		}
		sentAt := time.Now()
		a := by.do(t, "POST", presences, body)
		if a.status == 429 { // more than anybody's devices may report
			pause(t.Context(), time.Second)
			return
		}
		if a.status > 201 {
			t.Fatalf("%s", a)
		}
		h.Beat(c.nodes[node], b, sentAt, time.Now())
		c.note("%s reports %v at node %d: %d", by.id, body, node, a.status)
		c.beats++
	}
	c.acted = time.Now()
}

// note records an action, to help find the reason of a failure.
func (c *crowd) note(format string, args ...any) {
	line := time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...)
	c.trace = append(c.trace[max(0, len(c.trace)-60):], line)
}

// agree waits until each node shows a possible state of every user.
func (c *crowd) agree(t *testing.T) {
	t.Helper()
	c.checks++
	defer clear(c.ended)
	for i := range c.nodes {
		var askedTimes []time.Time // for the state, as long as it was wrong
		proof.Await(t, fmt.Sprintf("node %d shows a possible state\n%s", i, strings.Join(c.trace, "\n")),
			func() string {
				start, deviation := time.Now(), c.compare(t, i)
				if deviation != "" {
					askedTimes = append(askedTimes, start)
				}
				return deviation
			}, func(problem string) bool { return problem == "" })
		if len(askedTimes) > 0 {
			c.slowest = max(c.slowest, time.Since(c.acted))
			if delay := askedTimes[len(askedTimes)-1].Sub(c.acted); delay > late() {
				t.Fatalf("node %d showed a wrong state %s after the last action\n%s", i, delay,
					strings.Join(c.trace, "\n"))
			}
		}
	}
}

// compare returns a difference between what a node shows and the possible states, or "".
func (c *crowd) compare(t *testing.T, node int) string {
	t.Helper()
	begin := time.Now()
	var list struct {
		Data []struct {
			User   string          `json:"user_id"`
			Status presence.Status `json:"status"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(c.operator.at(c.nodes[node]).get(t, presences+"?limit=100").text),
		&list))
	status := map[string]presence.Status{}
	for _, p := range list.Data {
		status[p.User] = p.Status
	}
	streamedKnowns, end := c.readers[node].state(), time.Now()
	for i, p := range c.people {
		allowedStatus := c.histories[i].Possible(begin, end, late())
		if got := cmp.Or(status[p.id], presence.Offline); !allowedStatus[got] {
			return fmt.Sprintf("%s as %s in its list, may %v", p.id, got, allowedStatus)
		}
		if got := cmp.Or(presence.Status(streamedKnowns[p.id].status), presence.Offline); !allowedStatus[got] {
			return fmt.Sprintf("%s as %s in its stream, may %v", p.id, got, allowedStatus)
		}
	}
	return ""
}
