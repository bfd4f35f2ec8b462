package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/adapters/worker"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestWorkingAlone(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine, set("metrics.addr", "127.0.0.1:0"))
		s := d.spawn(t, d.command("work"))
		s.stderr.await(t, s, regexp.MustCompile(`"msg":"working"`))
		s.stderr.await(t, s, regexp.MustCompile(`"msg":"serving metrics"`))

		t.Run("a server without workers serves next to a worker", func(t *testing.T) {
			d.flags = []string{"--no-work"}
			d.start(t).user(t, "member").get(t, "/api/me")
		})
		t.Run("SIGHUP reloads its configuration", func(t *testing.T) {
			s.signal(t, syscall.SIGHUP)
			s.stderr.await(t, s, regexp.MustCompile(`the configuration was reloaded`))
		})
		t.Run("SIGTERM ends an idle worker at once", func(t *testing.T) {
			begin := time.Now()
			s.stop(t)
			proof.Within(t, "the stop", time.Since(begin), 5*time.Second)
		})
	})
}

func TestDoctorTellsOfJobs(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		d.must(t, "migrate")
		assert.Contains(t, "of an empty queue it says", d.must(t, "doctor"), "0 queued, 0 running\n")
		hour := time.Hour.Microseconds()
		for i, row := range []string{
			`'due', 'queued', %[1]d - %[2]d, '', 0`, `'later', 'queued', %[1]d + %[2]d, '', 0`,
			`'running', 'running', %[1]d + %[2]d, '', 0`, `'failed', 'failed', 0, 'auth_failed', %[1]d`,
		} {
			d.sql(t, fmt.Sprintf(`INSERT INTO jobs (id, org_id, workspace_id, kind, attempt, failures, created_at,
				started_at, subject, state, due_at, failure, ended_at)
				SELECT 'job_%[3]d', id, '', 'test.doctor', 1, 1, 0, 0,
				`+row+` FROM orgs`, time.Now().UnixMicro(), hour, i))
		}
		out := d.must(t, "doctor")
		for _, want := range []string{"2 queued, 1 running, the first has been due for 1h0m",
			"; 1 failed permanently within a week, last test.doctor of failed (auth_failed) at 2"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
	})
}

func TestDoctorTellsOfOverdueRemovals(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, sqlite)
	d.must(t, "migrate")
	assert.Contains(t, "of none it says", d.must(t, "doctor"), "ok      removals       no deleted object is overdue\n")
	const late = 31 * 24 * time.Hour
	for id, ago := range map[string]time.Duration{"late": late + time.Minute, "due": late - time.Hour} {
		d.sql(t, fmt.Sprintf(`INSERT INTO workspaces (id, org_id, slug, name, created_by, revision, created_at, updated_at,
			deleted_at)
			SELECT 'wsp_%[1]s', id, '%[1]s', '', '', 1, 1, 1, %[2]d FROM orgs`, id, time.Now().Add(-ago).UnixMicro()))
	}
	if out := d.must(t, "doctor"); !strings.Contains(out, "WARNING removals       1 deleted workspace, 0 prompt "+
		"templates and 0 chat templates should have been removed") {
		t.Errorf("it says:\n%s", out)
	}
}

// TestAKilledNode kills a process during a job, as a power failure does.
func TestAKilledNode(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, postgres)
	d.must(t, "migrate")
	enqueue := func(subject string) {
		d.sql(t, fmt.Sprintf(`INSERT INTO jobs (id, org_id, workspace_id, subject, kind, state, due_at, attempt,
			failures, failure, created_at, started_at, ended_at)
			SELECT 'job_%[1]s', id, '', '%[1]s', '%[2]s', 'queued', 0, 0, 0, '', 0, 0, 0 FROM orgs`, subject, killed))
	}
	// The other node is there before the job, and stopped: on a busy machine, it would start after the job's limit.
	other := d.spawn(t, node(d, "at once"))
	other.stdout.await(t, other, regexp.MustCompile(`ready\n`))
	other.signal(t, syscall.SIGSTOP)
	doomedServer := d.spawn(t, node(d, "forever"))
	enqueue("first")
	doomedServer.stdout.await(t, doomedServer, regexp.MustCompile(`does first\n`))

	begin := time.Now()
	doomedServer.kill(t)
	other.signal(t, syscall.SIGCONT)
	other.stdout.await(t, other, regexp.MustCompile(`does first\n`))
	t.Logf("the other node took the job up after %s, at a limit of %s", time.Since(begin), nodeLimit)
	enqueue("second")
	other.stdout.await(t, other, regexp.MustCompile(`does second\n`))
	if n := strings.Count(other.stdout.String(), "does first\n"); n != 1 {
		t.Errorf("it was done %d times", n)
	}
	other.stop(t)
	if log := other.stderr.String(); strings.Count(log, `"subject":"first"`) != 1 ||
		!regexp.MustCompile(`"subject":"first".*"attempt":2,.*"outcome":"succeeded"`).MatchString(log) {
		t.Errorf("its log says:\n%s", log)
	}
}

// TestAServerOnSQLiteTakesOverTheJobsOfADeadOneAtOnce begins with what a killed server leaves: a job whose lease lasts
// for an hour.
func TestAServerOnSQLiteTakesOverTheJobsOfADeadOneAtOnce(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, sqlite)
	d.must(t, "migrate")
	d.sql(t, fmt.Sprintf(`INSERT INTO jobs (id, org_id, workspace_id, subject, kind, state, due_at, attempt, failures,
		failure, created_at, started_at, ended_at)
		SELECT 'job_left', id, '', 'cus_left', 'payment.events', 'running', %d, 1, 0, '', 0, 0, 0 FROM orgs`,
		time.Now().Add(time.Hour).UnixMicro()))
	s := d.start(t)
	s.stderr.await(t, s, regexp.MustCompile(`"subject":"cus_left".*"attempt":2,`))
}

const (
	nodeOf    = "ATRIUM_TEST_NODE_OF" // makes this binary a node on the database that it names
	killed    = job.Kind("test.kill")
	nodeLimit = time.Second
)

// node starts this test binary as a worker of d, whose jobs end at once or never. The program's own jobs are too short
// to be reliably killed in.
func node(d *deployment, mode string) *exec.Cmd {
	c := exec.Command(os.Args[0], mode)
	c.Env = append(d.env, nodeOf+"="+d.database)
	return c
}

// workAsNode runs in the process of node until SIGTERM.
func workAsNode() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, closeDB, err := sqlstore.Open(ctx, sqlstore.Config{URL: secret.New(os.Getenv(nodeOf)), MaxConns: 2,
		StatementTimeout: patience}, nil, sql.OpenDB)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer closeDB()
	do := func(_ context.Context, _ identity.Actor, subject string) error {
		fmt.Println("does", subject)
		if os.Args[1] == "forever" {
			select {}
		}
		return nil
	}
	table := worker.Table{killed: {Policy: job.Policy{Limit: nodeLimit, Attempts: 3}, Do: do}}
	w := worker.New(worker.Config{Slots: 2, Poll: 50 * time.Millisecond, Lease: nodeLimit},
		jobs.NewQueue(db.DB), table, prometheus.NewRegistry(), slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	fmt.Println("ready")
	w.Run(ctx, 0)
	return 0
}
