package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestOnePersonDoesNotTakeTheChildrenOfOthers has a user with many workspaces preview sheets of a silent host, while
// users of the same org and of another one preview theirs.
func TestOnePersonDoesNotTakeTheChildrenOfOthers(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine, unlimitedReads, set("server.concurrency.per_caller", "1000"),
			set("server.rate_limit.per_minute", "100000"), set("server.rate_limit.burst", "100000"))
		host := newSilence(t)
		spaces := make([]string, proof.Sample(8, 19))
		for i := range spaces {
			spaces[i] = w.attacker.create(t, "/api/workspaces", object{"name": "Space " + strconv.Itoa(i)}).at("id")
		}
		credential, _ := w.warehouse(1)
		connection := w.victims[0].create(t, connections, object{"kind": "postgres", "credential": credential}).at("id")
		refusedResponses := make(chan *answer, 1)
		var peers sync.Once
		statuses := w.underUntil(http.StatusTooManyRequests, 2*len(spaces), func(ctx context.Context, caller int) int {
			a := w.attacker.ask(ctx, "GET", host.sheet(), nil, "Workspace-Id: "+spaces[caller/2])
			if a.at("code") == "too_many_reads" {
				select {
				case refusedResponses <- a:
				default:
				}
			}
			return a.status
		}, proof.Sample(20, 60), 100*time.Millisecond, func(ctx context.Context, _ int) error {
			// Nothing listens there, so a served request gets that error.
			peers.Do(func() {
				w.stranger("peer").do(t, "GET", sheetOf(fixture.ClosedPort(t), "a"), nil).problem(t, 502,
					"upstream_failed")
			})
			_, err := w.victims[0].served(ctx, http.StatusOK, "GET",
				sources+"/warehouse-preview?connection_id="+connection, nil)
			return err
		})
		if statuses[http.StatusTooManyRequests] == 0 {
			t.Errorf("with %d previews at a time, the attacker was never refused", 2*len(spaces))
		}
		select {
		case a := <-refusedResponses:
			assert.Equal(t, "Retry-After", a.header.Get("Retry-After"), "5")
		default:
			t.Error("no preview had too many others before it")
		}
		if host.hangUp(); host.most > 2 { // of four
			t.Errorf("%d previews of one person's ran at the same time", host.most)
		}
	})
}

// sheetOf returns the path of a preview of a sheet on a port of loopback.
func sheetOf(port uint16, name string) string {
	return "/api/datasources/sheet-preview?url=" +
		url.QueryEscape(fmt.Sprintf("https://127.0.0.1:%d/%s.csv", port, name))
}

// TestTheChildrenOfAnAttackAreWalled looks at the child processes that serve an attacker. What the wall refuses is
// listed by TestHostileCodeIsRefusedEverything in adapters/confine, where hostile code runs in a child.
func TestTheChildrenOfAnAttackAreWalled(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := newAttack(t, engine, isPlain, unlimitedReads)
		const busy = 2 // half of the places of a node
		connectedSignal := make(chan struct{}, 10_000)
		silent := fixture.Listener(t, func(c net.Conn) {
			connectedSignal <- struct{}{}
			fixture.Silence(c)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var previews sync.WaitGroup
		for i := range busy {
			previews.Go(func() { w.attacker.status(ctx, "GET", sheetOf(silent, strconv.Itoa(i)), nil) })
		}
		for range busy { // a child connects after it has confined itself
			select {
			case <-connectedSignal:
			case <-time.After(patience):
				t.Fatal("no child has connected")
			}
		}
		walledChilds := walledChildren(t, w.process.Process.Pid)
		if len(walledChilds) < busy {
			t.Errorf("%d of %d children have a filter of system calls", len(walledChilds), busy)
		}
		for _, child := range walledChilds {
			child.check(t)
		}
		cancel()
		previews.Wait()
		proof.Eventually(t, "no child outlives its job", func() bool {
			return len(walledChildren(t, w.process.Process.Pid)) == 0
		})
		w.under(4, func(ctx context.Context, caller int) int {
			return w.attacker.status(ctx, "GET", sheetOf(silent, strconv.Itoa(caller)), nil)
		}, samples, pace, w.reads)
	})
}

// child is a process with what the kernel says about it.
type child struct {
	pid            string
	status, limits map[string]string
}

// walledChildren returns the children of a process that have a filter of system calls.
func walledChildren(t *testing.T, parent int) (found []child) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, folder := range all {
		status := fields(filepath.Join(folder, "status"), ":")
		if status["PPid"] == strconv.Itoa(parent) && status["Seccomp"] == "2" {
			found = append(found, child{filepath.Base(folder), status, fields(filepath.Join(folder, "limits"), "  ")})
		}
	}
	return found
}

// fields reads the lines of a file of /proc, each with a name and a value. It returns nil for a process that has ended.
func fields(path, separator string) map[string]string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	found := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), separator)
		found[name] = strings.TrimSpace(value)
	}
	return found
}

