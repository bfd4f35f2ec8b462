package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestSoak sends requests of all areas at a steady rate for a long time. Nothing may fail, and neither memory, the
// heap, descriptors, goroutines nor the log of the database may grow. ATRIUM_SOAK and ATRIUM_SOAK_RATE set another
// duration and another number of requests a second.
func TestSoak(t *testing.T) {
	length, perSecond := proof.Sample(2*time.Second, 30*time.Minute), proof.Sample(100, 500)
	if text := os.Getenv("ATRIUM_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal("ATRIUM_SOAK: ", err)
		}
	}
	if text := os.Getenv("ATRIUM_SOAK_RATE"); text != "" {
		var err error
		if perSecond, err = strconv.Atoi(text); err != nil {
			t.Fatal("ATRIUM_SOAK_RATE: ", err)
		}
	}
	t.Run("two nodes on PostgreSQL", func(t *testing.T) { soak(t, services.Postgres(t), 2, length, perSecond) })
	if proof.Running() {
		t.Run("one node on SQLite", func(t *testing.T) { soak(t, "", 1, length/3, perSecond) })
	}
}

func soak(t *testing.T, database string, nodes int, length time.Duration, perSecond int) {
	d := deployOrg(t, database, "slug: default, payments: {gateway: sandbox}",
		"ATRIUM_SERVER_RATE_LIMIT_SIGN_INS_PER_MINUTE=1000000",
		"ATRIUM_CONNECTIONS_PREVIEW_LIMITS_WORKSPACE_PER_MINUTE=10000",
		"ATRIUM_CONNECTIONS_PREVIEW_LIMITS_TARGET_PER_HOUR=10000")
	var all []*watched
	for range nodes {
		one := *d
		metrics := fmt.Sprintf("127.0.0.1:%d", fixture.FreePort(t))
		one.Env = append(slices.Clone(d.Env), "ATRIUM_METRICS_ADDR="+metrics)
		all = append(all, &watched{Node: one.Start(t, suite.Binary(t)), metrics: metrics})
	}
	var turn atomic.Int64
	l := newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node {
		return all[int(turn.Add(1))%nodes].Node
	})
	l.stockShop(t)
	pace := rate.NewLimiter(rate.Limit(perSecond), perSecond)
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	l.pace = func() bool { return pace.Wait(ctx) == nil }
	start := time.Now()
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	for _, area := range soaked {
		for range area.workers {
			working.Go(func() {
				for first := true; ctx.Err() == nil; first = false {
					if !area.write(l, first) {
						return // the test has failed, or has ended
					}
					waits(ctx, area.pause)
				}
			})
		}
	}
	for i := range all {
		working.Go(func() { all[i].listen(ctx, l.token) })
	}
	db := d.Open(t)
	defer db.Close()
	var seen []sample
	for everyTime := max(length/120, 200*time.Millisecond); ctx.Err() == nil; waits(ctx, everyTime) {
		seen = append(seen, measure(t, all, func() int { return walBytes(t, d, db) }))
	}
	working.Wait()
	took, answers := time.Since(start), l.answered.Load()
	t.Logf("%d requests in %s (%.0f a second), %d failed", answers, took.Round(time.Second),
		float64(answers)/took.Seconds(), l.refused.Load())
	report(t, seen, length)
	if proof.Running() && float64(answers) < 0.9*float64(perSecond)*length.Seconds() {
		t.Errorf("%d requests were answered, want %d a second", answers, perSecond)
	}
}

// waits waits, at most until ctx ends.
func waits(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watched is a node that is measured.
type watched struct {
	*program.Node
	metrics string
}

// listen keeps streams open.
func (w *watched) listen(ctx context.Context, token string) {
	var open sync.WaitGroup
	for range 5 {
		open.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/api/presence/stream", nil)
			if err != nil {
				return
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body) // until ctx ends
				resp.Body.Close()
			}
		})
	}
	open.Wait()
}

// sample is one measurement of all nodes together. heap is the size at which the next collection of garbage ends: five
// times what the last one left. It shows a leak that memory, which depends on when it is measured, hides for long.
type sample struct{ memory, heap, descriptors, goroutines, wal int }

var (
	resident = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB`)
	heapGoal = regexp.MustCompile(`(?m)^go_memstats_next_gc_bytes (\S+)`)
	running  = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)
)

func measure(t *testing.T, nodes []*watched, wal func() int) (s sample) {
	t.Helper()
	number := func(pattern *regexp.Regexp, text []byte) int {
		t.Helper()
		found := pattern.FindSubmatch(text)
		if found == nil {
			t.Fatalf("there is no %s", pattern)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return int(n)
	}
	for _, n := range nodes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
		require.NoError(t, err)
		s.memory += number(resident, status) << 10
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Pid()))
		require.NoError(t, err)
		s.descriptors += len(files)
		resp, err := http.Get("http://" + n.metrics + "/metrics")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		s.goroutines += number(running, text)
		s.heap += number(heapGoal, text)
	}
	s.wal = wal()
	return s
}

// flatFrom is the shortest duration after which samples say whether something grows.
const flatFrom = 5 * time.Minute

// report logs the samples, and fails if the last quarter is higher than the second one. The first quarter is for caches
// and pools to fill, and for PostgreSQL to reach its second checkpoint.
func report(t *testing.T, seen []sample, length time.Duration) {
	t.Helper()
	for name, owner := range map[string]struct {
		value func(sample) int
		unit  int
		share int // the part of itself that it may grow by: one in so many
		spare int // that it may grow by, besides
	}{
		"memory in MiB":           {func(s sample) int { return s.memory }, 1 << 20, 10, 16 << 20},
		"goal of the heap in MiB": {func(s sample) int { return s.heap }, 1 << 20, 20, 4 << 20},
		"descriptors":             {func(s sample) int { return s.descriptors }, 1, 10, 20},
		"goroutines":              {func(s sample) int { return s.goroutines }, 1, 10, 40},
		"database log in MiB":     {func(s sample) int { return s.wal }, 1 << 20, 10, 64 << 20},
	} {
		quarter := len(seen) / 4
		median := func(subset []sample) int {
			var values []int
			for _, s := range subset {
				values = append(values, owner.value(s))
			}
			slices.Sort(values)
			if len(values) == 0 {
				return 0
			}
			return values[len(values)/2]
		}
		var quarters []string
		for i := range 4 {
			quarters = append(quarters, strconv.Itoa(median(seen[i*quarter:(i+1)*quarter])/owner.unit))
		}
		t.Logf("%s, medians of the quarters: %s", name, strings.Join(quarters, ", "))
		second, last := median(seen[quarter:2*quarter]), median(seen[3*quarter:])
		if length >= flatFrom && last > second+second/owner.share+owner.spare {
			t.Errorf("%s grows: %s", name, strings.Join(quarters, ", "))
		}
	}
}
