package chaos

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAFullDatabaseFile limits SQLite to a number of pages, which causes the same error as a full disk but needs no
// special rights. The limit is a setting of one connection, so the store runs in the test's process.
func TestAFullDatabaseFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	keyFile := filepath.Join(folder, "keyring.json")
	require.NoError(t, seal.Create(keyFile))
	ring, err := seal.Open(seal.Config{KeyFile: keyFile})
	require.NoError(t, err)
	d := &program.Deployment{Folder: folder}
	require.NoError(t, os.Mkdir(d.Data(), 0o700))
	var pools []*sql.DB // the first one writes, on one connection
	pool := func(c driver.Connector) *sql.DB {
		pools = append(pools, sql.OpenDB(c))
		return pools[len(pools)-1]
	}
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New("sqlite:" + filepath.Join(d.Data(), "atrium.db"))},
		ring.Sealer(seal.Answers), pool)
	require.NoError(t, err)
	t.Cleanup(closeDB)
	orgs, err := db.EnsureOrgs(t.Context(), []string{"default"})
	require.NoError(t, err)
	team := fixture.NewTeam(t, db.Stores(), orgs["default"])
	limit := func(extra int) {
		t.Helper()
		var pages int
		err := pools[0].QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages)
		if err == nil {
			_, err = pools[0].ExecContext(t.Context(), fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+extra))
		}
		require.NoError(t, err)
	}
	add := func(name string) error {
		t.Helper()
		template, err := prompt.New(team.Member, prompt.Draft{Name: name})
		require.NoError(t, err)
		return db.Stores().Prompts.Add(t.Context(), template)
	}
	limit(100)
	count := 0
	for ; count < 10_000; count++ {
		if err = add(fmt.Sprint("template ", count)); err != nil {
			break
		}
	}
	if !errors.Is(err, ports.ErrUnavailable) {
		t.Errorf("after %d templates: %v, want ErrUnavailable", count, err)
	}
	backend := d.Open(t)
	otherCount := func() int { return len(column(t, backend, `SELECT id FROM prompt_templates`)) }
	if got := otherCount(); got != count || count == 0 {
		t.Errorf("%d templates are there, %d were made", got, count)
	}
	whole(t, backend)
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("nobody can read any more: %v", err)
	}
	limit(1000)
	if err := add("there is room again"); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if got := otherCount(); got != count+1 {
		t.Errorf("%d templates are there, %d were made", got, count+1)
	}
	sound(t, backend)
	t.Logf("full after %d templates", count)
}

// sound expects that SQLite's integrity check passes.
func sound(t *testing.T, db *sql.DB) {
	t.Helper()
	whole(t, db)
	if found := column(t, db, `PRAGMA integrity_check`); len(found) != 1 || found[0] != "ok" {
		t.Errorf("the file is damaged: %s", strings.Join(found, "\n"))
	}
}

// TestAFullDisk lets a server write until the file system is full. It needs the right to mount one.
func TestAFullDisk(t *testing.T) {
	d := deploy(t, "", "ATRIUM_LOG_LEVEL=info")
	require.NoError(t, os.Mkdir(d.Data(), 0o700))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=12m,mode=0700", "atrium-chaos",
		d.Data()).CombinedOutput(); err != nil {
		t.Logf("No file system could be mounted (%v: %s): of a full disk, only what TestAFullDatabaseFile shows was "+
			"shown.", err, out)
		return
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", d.Data()).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	n := d.Start(t, suite.Binary(t))
	t.Cleanup(func() { n.Kill(t) })
	l := newLoad(t, d.Owner(t, suite.Binary(t), "ann@example.com"), func() *program.Node { return n })
	l.during(func() { l.first(t) })

	filler := filepath.Join(d.Data(), "filler")
	fill := func(leave int64) {
		t.Helper()
		var stat syscall.Statfs_t
		err := syscall.Statfs(d.Data(), &stat)
		if err == nil {
			err = os.WriteFile(filler, make([]byte, max(0, int64(stat.Bavail)*int64(stat.Bsize)-leave)), 0o600) //nolint:unconvert // Bsize is narrower elsewhere
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) { // the server writes meanwhile
			t.Fatal(err)
		}
	}
	room := time.Time{} // when space was freed
	l.excuse = func(a *answer) string {
		if a.status == 503 && a.header.Get("Retry-After") != "" &&
			(room.IsZero() || a.begun.Before(room.Add(recoveredWithin))) {
			return "the disk is full"
		}
		return ""
	}
	l.begin()
	fill(32 << 10)
	proof.Eventually(t, "the disk is full", func() bool { return l.refused.Load() >= 20 }, n.Output)
	time.Sleep(proof.Sample(200*time.Millisecond, 5*time.Second))
	l.readiness(t, http.StatusServiceUnavailable)
	doctorNames(t, d, "the disk of the database takes no data", "no space left on device")
	for _, path := range []string{prompts, "/api/me", "/api/health/live"} {
		if a, err := l.try("GET", path, nil); err != nil || a.status != 200 {
			t.Errorf("what only reads: %v, %v", a, err)
		}
	}
	l.end()
	require.NoError(t, os.Remove(filler))
	room = time.Now()
	l.during(func() {
		l.first(t)
		took := time.Since(room)
		t.Logf("%d refused; the first success %s after there was room", l.refused.Load(), took.Round(time.Millisecond))
		if proof.Running() && took > recoveredWithin {
			t.Errorf("it took %s until somebody wrote again", took)
		}
	})

	t.Run("a disk that becomes read-only", func(t *testing.T) { becomesReadOnly(t, d, l) })
	t.Run("a crash on a full disk", func(t *testing.T) {
		fill(0)
		l.t, l.mortal, room = t, true, time.Time{}
		l.begin()
		time.Sleep(100 * time.Millisecond)
		n.Kill(t)
		l.end()
		require.NoError(t, os.Remove(filler))
		n = d.Start(t, suite.Binary(t))
		db := d.Open(t)
		lost := l.ledger.check(t, db)
		sound(t, db)
		db.Close()
		t.Logf("%d acknowledged writes checked, %d lost", l.ledger.acked, lost)
		l.first(t)
	})
}

// becomesReadOnly mounts the folder of the data read-only over itself: what the server opens from then on cannot be
// written.
func becomesReadOnly(t *testing.T, d *program.Deployment, l *load) {
	l.t = t
	mount := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	mount("mount", "--bind", d.Data(), d.Data())
	mount("mount", "-o", "remount,bind,ro", d.Data())
	l.readiness(t, http.StatusServiceUnavailable)
	doctorNames(t, d, "the disk of the database takes no data", "read-only file system")
	mount("umount", d.Data())
	l.readiness(t, http.StatusOK)
	l.first(t)
}

// readiness waits until the node says whether it is ready. What writes little can still succeed on a disk on which
// other writes fail.
func (l *load) readiness(t *testing.T, want int) {
	t.Helper()
	proof.Eventually(t, fmt.Sprint("readiness is ", want), func() bool {
		a, err := l.try("GET", "/api/health/ready", nil)
		return err == nil && a.status == want
	})
}

// doctorNames expects that doctor fails and writes the texts.
func doctorNames(t *testing.T, d *program.Deployment, texts ...string) {
	t.Helper()
	out, err := d.Command(suite.Binary(t), "doctor").CombinedOutput()
	if err == nil {
		t.Error("doctor finds nothing wrong")
	}
	for _, text := range texts {
		if !strings.Contains(string(out), text) {
			t.Errorf("doctor does not name %q:\n%s", text, out)
		}
	}
}
