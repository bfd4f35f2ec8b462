package chaos

import (
	"cmp"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/program"
	"github.com/atrium-hq/atrium/test/proof"
)

// git runs git in this repository and returns its output.
func git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = suite.Root
	out, err := c.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// release is the last tagged version and its program.
type release struct {
	tag, commit, binary string
}

// lastTagged is the tag and commit of the last release, for clones without tags.
//
//go:embed testdata/release
var lastTagged string

// lastRelease builds the last release before this tree. Without that history, as in a source archive or a shallow
// clone, it skips the test, or fails it while proving.
func lastRelease(t *testing.T) release {
	t.Helper()
	dependOnTags(t)
	commit := ""
	tag, err := git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
	if err != nil {
		tag, commit, _ = strings.Cut(strings.TrimSpace(lastTagged), " ")
	}
	commit, err = git("rev-parse", "--verify", cmp.Or(commit, tag)+"^{commit}")
	if err != nil {
		const untold = "NOT TESTED: %s upgrades from %s, which is not in the history of this clone (git fetch --tags --unshallow): %v"
		if proof.Running() {
			t.Fatalf(untold, t.Name(), tag, err)
		}
		fmt.Fprintf(os.Stderr, untold+"\n", t.Name(), tag, err)
		t.SkipNow()
	}
	since, err := git("rev-list", "--count", commit+"..HEAD")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("compared: %s (%.12s), and this tree, %s commits later", tag, commit, since)
	// Built once per machine, because the build takes ten times as long as the test.
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = suite.Folder
	}
	kept := filepath.Join(cache, "atrium", "releases", fmt.Sprintf("%.12s-%s-%s", commit, runtime.Version(), runtime.GOARCH))
	if _, err := os.Stat(kept); err == nil {
		return release{tag, commit, kept}
	}
	source := t.TempDir()
	archive := filepath.Join(source, "source.tar")
	if _, err := git("archive", "--output", archive, commit); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xf", archive, "-C", source).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		t.Fatal(err)
	}
	binary, err := program.Build(source, tag, filepath.Join(source, "atrium"))
	if err == nil {
		err = rename(binary, kept)
	}
	if err != nil {
		t.Fatalf("build %s: %v", tag, err)
	}
	return release{tag, commit, kept}
}

