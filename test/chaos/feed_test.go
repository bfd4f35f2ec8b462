package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// feed is what readers and writers of the events of a workspace have in common.
type feed struct {
	t     *testing.T
	token string

	mu     sync.Mutex
	nodes  []*program.Node    // one may have been ended
	told   map[string]written // by template
	steady bool               // no node ends or starts
	late   [2][]time.Duration // from the response to the event: of a reader at the same node, and at another one
	places [3]int64           // that each reader has read; only the reader writes it
	opened [3]int             // streams of each reader
	client http.Client
}

// written is a confirmed change.
type written struct {
	at     time.Time
	node   int
	steady bool
}

func (f *feed) node(i int) *program.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes[i%len(f.nodes)]
}

func (f *feed) set(i int, n *program.Node, steady bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[i], f.steady = n, steady
}

// write changes something every tenth of a second, at one node, until ctx ends.
func (f *feed) write(ctx context.Context, writer int) {
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(100 * time.Millisecond)
		body := fmt.Sprintf(`{"name": "feed %d %d"}`, writer, i)
		r, err := http.NewRequestWithContext(f.t.Context(), "POST", f.node(writer).URL+"/api/prompt-templates",
			strings.NewReader(body))
		if err != nil {
			f.t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+f.token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := f.client.Do(r)
		if err != nil {
			continue // its node has ended
		}
		var newCase struct{ ID string }
		err = json.NewDecoder(resp.Body).Decode(&newCase)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusCreated {
			continue
		}
		f.mu.Lock()
		f.told[newCase.ID] = written{time.Now(), writer % len(f.nodes), f.steady}
		f.mu.Unlock()
	}
}

// read follows the feed until ctx ends, at the other node if a stream ends.
func (f *feed) read(ctx context.Context, reader int) {
	for index := reader; ctx.Err() == nil; index++ {
		f.follow(ctx, reader, index%len(f.nodes))
		time.Sleep(20 * time.Millisecond)
	}
}

// follow reads one stream until it ends.
func (f *feed) follow(ctx context.Context, reader, node int) {
	r, err := http.NewRequestWithContext(ctx, "GET", f.node(node).URL+"/api/events/stream", nil)
	if err != nil {
		f.t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	r.Header.Set("Last-Event-ID", strconv.FormatInt(f.places[reader], 10))
	resp, err := f.client.Do(r)
	if err != nil {
		return // its node has ended
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	f.opened[reader]++
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
		case "event":
			f.t.Errorf("reader %d is told %s", reader, value)
		case "data":
			f.got(reader, node, value)
		case "id":
			seq, err := strconv.ParseInt(value, 10, 64)
			if last := f.places[reader]; err != nil || (seq != last && seq != last+1) {
				f.t.Errorf("reader %d was at %d and is at %s", reader, last, value)
			}
		}
	}
}

// got notes an event.
func (f *feed) got(reader, node int, text string) {
	now := time.Now()
	var e struct {
		Seq     int64
		Subject string
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return // the stream was cut off
	}
	if e.Seq != f.places[reader]+1 {
		f.t.Errorf("reader %d got %d after %d", reader, e.Seq, f.places[reader])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places[reader] = e.Seq
	if w, exists := f.told[e.Subject]; exists && w.steady && f.steady {
		kind := 0
		if w.node != node {
			kind = 1
		}
		f.late[kind] = append(f.late[kind], now.Sub(w.at))
	}
}

// TestReadersOfTheFeedMissNothingAndGetNothingTwice lets eight writers and three readers go on while nodes restart and
// are killed.
func TestReadersOfTheFeedMissNothingAndGetNothingTwice(t *testing.T) {
	calm, rounds := proof.Sample(time.Second, 10*time.Second), proof.Sample(1, 5)
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) {
			besideOthers(t)
			d := on(t, engine)
			f := &feed{t: t, told: map[string]written{}, steady: true}
			for range map[string]int{sqlite: 1, postgres: 2}[engine] {
				f.nodes = append(f.nodes, d.Start(t, suite.Binary(t)))
			}
			f.token = d.Owner(t, suite.Binary(t), "ann@example.com")
			writing, endWriters := context.WithCancel(t.Context())
			reading, endReaders := context.WithCancel(t.Context())
			var writers, readers sync.WaitGroup
			for w := range 8 {
				writers.Go(func() { f.write(writing, w) })
			}
			for r := range f.places {
				readers.Go(func() { f.read(reading, r) })
			}
			t.Cleanup(func() { endWriters(); endReaders(); writers.Wait(); readers.Wait() })
			for i := range rounds {
				time.Sleep(calm)
				f.disturb(t, d, i, calm/4)
			}
			time.Sleep(calm)
			endWriters()
			writers.Wait()
			f.check(t, d)
		})
	}
}

// disturb restarts one node, and kills another one, if there is one, which is away for a while.
func (f *feed) disturb(t *testing.T, d *program.Deployment, round int, awayTime time.Duration) {
	t.Helper()
	first, second := round%len(f.nodes), (round+1)%len(f.nodes)
	f.set(first, f.nodes[first], false)
	f.nodes[first].Stop(t)
	f.set(first, d.Start(t, suite.Binary(t)), false)
	f.nodes[second].Kill(t)
	time.Sleep(awayTime)
	f.set(second, d.Start(t, suite.Binary(t)), false)
	time.Sleep(time.Second) // until all are connected again
	f.set(second, f.nodes[second], true)
}

// check waits until every reader has all events, and checks how late they were.
func (f *feed) check(t *testing.T, d *program.Deployment) {
	t.Helper()
	var records int64
	require.NoError(t, d.Open(t).QueryRow(`SELECT COUNT(*) FROM recorded_events`).Scan(&records))
	proof.Await(t, fmt.Sprintf("the readers have %d events", records), func() int64 {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Min(f.places[:])
	}, func(place int64) bool { return place == records })
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.told) < 20 || slices.Min(f.opened[:]) < 2 {
		t.Errorf("only %d changes were confirmed, and the readers opened %d streams", len(f.told), f.opened)
	}
	t.Logf("%d events, %d streams", records, f.opened)
	for i, bar := range []time.Duration{250 * time.Millisecond, time.Second} {
		if all := f.late[i]; len(all) > 0 {
			slices.Sort(all)
			place := []string{"on one node", "across nodes"}[i]
			t.Logf("%s: %d events, p50 %s, p99 %s", place, len(all), all[len(all)/2].Round(time.Millisecond),
				all[len(all)*99/100].Round(time.Millisecond))
			proof.Within(t, "99 of 100 events "+place, all[len(all)*99/100], bar)
		}
	}
}