// check compares a child with what docs/adr/0011-parse-tenants-data-in-confined-children.md says.
func (c child) check(t *testing.T) {
	t.Helper()
	if c.status["NoNewPrivs"] != "1" {
		t.Errorf("child %s can get privileges", c.pid)
	}
	// of a root's child, to read files of other users
	const readers = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	if caps, err := strconv.ParseUint(c.status["CapEff"], 16, 64); err != nil || caps&^readers != 0 {
		t.Errorf("child %s has the capabilities %s", c.pid, c.status["CapEff"])
	}
	for name, want := range map[string]string{
		"Max cpu time": "3", "Max file size": "0", "Max core file size": "0", "Max open files": "64",
		"Max locked memory": "0", "Max msgqueue size": "0",
	} {
		if got, _, _ := strings.Cut(c.limits[name], " "); got != want {
			t.Errorf("child %s has the limit %q of %s", c.pid, c.limits[name], name)
		}
	}
	for _, name := range []string{"Max processes", "Max data size"} {
		if c.limits[name] == "" || strings.HasPrefix(c.limits[name], "unlimited") {
			t.Errorf("child %s has the limit %q of %s", c.pid, c.limits[name], name)
		}
	}
	stat, err := os.ReadFile(filepath.Join("/proc", c.pid, "stat"))
	require.NoError(t, err)
	_, next, _ := strings.Cut(string(stat), ") ")
	if nice, err := strconv.Atoi(strings.Fields(next)[16]); err != nil || nice < 5 {
		t.Errorf("child %s has the niceness %d, %v", c.pid, nice, err)
	}
}

// TestBombsDelayNoOtherReader has an attacker preview files that are small and expensive, and probe a database that
// answers without end, while others preview a small file or a table.
func TestBombsDelayNoOtherReader(t *testing.T) {
	underAttack(t, func(t *testing.T, engine string) {
		w := startWorld(t, engine, openArena+"\n    egress: {allow: [127.0.0.0/8]}\n", unlimitedReads)
		for i := range victimCount {
			w.victims = append(w.victims, w.stranger("victim-"+strconv.Itoa(i)))
		}
		w.attacker = w.stranger("mallory")
		endless := fixture.Listener(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, err := c.Write([]byte{'E', 0x7f, 0xff, 0xff, 0xff}) // an error message of 2 GiB
			for extra := make([]byte, 64<<10); err == nil; {
				_, err = c.Write(extra)
			}
		})
		credential := object{"host": "127.0.0.1", "port": endless, "database": "d", "username": "u", "password": "p",
			"tls": "disable"}
		bombs := []func(context.Context) *answer{func(ctx context.Context) *answer {
			return w.attacker.ask(ctx, "POST", "/api/connections?dry_run=true",
				object{"kind": "postgres", "credential": credential})
		}}
		preview := func(file string) string { return "/api/datasources/sheet-preview?url=file:" + file }
		harmless := "/api/datasources"
		if engine == sqlite { // files are offered only beside SQLite
			for _, name := range w.bombFiles() {
				bombs = append(bombs, func(ctx context.Context) *answer {
					return w.attacker.ask(ctx, "GET", preview(name), nil)
				})
			}
			harmless = preview("people.csv")
		}
		for _, bomb := range bombs {
			begin := time.Now()
			a := bomb(t.Context())
			isRefused := a.status >= 400 && a.status <= 502 && a.status != http.StatusInternalServerError
			// A child has the least priority: where other tests keep the processor busy, a bomb may run out of time.
			if !isRefused && a.status != http.StatusGatewayTimeout {
				t.Errorf("%s returns %d: %s", a.call, a.status, a.text)
			}
			// TestBombsAreRefusedWithinASecond in adapters/sheet asserts the duration, and logs the time of the
			// processor.
			t.Logf("%s: %d after %s", a.call, a.status, time.Since(begin).Round(time.Millisecond))
		}
		statuses := w.under(4, func(ctx context.Context, caller int) int {
			return bombs[caller%len(bombs)](ctx).status
		},
			samples, 4*pace, func(ctx context.Context, i int) error {
				victim := w.victims[i%len(w.victims)]
				a := victim.ask(ctx, "GET", harmless, nil)
				// So may the child of a victim.
				for late := time.Now().Add(patience); a.status == http.StatusGatewayTimeout && !proof.Running() &&
					time.Now().Before(late); {
					a = victim.ask(ctx, "GET", harmless, nil)
				}
				if a.status != http.StatusOK {
					return fmt.Errorf("a victim's request: %s", a)
				}
				return nil
			})
		if statuses[http.StatusOK] > 0 {
			t.Errorf("bombs were answered %v", statuses)
		}
	})
}

// bombFiles writes bombs and one harmless file into the folder of sheets, and returns the names of the bombs.
func (w *world) bombFiles() (names []string) {
	w.t.Helper()
	put(w.t, w.server, "people.csv", "email,name\nann@example.com,Ann\n")
	for name, content := range map[string]string{
		"deep.ods":      strings.Repeat("<a>", 3_000_000),
		"deeper.ods":    strings.Repeat("<a>", 6_000_000),
		"attribute.ods": `<a a="` + strings.Repeat("a", 60<<20) + `"/>`,
		"elements.ods":  strings.Repeat("<a/>", 15<<20),
	} {
		put(w.t, w.server, name, string(fixture.ODSOf(w.t, content)))
		names = append(names, name)
	}
	return names
}
