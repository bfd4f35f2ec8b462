package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// arrival causes an event, and returns how long after the response the receiver gets it.
func (h *hooked) arrival(t *testing.T, target *receiver) time.Duration {
	t.Helper()
	subject := h.must(t, "POST", "/api/prompt-templates", object{"name": h.name()}).id(t)
	start := time.Now()
	for late := start.Add(patience); time.Now().Before(late); time.Sleep(2 * time.Millisecond) {
		target.mu.Lock()
		exists := slices.ContainsFunc(target.all, func(a attempt) bool { return a.subject == subject })
		target.mu.Unlock()
		if exists {
			return time.Since(start)
		}
	}
	t.Fatal("the event does not arrive")
	return 0
}

// TestADeadOrSlowWebhookDelaysNoOther compares how soon events arrive at a receiver that is alone, and at one whose
// workspace has 19 other webhooks, which do not answer or cannot be reached.
func TestADeadOrSlowWebhookDelaysNoOther(t *testing.T) {
	times := proof.Sample(2, 20)
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) {
			besideOthers(t)
			h := newHooked(t, engine, 0, 1, 0)
			slowest := func() (all time.Duration) {
				for range times {
					all = max(all, h.arrival(t, h.to[0]))
				}
				return all
			}
			solo := slowest()
			slow := noAnswer(t)
			goneText := fmt.Sprintf("http://127.0.0.1:%d", fixture.ClosedPort(t))
			for i := range 19 {
				h.hook(t, []string{slow, goneText}[i%2])
			}
			neighbourTime := slowest()
			t.Logf("alone within %s, beside dead and slow ones within %s", solo.Round(time.Millisecond),
				neighbourTime.Round(time.Millisecond))
			proof.Within(t, "an event beside dead and slow webhooks", neighbourTime, solo+time.Second)
		})
	}
}

// busy is a receiver that takes its time and gives long answers.
type busy struct {
	mu               sync.Mutex
	now, most, total int
}

func (b *busy) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	b.count(1, 0)
	defer b.count(-1, 1)
	time.Sleep(proof.Sample(50*time.Millisecond, 2*time.Second))
	_, _ = w.Write(make([]byte, 64<<10))
}

func (b *busy) count(current, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now += current
	b.most, b.total = max(b.most, b.now), b.total+total
}

func (b *busy) delivered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// residentNow returns the resident memory of a process in MiB.
func residentNow(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	kb, err := strconv.Atoi(string(resident.FindSubmatch(status)[1]))
	require.NoError(t, err)
	return kb >> 10
}

// TestTwoHundredWebhooksOfOneNodeTakeLittleMemory lets every webhook of four organisations have five requests under
// way.
func TestTwoHundredWebhooksOfOneNodeTakeLittleMemory(t *testing.T) {
	besideOthers(t)
	orgs, hooks := proof.Sample(1, 4), []int{20, 20, 10}
	if !proof.Running() {
		hooks = []int{5}
	}
	const events, bar = 20, 256 // of each webhook; MiB
	var config []string
	for i := range orgs {
		config = append(config,
			fmt.Sprintf("{slug: o%[1]d, hosts: [o%[1]d.example.com], egress: {allow: [127.0.0.0/8]}}", i))
	}
	d := program.Deploy(t, services.Postgres(t), "orgs: ["+strings.Join(config, ", ")+"]\n",
		"ATRIUM_SERVER_RATE_LIMIT_PER_MINUTE=1000000", "ATRIUM_SERVER_RATE_LIMIT_BURST=1000000")
	n := d.Start(t, suite.Binary(t))
	target := &busy{}
	server := httptest.NewServer(target)
	t.Cleanup(server.Close)
	post := func(org int, token, path string, body object) {
		t.Helper()
		content, err := json.Marshal(body)
		require.NoError(t, err)
		r, err := http.NewRequestWithContext(t.Context(), "POST", n.URL+path, strings.NewReader(string(content)))
		require.NoError(t, err)
		r.Host = fmt.Sprintf("o%d.example.com", org)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s answers %s", path, resp.Status)
		}
	}
	all, tokens := 0, map[string]int{}
	for org := range orgs {
		for i, number := range hooks {
			token := d.Owner(t, suite.Binary(t), fmt.Sprintf("a%d@example.com", i), "--org", fmt.Sprint("o", org),
				"--workspace", fmt.Sprint("w", i))
			tokens[token] = org
			for range number {
				post(org, token, "/api/webhooks", object{"url": server.URL, "events": []string{"prompt_template.*"}})
			}
			all += number
		}
	}
	previous, most := residentNow(t, n.Pid()), 0
	for token, org := range tokens {
		for i := range events {
			post(org, token, "/api/prompt-templates", object{"name": fmt.Sprint("t", i)})
		}
	}
	proof.Eventually(t, "all deliveries have arrived", func() bool {
		most = max(most, residentNow(t, n.Pid()))
		return target.delivered() >= all*events
	}, n.Output)
	t.Logf("%d webhooks, %d requests at the same time: %d MiB before, %d MiB at most", all, target.most, previous, most)
	if proof.Running() && (most > bar || target.most < 900) {
		t.Errorf("more than %d MiB, or fewer requests at the same time than can be", bar)
	}
}
