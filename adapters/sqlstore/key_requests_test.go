package sqlstore_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCountsAreAddedWithoutAScanOfAllKeys asks the engines how they run the statements: a scan for each statement would
// make storing the counts of all keys quadratic.
func TestCountsAreAddedWithoutAScanOfAllKeys(t *testing.T) {
	const keys, counted = 3000, 256
	databases.OnEach(t, func(t *testing.T, url string) {
		db, message := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		team, inspect := fixture.NewTeam(t, db.Stores(), orgs["one"]), databases.Raw(t, url)
		addKeys(t, inspect, team, keys)
		var ids []identity.KeyID
		for _, id := range texts(t, inspect, `SELECT id FROM api_keys ORDER BY id`)[:counted] {
			ids = append(ids, identity.KeyID(id))
		}
		requests := account.KeyRequests{}
		for _, id := range ids {
			requests[account.KeyDay{Key: id, Day: account.DayOf(fixture.At)}] = 1
		}
		message.Take()
		require.NoError(t, db.Stores().KeyRequests.AddRequests(t.Context(), team.Org, requests))
		explainedCount := 0
		for _, s := range message.Take() {
			if len(s.Args) == 0 {
				continue // the beginnings and ends of transactions
			}
			explainedCount++
			plan, problem := "", ""
			if db.Engine() == "postgres" {
				plan, problem = explainPostgres(t, inspect, s, counted)
			} else {
				plan, problem = explainSQLite(t, inspect, s)
			}
			if problem != "" {
				t.Errorf("%s:\n%s", problem, plan)
			}
		}
		if explainedCount == 0 {
			t.Error("nothing was sent")
		}
		got, err := db.Stores().KeyRequests.Requests(t.Context(), team.Workspace.ID, ids, fixture.At)
		if err != nil || len(got) != counted {
			t.Errorf("%d of %d counts are stored, %v", len(got), counted, err)
		}
	})
}

// addKeys adds n keys to team's workspace.
func addKeys(t *testing.T, db *sql.DB, team *fixture.Team, n int) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO api_keys (id, org_id, workspace_id, user_id, service, name, ceiling, hash, hint, expires_at,
			last_used_at, revoked_at, created_by, made_by_key, revision, created_at, updated_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $4)
			SELECT 'key_' || CAST(1000000000 + i AS TEXT), $1, $2, $3, FALSE, '', 1,
				CAST('h' || CAST(i AS TEXT) AS ` + blob(t, db) + `), '', 0, 0, 0, '', '', 1, 1, 1 FROM n`,
		`ANALYZE`,
	} {
		args := []any{string(team.Org), string(team.Workspace.ID), string(team.Member.User), n}
		if _, err := db.ExecContext(t.Context(), statement, args[:strings.Count(statement, "$")]...); err != nil {
			t.Fatal(err)
		}
	}
}
