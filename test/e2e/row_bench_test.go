package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// longStream reads a table of a million rows (fewer in make test): its first page, and all of it as NDJSON. It prints
// the rate beside that of the driver alone, of which half is the goal, and the processor time that both take beside the
// database: docs/benchmarks.md has what was reached. Both alternate, since other programs slow both.
func longStream(t *testing.T, ann *client, shop *shopWarehouse) {
	rows := proof.Sample(20_000, 1_000_000)
	shop.sql(t, shop.name, `CREATE TABLE many (email text PRIMARY KEY, name text, since timestamptz)`)
	shop.sql(t, shop.name, `INSERT INTO many SELECT 'user' || g || '@example.com', 'User number ' || g,
		timestamptz '2026-01-01' + g * interval '1 second' FROM generate_series(1, `+strconv.Itoa(rows)+`) AS g`)
	shop.sql(t, shop.name, `ANALYZE many`)
	connection := ann.create(t, connections, shop.connection("p")).at("id")
	path := sources + "/" + ann.create(t, sources, object{"type": "contacts", "location": object{
		"connection_id": connection, "schema": "public", "table": "many"}, "mapping": []object{
		{"field": "email", "column": "email"}, {"field": "full_name", "column": "name"},
		{"field": "created_at", "column": "since"}}}).at("id") + "/rows"

	page := time.Hour
	for range 3 { // the first one may start a child
		begin := time.Now()
		ann.get(t, path+"?limit=100").has(t, map[string]string{"has_more": "true"})
		page = min(page, time.Since(begin))
	}
	proof.Within(t, "the first page", page, 300*time.Millisecond)

	previous := ann.server.resident(t)
	limit, done, endedSignal := previous, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(endedSignal)
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				limit = max(limit, ann.server.resident(t))
			}
		}
	}()
	var rate, share, usage, usedBare []float64
	for range proof.Sample(1, 5) {
		cpu := cpuTime(t, ann.server)
		took := streamed(t, ann, path, rows)
		usage = append(usage, (cpuTime(t, ann.server) - cpu).Seconds())
		driver, cpuBare := drives(t, shop, rows)
		usedBare = append(usedBare, cpuBare.Seconds())
		rate, share = append(rate, float64(rows)/took.Seconds()), append(share, driver.Seconds()/took.Seconds())
	}
	close(done)
	<-endedSignal
	if grown := limit - previous; grown > 64<<20 {
		t.Errorf("the server grew by %d bytes, more than 64 MiB", grown)
	}
	t.Logf("%d rows: first page %s; NDJSON %.0f rows/s, %.2f of the driver's; the server and its child use %.2f s, "+
		"the driver %.2f; the server grew by %.1f MiB", rows, page.Round(time.Millisecond), median(rate), median(share),
		median(usage), median(usedBare), float64(limit-previous)/(1<<20))
	t.Logf("shares: %.2f", share)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpuTime returns the processor time of a server and of its children that have ended.
func cpuTime(t *testing.T, s *server) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	require.NoError(t, err)
	_, next, _ := strings.Cut(string(text), ") ")
	const first, last = 11, 15 // utime, stime, cutime and cstime, in hundredths of a second (proc(5))
	ticks := 0
	for _, field := range strings.Fields(next)[first:last] {
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// ownCPU returns the processor time of this process.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// streamed reads all rows as NDJSON.
func streamed(t *testing.T, formatClient *client, path string, rows int) time.Duration {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, formatClient.server.url+path, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+formatClient.token)
	request.Header.Set("Accept", "application/x-ndjson")
	begin := time.Now()
	ownTransport := &http.Transport{}
	defer ownTransport.CloseIdleConnections()
	response, err := ownTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	n := 0
	in := bufio.NewScanner(response.Body)
	for in.Scan() {
		n++
	}
	if in.Err() != nil || n != rows {
		t.Fatalf("%d rows of %d, %v", n, rows, in.Err())
	}
	return time.Since(begin)
}

// drives reads the same rows by the driver alone, on a new connection. It also returns the processor time.
func drives(t *testing.T, shop *shopWarehouse, rows int) (took, cpu time.Duration) {
	t.Helper()
	begin, cpu := time.Now(), ownCPU(t)
	c, err := pgconn.Connect(t.Context(), shop.url.String())
	require.NoError(t, err)
	defer func() { _ = c.Close(context.Background()) }()
	n, bytes := 0, 0
	in := c.ExecParams(t.Context(), `SELECT email, name, since::text FROM many`, nil, nil, nil, nil)
	for in.NextRow() {
		n++
		for _, v := range in.Values() {
			bytes += len(string(v))
		}
	}
	if _, err := in.Close(); err != nil || n != rows || bytes == 0 {
		t.Fatalf("%d rows of %d, %v", n, rows, err)
	}
	return time.Since(begin), ownCPU(t) - cpu
}