// rename moves a file atomically, to another file system too, because another test may look for it.
func rename(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	half := fmt.Sprintf("%s.%d", to, os.Getpid())
	if err := os.WriteFile(half, content, 0o700); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// dependOnTags reads the files that hold tags, so that go test does not use its cache after a release.
func dependOnTags(t *testing.T) {
	t.Helper()
	common, err := git("rev-parse", "--git-common-dir")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(suite.Root, common)
	}
	for _, path := range []string{"refs/tags", "packed-refs"} {
		if _, err := os.Stat(filepath.Join(common, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// TestARollingUpgrade replaces two nodes of the last release on one PostgreSQL, one after the other, while eight
// clients write through both. No request may be refused, no write lost, and each running node must be ready.
func TestARollingUpgrade(t *testing.T) {
	old, present := lastRelease(t), suite.Binary(t)
	d := on(t, postgres)
	var nodes [2]atomic.Pointer[program.Node] // nil for one that is being replaced
	run := func(binary, version string) *program.Node {
		t.Helper()
		from := d
		if binary == old.binary {
			from = asReleased(d)
		}
		n := from.Start(t, binary)
		if said := n.Await(t, program.Greeting)[1]; said != version {
			t.Fatalf("it says that it is of %s, want %s", said, version)
		}
		return n
	}
	nodes[0].Store(run(old.binary, old.tag))
	nodes[1].Store(run(old.binary, old.tag))
	var turn atomic.Int64
	// Like a load balancer, it sends each request to the next node.
	l := newLoad(t, asReleased(d).Owner(t, old.binary, "ann@example.com"), func() *program.Node {
		for {
			if n := nodes[turn.Add(1)%2].Load(); n != nil {
				return n
			}
		}
	})
	both := func(phase string) {
		t.Helper()
		before := l.answered.Load()
		for range proof.Sample(2, 40) {
			l.answers(50)
			for i := range nodes {
				ready(t, nodes[i].Load())
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		t.Logf("%s: %d requests", phase, l.answered.Load()-before)
	}
	l.during(func() {
		both("old and old")
		for i, phase := range []string{"new and old", "new and new"} {
			leaving := nodes[i].Load()
			// A load balancer first stops sending to the leaving node, and adds the new node when that is ready.
			arriving := run(present, "present")
			ready(t, arriving)
			ready(t, leaving)
			nodes[i].Store(arriving)
			l.drain()
			leaving.Stop(t)
			both(phase)
		}
	})
	db := d.Open(t)
	waitsForADay(t, db)
	lost := l.ledger.check(t, db)
	whole(t, db)
	t.Logf("%d requests answered, %d refused, %d acknowledged writes checked, %d lost", l.answered.Load(), l.refused.Load(), l.ledger.acked, lost)
}

// waitsForADay expects that derived keys seal nothing for a day after the upgrade, because nodes of the release do not
// know them but must open what is sealed until then.
func waitsForADay(t *testing.T, db *sql.DB) {
	t.Helper()
	var micros int64
	if err := db.QueryRow(`SELECT derived_at FROM keyring`).Scan(&micros); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(time.UnixMicro(micros)); left < 23*time.Hour || left > 24*time.Hour+time.Minute {
		t.Errorf("keys are derived in %s", left)
	}
}

// ready expects that the node reports readiness.
func ready(t *testing.T, n *program.Node) {
	t.Helper()
	resp, err := http.Get(n.URL + "/api/health/ready")
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a node answers %d to whether it is ready; it wrote: %s", resp.StatusCode, n.Output)
	}
}

// drain waits for the responses to all earlier requests.
func (l *load) drain() {
	l.flight.Lock()
	l.flight.Unlock() //nolint:staticcheck // those before have ended: that is all
}

// TestAnUpgradeInPlace stops the last release on SQLite and starts this tree on its file. All rows must be unchanged,
// and clients can continue.
func TestAnUpgradeInPlace(t *testing.T) {
	old, present := lastRelease(t), suite.Binary(t)
	d := on(t, sqlite)
	n := asReleased(d).Start(t, old.binary)
	l := newLoad(t, asReleased(d).Owner(t, old.binary, "ann@example.com"), func() *program.Node { return n })
	l.during(func() { l.answers(proof.Sample[int64](100, 2000)) })
	n.Stop(t)

	// New columns are ignored. Jobs and presences change without a request.
	db := d.Open(t)
	rows := map[string]string{}
	for _, table := range column(t, db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('goose_db_version', 'jobs', 'presences', 'presence_seqs')`) {
		columns := column(t, db, `SELECT name FROM pragma_table_info('`+table+`')`)
		rows[table] = `SELECT ` + "quote(" + strings.Join(columns, ") || ',' || quote(") + ")" + ` FROM ` + table + ` ORDER BY 1`
	}
	before := map[string]string{}
	count := 0
	for table, query := range rows {
		lines := column(t, db, query)
		before[table], count = strings.Join(lines, "\n"), count+len(lines)
	}
	db.Close()

	n = d.Start(t, present)
	db = d.Open(t)
	for table, query := range rows {
		if after := strings.Join(column(t, db, query), "\n"); after != before[table] {
			t.Errorf("rows of %s are others:\n%.2000s\nbefore:\n%.2000s", table, after, before[table])
		}
	}
	waitsForADay(t, db)
	l.during(func() { l.answers(50) })
	lost := l.ledger.check(t, db)
	sound(t, db)
	t.Logf("%d rows of %d tables as before; %d acknowledged writes checked, %d lost", count, len(rows), l.ledger.acked, lost)
}

// TestMigrationsThatWereReleasedStay checks that released migrations are unchanged, because a database does not apply
// one twice.
func TestMigrationsThatWereReleasedStay(t *testing.T) {
	old := lastRelease(t)
	const folder = "adapters/sqlstore/migrations"
	changed, err := git("diff", "--name-status", "--no-renames", "--diff-filter=a", old.commit, "--", folder)
	if err != nil {
		t.Fatal(err)
	}
	if changed != "" {
		t.Errorf("these are part of %s; write a new one instead:\n%s", old.tag, changed)
	}
}
