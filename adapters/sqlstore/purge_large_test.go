package sqlstore_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

const purgeDay = 24 * time.Hour

// openWatched is open with a hook for each statement.
func openWatched(t *testing.T, url string, timeout time.Duration, previousOf statements.Hook) *sqlstore.Store {
	t.Helper()
	db, closeDB, err := sqlstore.Open(t.Context(),
		sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: timeout}, databases.Keyring(t),
		func(c driver.Connector) *sql.DB { return sql.OpenDB(statements.Watch(c, previousOf)) })
	require.NoError(t, err)
	t.Cleanup(closeDB)
	return db
}

// deletedWorkspace makes a workspace with one template that has one version, and deletes it at fixture.At.
func deletedWorkspace(
	t *testing.T,
	s ports.Stores,
	owner identity.Actor,
	name string,
) (identity.WorkspaceID, prompt.ID) {
	t.Helper()
	w, err := account.NewWorkspace(owner, nil, name, "")
	if err == nil {
		err = s.Workspaces.Add(t.Context(), w)
	}
	require.NoError(t, err)
	by := owner
	by.Workspace = w.ID
	template := fixture.Template(t, s, by, prompt.Draft{Name: "first"})
	fixture.Version(t, s, by, template.ID, "text")
	if _, err := s.Workspaces.Update(t.Context(), by, w.ID, nil, func(w *account.Workspace) error {
		return w.Delete(by, nil)
	}); err != nil {
		t.Fatal(err)
	}
	return w.ID, template.ID
}

