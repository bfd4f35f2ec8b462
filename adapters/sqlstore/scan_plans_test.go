package sqlstore_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/statements"
)

// TestListsReadIndexes asks the engines how they run every statement of every filtered list. On SQLite none
// reads a whole table or index. PostgreSQL counts the rows that each part of a plan examines: of events, which
// may be millions, there are no more than the bound; of other tables the planner may choose a longer way that
// it takes for a shorter one, and reads a small part of them.
func TestListsReadIndexes(t *testing.T) {
	const rows, bound, limit = 20_000, 100, 20
	databases.OnEach(t, func(t *testing.T, url string) {
		var message statements.Log
		db, closeDB, err := sqlstore.Open(t.Context(),
			sqlstore.Config{URL: secret.New(url), MaxConns: 10, StatementTimeout: proof.Patience}, databases.Keyring(t),
			func(c driver.Connector) *sql.DB {
				return sql.OpenDB(statements.Watch(c, message.Add))
			})
		require.NoError(t, err)
		t.Cleanup(closeDB)
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		team, other := fixture.NewTeam(t, db.Stores(), ids["one"]), fixture.NewTeam(t, db.Stores(), ids["one"])
		inspect := databases.Raw(t, url)
		addMembers(t, inspect, other, rows/4) // more than a statement may examine
		seed(t, inspect, team, other, rows)
		sqlstore.BoundScans(db, bound)
		explain := explainSQLite
		if db.Engine() == "postgres" {
			explain = func(t *testing.T, db *sql.DB, s statements.Statement) (plan, problem string) {
				if strings.Contains(s.Query, "FROM events") {
					return explainPostgres(t, db, s, 4*bound)
				}
				return explainPostgres(t, db, s, rows/10)
			}
		}
		for _, l := range listings(team) {
			message.Take()
			q := page.Query{Limit: limit}
			_, next, err := l.page(t.Context(), db.Stores(), q)
			if q.After = next; err == nil && next != "" {
				_, _, err = l.page(t.Context(), db.Stores(), q)
			}
			require.NoError(t, err)
			var plans []string
			for _, s := range message.Take() {
				if len(s.Args) == 0 {
					continue // the beginnings and ends of transactions
				}
				plan, problem := explain(t, inspect, s)
				if plans = append(plans, plan); problem != "" {
					t.Errorf("%s: %s\n%s\n%s %v", l.name, problem, plan, s.Query, s.Args)
				}
			}
			if usedPath := strings.Join(plans, "\n"); len(plans) == 0 || (db.Engine() == "sqlite" &&
				!strings.Contains(usedPath, l.uses)) {
				t.Errorf("%s: the plans do not use %s:\n%s", l.name, l.uses, usedPath)
			}
		}
	})
}

// addMembers adds n people to team's workspace.
func addMembers(t *testing.T, db *sql.DB, team *fixture.Team, n int) {
	t.Helper()
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT `, n)
	const user = `'usr_' || CAST(1000000000 + i AS TEXT)`
	for _, insert := range []string{
		`INSERT INTO users (id, org_id, email, email_key, email_verified, name, service, operator, operator_by_hand,
			default_workspace_id, revision, created_at, updated_at) ` + numbers + user + `, '` + string(team.Org) +
			`', '', ` + user + `, FALSE, '', FALSE, FALSE, FALSE, '', 1, 1, 1 FROM n`,
		`INSERT INTO memberships (workspace_id, user_id, role, by_hand, revision, created_at, updated_at) ` +
			numbers + `'` + string(team.Workspace.ID) + `', ` + user + `, 1, 1, 1, 1, 1 FROM n`,
	} {
		if _, err := db.ExecContext(t.Context(), insert); err != nil {
			t.Fatalf("%v: %.200s", err, insert)
		}
	}
}

func values(s statements.Statement) []any {
	out := make([]any, len(s.Args))
	for i, a := range s.Args {
		out[i] = a.Value
	}
	return out
}

// explainSQLite returns a plan, and whether it reads a table or an index from end to end, or makes one first.
func explainSQLite(t *testing.T, db *sql.DB, s statements.Statement) (plan, problem string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+s.Query, values(s)...)
	if err != nil {
		t.Fatalf("%v: %s", err, s.Query)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unusedCount int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unusedCount, &detail))
		plan += detail + "\n"
		// The results of subqueries, which have one letter or a number in parentheses, are scanned too, and so are the
		// rows of VALUES and the events of the last second.
		table, scan := strings.CutPrefix(detail, "SCAN ")
		isTable := len(table) > 1 && !strings.HasPrefix(table, "(") && !strings.Contains(table, "CONSTANT ROW") &&
			table != "new_events"
		if (scan && isTable) || strings.Contains(detail, "AUTOMATIC") {
			problem = "a full scan"
		}
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return plan, problem
}

// planNode is a part of a plan as EXPLAIN (FORMAT JSON) has it.
type planNode struct {
	Type    string     `json:"Node Type"`
	Table   string     `json:"Relation Name"`
	Rows    float64    `json:"Actual Rows"`
	Loops   float64    `json:"Actual Loops"`
	Removed float64    `json:"Rows Removed by Filter"`
	Plans   []planNode `json:"Plans"`
}

func (n *planNode) most() (rows float64, position *planNode) {
	if n.Table != "" || strings.Contains(n.Type, "Index") {
		rows, position = (n.Rows+n.Removed)*n.Loops, n
	}
	for i := range n.Plans {
		if extra, place := n.Plans[i].most(); extra > rows {
			rows, position = extra, place
		}
	}
	return rows, position
}

// explainPostgres returns a plan, and whether one part of it examines more than most rows.
func explainPostgres(t *testing.T, db *sql.DB, s statements.Statement, limit float64) (plan, problem string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+s.Query,
		values(s)...).Scan(&plan); err != nil {
		t.Fatalf("%v: %s", err, s.Query)
	}
	var plans []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal([]byte(plan), &plans))
	if rows, node := plans[0].Plan.most(); rows > limit {
		problem = fmt.Sprintf("%s of %s examines %.0f rows, want %.0f at most", node.Type, node.Table, rows, limit)
	}
	return plan, problem
}
