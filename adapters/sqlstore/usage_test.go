package sqlstore_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/migrations"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// dropUsage resets a database to the schema before usage was counted.
func dropUsage(t testing.TB, url string, db *sql.DB) {
	t.Helper()
	list, drop := `SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'usage\_%' ESCAPE '\'`,
		`DROP TRIGGER %s`
	if !strings.HasPrefix(url, "sqlite:") {
		list, drop = `SELECT proname FROM pg_proc WHERE proname ~ '^(usage|note)_'`, `DROP FUNCTION %s() CASCADE`
	}
	rows, err := db.QueryContext(t.Context(), list)
	require.NoError(t, err)
	var statements []string
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		statements = append(statements, fmt.Sprintf(drop, name))
	}
	if err := rows.Err(); err != nil || len(statements) == 0 {
		t.Fatalf("%d triggers: %v", len(statements), err)
	}
	statements = append(statements, `DROP TABLE workspace_usage`)
	statements = append(statements, undoLater(t, url)...)
	for _, statement := range append(statements, `DELETE FROM goose_db_version WHERE version_id >= 30`) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// undoLater returns the statements that undo the migrations after 30, which add tables, columns and indexes.
func undoLater(t testing.TB, url string) (statements []string) {
	t.Helper()
	engine, _, _ := strings.Cut(url, ":")
	folder, err := migrations.Files(engine)
	require.NoError(t, err)
	files, err := fs.Glob(folder, "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d migrations: %v", len(files), err)
	}
	table := regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)
	index := regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(\w+)`)
	view := regexp.MustCompile(`(?m)^CREATE VIEW (\w+)`)
	column := regexp.MustCompile(`(?m)^ALTER TABLE (\w+) ADD COLUMN (?:IF NOT EXISTS )?(\w+)`)
	for _, file := range files {
		if file < "0031" {
			continue
		}
		text, err := fs.ReadFile(folder, file)
		require.NoError(t, err)
		undo := func(format string, names ...any) {
			statements = append([]string{fmt.Sprintf(format, names...)}, statements...) // the latest change first
		}
		for _, newTexts := range table.FindAllStringSubmatch(string(text), -1) {
			undo("DROP TABLE %s", newTexts[1])
		}
		for _, additions := range column.FindAllStringSubmatch(string(text), -1) {
			if additions[1] != "workspace_usage" {
				undo("ALTER TABLE %s DROP COLUMN %s", additions[1], additions[2])
			}
		}
		for _, newTexts := range index.FindAllStringSubmatch(string(text), -1) {
			undo("DROP INDEX IF EXISTS %s", newTexts[1])
		}
		for _, newTexts := range view.FindAllStringSubmatch(string(text), -1) {
			undo("DROP VIEW %s", newTexts[1])
		}
	}
	return statements
}

func TestUsageIsCountedForWhatWasThereBefore(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		sealer := databases.Keyring(t)
		db, rows := open(t, url, sealer), databases.Raw(t, url)
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team, empty := fixture.NewTeam(t, s, ids["one"]), fixture.NewTeam(t, s, ids["one"])
		for _, name := range []string{"lives", "deleted"} {
			template := fixture.Template(t, s, team.Member, prompt.Draft{Name: name, Description: "ünlike"})
			fixture.Version(t, s, team.Member, template.ID, "text")
			fixture.Version(t, s, team.Member, template.ID, strings.Repeat("long ", 20_000))
			c := fixture.Chat(t, s, team.Member, chat.Draft{})
			if name == "deleted" {
				fixture.Delete(t, s, team.Member, template.ID)
				fixture.ChangeChat(t, s, team.Member, c.ID,
					func(c *chat.Template) error { return c.Delete(team.Member, nil) })
			}
		}
		usage := func(db *sqlstore.Store, ws identity.WorkspaceID) quota.Amounts {
			t.Helper()
			usedAmounts, err := db.Stores().Usage.Amounts(t.Context(), ws, fixture.At)
			require.NoError(t, err)
			assert.Equal(t, "members are counted", usedAmounts.Members, 5)
			usedAmounts.Members = 0
			return usedAmounts
		}
		uses := usage(db, team.Workspace.ID)
		if uses.PromptTemplates != 1 || uses.PromptVersions != 4 || uses.ChatTemplates != 1 ||
			uses.StorageBytes < 200_000 {
			t.Fatalf("used %+v", uses)
		}
		dropUsage(t, url, rows)
		second := open(t, url, sealer)
		assert.Equal(t, "counted are", usage(second, team.Workspace.ID), uses)
		assert.Equal(t, "of an empty workspace are counted", usage(second, empty.Workspace.ID), (quota.Amounts{}))

		// What is purged leaves, with all of its versions.
		require.NoError(t, second.Sweep(t.Context(), time.Now().Add(60*24*time.Hour), 400*24*time.Hour))
		lives := usage(second, team.Workspace.ID)
		if lives.PromptTemplates != 1 || lives.PromptVersions != 2 || lives.ChatTemplates != 1 ||
			2*lives.StorageBytes > uses.StorageBytes+10 || 2*lives.StorageBytes < uses.StorageBytes-10 {
			t.Errorf("after the purge are used %+v of %+v", lives, uses)
		}
		for _, table := range []string{"prompt_templates", "chat_templates"} {
			if _, err := rows.ExecContext(t.Context(), `DELETE FROM `+table); err != nil {
				t.Fatal(err)
			}
		}
		assert.Equal(t, "of nothing are counted", usage(second, team.Workspace.ID), (quota.Amounts{}))
	})
}