// multiply copies a template until there are n of them with 10 versions each, and one read of each version.
func multiply(t *testing.T, rows *sql.DB, isPostgres bool, id prompt.ID, n int) {
	t.Helper()
	columns := func(table string) string {
		found, err := rows.QueryContext(t.Context(), `SELECT * FROM `+table+` LIMIT 0`)
		require.NoError(t, err)
		defer found.Close()
		names, err := found.Columns()
		if err != nil || found.Err() != nil {
			t.Fatal(err, found.Err())
		}
		return strings.Join(slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains([]string{"id", "name_key", "template_id", "number"}, name)
		}), ", ")
	}
	const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `
	templates, versions := columns("prompt_templates"), columns("prompt_versions")
	conn, err := rows.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	if isPostgres { // triggers would change one row of workspace_usage_parts for each row
		if _, err := conn.ExecContext(t.Context(), `SET session_replication_role = replica`); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = conn.ExecContext(t.Context(), `RESET session_replication_role`) }()
	}
	for _, insert := range []string{
		fmt.Sprintf(`INSERT INTO prompt_templates (id, name_key, %s) `+numbers+
			`SELECT 'ptpl_copy' || CAST(i AS TEXT), 'copy' || CAST(i AS TEXT), %s FROM prompt_templates, n WHERE id = '%s'`,
			templates, n, templates, id),
		fmt.Sprintf(`INSERT INTO prompt_versions (id, template_id, number, %s) `+numbers+
			`SELECT 'pver_copy' || CAST(i AS TEXT), 'ptpl_copy' || CAST((i - 1) / 10 + 1 AS TEXT), (i - 1) %% 10 + 1, %s
			FROM prompt_versions, n WHERE template_id = '%s'`, versions, 10*n, versions, id),
		fmt.Sprintf(`INSERT INTO version_reads (template_id, day, version_id, number, reads) SELECT template_id, %d, id,
			number, 1 FROM prompt_versions WHERE template_id LIKE 'ptpl_copy%%'`, prompt.DayOf(fixture.At.Add(40*purgeDay))),
	} {
		if _, err := conn.ExecContext(t.Context(), insert); err != nil {
			t.Fatalf("%v: %.300s", err, insert)
		}
	}
}

// purgeWatch sees the transactions of a sweep.
type purgeWatch struct {
	t       *testing.T
	rows    *sql.DB // another connection
	before  int     // rows when the transaction began
	begun   time.Time
	most    int           // rows that one transaction removed
	longest time.Duration // transaction
}

func (w *purgeWatch) count() (n int) {
	w.t.Helper()
	require.NoError(w.t, w.rows.QueryRowContext(w.t.Context(), `SELECT (SELECT COUNT(*) FROM prompt_templates) +
		(SELECT COUNT(*) FROM prompt_versions) + (SELECT COUNT(*) FROM version_reads)`).Scan(&n))
	return n
}

// hook is called before a transaction begins, so it sees what the one before has committed.
func (w *purgeWatch) hook(query string, _ []driver.NamedValue) error {
	switch {
	case w.begun.IsZero() && w.before == 0:
	case query == statements.Begin && proof.Running():
		w.begun = time.Now()
	case query == statements.Begin:
		remainder := w.count()
		w.most, w.before = max(w.most, w.before-remainder), remainder
	case query == statements.Commit && proof.Running():
		w.longest = max(w.longest, time.Since(w.begun))
	}
	return nil
}

// TestALargeDeletedWorkspaceIsPurgedInSmallTransactions removes 10 versions of each of many templates, which belong to
// one workspace. make prove removes 100,000 versions.
func TestALargeDeletedWorkspaceIsPurgedInSmallTransactions(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		watch := &purgeWatch{t: t, rows: databases.Raw(t, url)}
		db := openWatched(t, url, 10*time.Second, func(query string, args []driver.NamedValue) error {
			return watch.hook(query, args)
		})
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		team := fixture.NewTeam(t, db.Stores(), ids["one"])
		_, template := deletedWorkspace(t, db.Stores(), team.Owner, "large")
		multiply(t, watch.rows, db.Engine() == "postgres", template, proof.Sample(100, 10_000))
		watch.before, watch.begun = watch.count(), time.Now()
		start := time.Now()
		require.NoError(t, db.Sweep(t.Context(), fixture.At.Add(40*purgeDay), 400*purgeDay))
		t.Logf("it took %s", time.Since(start))
		assert.Equal(t, "rows are left", watch.count(), 0)
		if watch.most > sqlstore.SweepBatch {
			t.Errorf("one transaction removed %d rows, more than %d", watch.most, sqlstore.SweepBatch)
		}
		limit := time.Second // a tenth of statement_timeout
		if db.Engine() == "sqlite" {
			limit = 50 * time.Millisecond
		}
		proof.Within(t, "the longest transaction", watch.longest, limit)
	})
}

func TestAWorkspaceThatCannotBePurgedDoesNotKeepTheOthers(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		var stuck identity.WorkspaceID
		broken := errors.New("broken")
		db := openWatched(t, url, proof.Patience, func(query string, args []driver.NamedValue) error {
			if !strings.Contains(query, "DELETE") {
				return nil
			}
			for _, arg := range args {
				if stuck != "" && arg.Value == string(stuck) {
					return broken
				}
			}
			if stuck != "" && strings.Contains(query, "FROM jobs") && !strings.Contains(query, "workspace_id") {
				return broken
			}
			return nil
		})
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, ids["one"])
		first, _ := deletedWorkspace(t, s, team.Owner, "first")
		second, _ := deletedWorkspace(t, s, fixture.Later(team.Owner, time.Second), "second")
		instant := fixture.At.Add(40 * purgeDay)
		overdue := func() sqlstore.Overdue {
			t.Helper()
			found, err := db.Overdue(t.Context(), instant)
			require.NoError(t, err)
			return found
		}
		assert.Equal(t, "overdue before", overdue(), (sqlstore.Overdue{Workspaces: 2}))
		stuck = first
		err = db.Sweep(t.Context(), instant, 400*purgeDay)
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), string(first)) ||
			!strings.Contains(err.Error(), "jobs") || strings.Contains(err.Error(), string(second)) {
			t.Errorf("error = %v", err)
		}
		assert.Equal(t, "overdue", overdue(), (sqlstore.Overdue{Workspaces: 1}))
		stuck = ""
		require.NoError(t, db.Sweep(t.Context(), instant, 400*purgeDay))
		assert.Equal(t, "overdue at last", overdue(), (sqlstore.Overdue{}))
	})
}

// TestNoDeletionOfTheSweepCascadesToRowsThatItHasNotRemoved compares the sweep with the foreign keys.
func TestNoDeletionOfTheSweepCascadesToRowsThatItHasNotRemoved(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		db := open(t, url, databases.Keyring(t))
		query := `SELECT m.name, f."table" FROM sqlite_master m, pragma_foreign_key_list(m.name) f
			WHERE m.type = 'table' AND f.on_delete = 'CASCADE'`
		if db.Engine() == "postgres" {
			query = `SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint
				WHERE contype = 'f' AND confdeltype = 'c'`
		}
		rows, err := databases.Raw(t, url).QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer rows.Close()
		removedTexts, checkedCount := sqlstore.RemovedFirst(), 0
		all := map[string]bool{}
		for _, tables := range removedTexts {
			for _, table := range tables {
				all[table] = true
			}
		}
		for rows.Next() {
			var child, parent string
			require.NoError(t, rows.Scan(&child, &parent))
			if parent != "workspaces" && !all[parent] {
				continue // the sweep does not remove rows of it that others refer to
			}
			checkedCount++
			if !all[child] {
				t.Errorf("the removal of rows of %s cascades to %s", parent, child)
			}
		}
		if err := rows.Err(); err != nil || checkedCount < 30 {
			t.Errorf("%d foreign keys, %v", checkedCount, err)
		}
	})
}

// TestTheSweepReadsIndexes asks SQLite how it runs the statements of a sweep.
func TestTheSweepReadsIndexes(t *testing.T) {
	url := databases.Engines["sqlite"](t)
	var message statements.Log
	db := openWatched(t, url, proof.Patience, message.Add)
	ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
	require.NoError(t, err)
	team := fixture.NewTeam(t, db.Stores(), ids["one"])
	deletedWorkspace(t, db.Stores(), team.Owner, "first")
	message.Take()
	require.NoError(t, db.Sweep(t.Context(), fixture.At.Add(40*purgeDay), 400*purgeDay))
	rows, explainedCount := databases.Raw(t, url), 0
	for _, s := range message.Take() {
		if len(s.Args) == 0 || strings.Contains(s.Query, "FROM webhooks w") { // all webhooks, which are few
			continue
		}
		explainedCount++
		if plan, problem := explainSQLite(t, rows, s); problem != "" {
			t.Errorf("%s: %s\n%s", problem, plan, s.Query)
		}
	}
	if explainedCount < 50 {
		t.Errorf("only %d statements", explainedCount)
	}
}

func TestNodesTakeTurnsToSweep(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		first, second := open(t, url, databases.Keyring(t)), open(t, url, databases.Keyring(t))
		if _, err := first.KeyringCheck(t.Context(), []byte("check")); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name string
			db   *sqlstore.Store
			at   time.Duration
			want bool
		}{
			{"the first to come sweeps", first, 0, true},
			{"another one does not within the hour", second, 59 * time.Minute, false},
			{"nor does the same", first, 59 * time.Minute, false},
			{"an hour later another one may", second, time.Hour, true},
			{"a clock that was ahead does not stop it", first, 30 * time.Minute, true},
		} {
			isClaimed, err := step.db.ClaimSweep(t.Context(), fixture.At.Add(step.at), time.Hour)
			if isClaimed != step.want || err != nil {
				t.Errorf("%s: %v, %v", step.name, isClaimed, err)
			}
		}
	})
}
