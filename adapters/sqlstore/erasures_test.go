package sqlstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// keptOfPeople lists the columns that refer to people and that erasures leave as they are: they hold ids only.
var keptOfPeople = map[string]string{
	"users.email":                  "saveUser empties it",
	"users.email_key":              "saveUser empties it",
	"users.email_verified":         "saveUser clears it",
	"users.email_verified_by":      "saveUser empties it",
	"memberships.user_id":          "saveWorkspace deletes the row",
	"group_people.user_id":         "deleted with the membership",
	"people_words.user_id":         "saveUser deletes the rows",
	"presences.user_id":            "presence.Record.Clear empties the record",
	"presences.lasting_text":       "presence.Record.Clear empties it",
	"presences.passing_text":       "presence.Record.Clear empties it",
	"presences.hidden_text":        "presence.Record.Clear empties it",
	"erasures.user_id":             "the record of the erasure",
	"erasures.terms":               "CompleteErasure empties it",
	"api_keys.user_id":             "the key has ended; its name is replaced",
	"events.subject":               "an id",
	"new_events.subject":           "an id",
	"payment_customers.email":      "emptied, and the job that follows details enters that of another owner",
	"prompt_shares.user_id":        "in the erasures of its area",
	"prompt_folder_shares.user_id": "in the erasures of its area",
	"chat_members.user_id":         "in the erasures of its area",
	"chat_members.email":           "in the erasures of its area",
	"invitations.email":            "in the erasures of its area",
	"invitations.email_key":        "in the erasures of its area",
	"sessions.user_id":             "in the erasures of its area",
	"passkeys.user_id":             "in the erasures of its area",
	"sessions.subject":             "in the erasures of its area: the row is deleted",
	"sign_in_links.subject":        "in the erasures of its area: the row is deleted",
	"captured_members.user_id":     "an id",
	"sign_in_links.user_id":        "in the erasures of its area",
	"sign_ins.user_id":             "in the erasures of its area",
	"sign_ins.subject":             "in the erasures of its area",
	"stream_tickets.subject":       "in the erasures of its area",
	"stream_resumptions.subject":   "in the erasures of its area",
	"jobs.subject":                 "an id",
	"webhook_deliveries.subject":   "an id",
	"scim_users.user_id":           "in the erasures of its area",
	"scim_users.subject":           "in the erasures of its area",
	"scim_users.user_name":         "in the erasures of its area",
	"scim_users.external_id":       "in the erasures of its area",
	"scim_users.email":             "in the erasures of its area",
	"scim_users.email_type":        "in the erasures of its area",
	"scim_requests.subject":        "in the erasures of its area",
	"scim_groups.external_id":      "an id of a group",
	"scim_members.user_id":         "in the erasures of its area: it follows scim_users",
}

// TestErasureKnowsEveryTableOfPeople fails if a migration adds a column that names a person: then add a statement to
// the erasures in the area.go of its area, or say above why none is needed.
func TestErasureKnowsEveryTableOfPeople(t *testing.T) {
	db := databases.Unguarded(t, databases.Engines["sqlite"](t))
	for _, table := range tablesOf(t, db) {
		var columns []string
		require.NoError(t, db.Select(&columns, `SELECT name FROM pragma_table_info(?)`, table))
		for _, column := range columns {
			name := table + "." + column
			names := column == "user_id" || column == "subject" || strings.Contains(column, "email") ||
				strings.HasSuffix(column, "_text") || column == "terms" || column == "user_name" ||
				(column == "external_id" &&
					strings.HasPrefix(table, "scim"))
			if names && keptOfPeople[name] == "" {
				t.Errorf("%s may name a person: erase it", name)
			}
		}
	}
}

// tablesOf lists the tables of a database.
func tablesOf(t *testing.T, db *sqlx.DB) (tables []string) {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if db.DriverName() == "postgres" {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	require.NoError(t, db.Select(&tables, query))
	return tables
}

// found returns the tables that hold a text, in any case.
func found(t *testing.T, db *sqlx.DB, text string) (in []string) {
	t.Helper()
	for _, table := range tablesOf(t, db) {
		rows, err := db.Queryx(`SELECT * FROM ` + table)
		require.NoError(t, err)
		for rows.Next() {
			values, err := rows.SliceScan()
			require.NoError(t, err)
			for _, v := range values {
				if strings.Contains(strings.ToLower(fmt.Sprintf("%s", v)), text) && !slices.Contains(in, table) {
					in = append(in, table)
				}
			}
		}
		_ = rows.Close()
		require.NoError(t, rows.Err())
	}
	return in
}

// filesWith returns the files of a SQLite database that hold a text.
func filesWith(t *testing.T, path, text string) (in []string) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if bytes.Contains(bytes.ToLower(content), []byte(text)) {
			in = append(in, filepath.Base(file))
		}
	}
	return in
}

// storePersonalData stores everything that can name a person.
func storePersonalData(t *testing.T, db *sqlstore.Store, system identity.Actor) (team *fixture.Team,
	person identity.UserID) {
	t.Helper()
	ctx, s := t.Context(), db.Stores()
	team = fixture.NewTeam(t, s, system.Org)
	org := &identity.Org{
		ID: system.Org, SignUp: identity.SignUpOpen, OwnSpaces: true,
		Issuers: []identity.Issuer{{URL: "https://issuer.example", TrustEmail: true}},
	}
	claims := account.Claims{
		Issuer: "https://issuer.example", Subject: "Sub-Zebulon@issuer.example", Name: "Zebulon Quux",
		Email: "Zeb.Quux@erase.example", EmailVerified: true, IssuedAt: fixture.At,
	}
	p, err := s.Users.SignIn(ctx, org.ID, account.SignIn{Claims: claims, Org: org}, func(in *account.SignIn) error {
		return in.Settle(system)
	})
	require.NoError(t, err)
	ownItem := p.Memberships[0].Workspace.ID
	by := identity.Actor{
		Org: org.ID, User: p.User.ID, Workspace: ownItem, Role: identity.Owner, Ceiling: identity.Owner, At: fixture.At,
		Request: identity.Request{ID: "by Zebulon Quux", Address: "198.51.100.77"},
	}
	fixture.Key(t, s, by, account.KeyDraft{Name: "Laptop of Zebulon Quux"})
	name := "Lab of Zebulon Quux"
	if _, err := s.Workspaces.Update(ctx, by, ownItem, nil, func(w *account.Workspace) error {
		return w.Change(by, nil, nil, account.WorkspaceChanges{Name: &name})
	}); err != nil {
		t.Fatal(err)
	}
	name = "Lab"
	if _, err := s.Workspaces.Update(ctx, by, ownItem, nil, func(w *account.Workspace) error {
		return w.Change(by, nil, nil, account.WorkspaceChanges{Name: &name})
	}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Invitations.Invite(ctx, team.Owner, team.Workspace.ID, claims.Email,
		func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation, error) {
			i, _, err := w.Invite(team.Owner, claims.Email, identity.Member, member, pending)
			return i, err
		}))
	if _, err := s.Workspaces.Update(ctx, system, ownItem, []identity.UserID{team.Owner.User},
		func(w *account.Workspace) error { return w.Admit(system, team.Owner.User, identity.Owner) }); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Sessions.MailLink(ctx, system, claims.Email,
		func(u *account.User, mails session.LinkMails) (*session.Link, error) {
			_, l, err := session.NewMailedLink(system, u, mails)
			return l, err
		}))
	return team, p.User.ID
}

func TestNothingNamesAnErasedPerson(t *testing.T) {
	for engine, url := range databases.Engines {
		t.Run(engine, func(t *testing.T) {
			place := url(t)
			db, system, direct := signing(t, place)
			team, person := storePersonalData(t, db, system)
			link(t, db)
			if _, err := db.Stores().Workspaces.Update(t.Context(), system, team.Workspace.ID, nil,
				func(w *account.Workspace) error {
					by := system
					by.Workspace = w.ID
					w.Record(by, "workspace.updated", string(w.ID), map[string]any{"name": "Zebulon Quux"})
					return nil
				}); err != nil {
				t.Fatal(err)
			}
			traces := []string{"zebulon", "quux", "198.51.100.77"}
			for _, trace := range traces {
				if len(found(t, direct, trace)) == 0 {
					t.Fatalf("%s was never stored", trace)
				}
			}
			people := db.Stores().Erasures
			if err := people.Erase(t.Context(), system, person, func(l *account.Leaver) (*account.Erasure, error) {
				return l.Erase(system)
			}); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, people.CompleteErasure(t.Context(), system.Org, person, time.Now()))
			for _, trace := range traces {
				if in := found(t, direct, trace); len(in) > 0 {
					t.Errorf("%s is in %s", trace, in)
				}
			}
			if path, ok := strings.CutPrefix(place, "sqlite:"); ok {
				backup := filepath.Join(t.TempDir(), "copy.db")
				require.NoError(t, db.CopyTo(context.Background(), backup))
				for _, trace := range traces {
					if in := append(filesWith(t, path, trace), filesWith(t, backup, trace)...); len(in) > 0 {
						t.Errorf("%s is in the bytes of %s", trace, in)
					}
				}
			}
			link(t, db)
			redactedCount := 0
			for _, ws := range workspacesOf(t, direct) {
				r := verified(t, db, ws)
				redactedCount += r.Redacted
				if r.Broken > 0 {
					t.Errorf("the chain of %s: %+v", ws, r)
				}
			}
			e, err := people.Erasure(t.Context(), system.Org, person)
			if err != nil || redactedCount == 0 || e.Report.Events != redactedCount || e.Report.Invitations != 1 ||
				e.Report.SignIns != 1 || e.Report.Memberships != 1 {
				t.Errorf("%d redacted, %+v, %v", redactedCount, e, err)
			}
			if u, _, err := db.Stores().Users.Get(t.Context(), team.Org, team.Member.User); err != nil || u.Name == "" {
				t.Errorf("another person: %+v, %v", u, err)
			}
		})
	}
}

// workspacesOf lists the workspaces that have events.
func workspacesOf(t *testing.T, db *sqlx.DB) (ids []identity.WorkspaceID) {
	t.Helper()
	require.NoError(t, db.Select(&ids, `SELECT DISTINCT workspace_id FROM events WHERE workspace_id <> ''`))
	return ids
}

func TestARedactionHidesNoChangeOfAnother(t *testing.T) {
	db, system, direct := signing(t, databases.Engines["sqlite"](t))
	_, person := storePersonalData(t, db, system)
	link(t, db)
	change := `UPDATE events SET type = 'workspace.kept' WHERE actor_id = '` + string(person) + `'`
	if _, err := direct.ExecContext(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	people := db.Stores().Erasures
	require.NoError(t, people.Erase(t.Context(), system, person, func(l *account.Leaver) (*account.Erasure, error) {
		return l.Erase(system)
	}))
	require.NoError(t, people.CompleteErasure(t.Context(), system.Org, person, time.Now()))
	broken := 0
	for _, ws := range workspacesOf(t, direct) {
		broken += verified(t, db, ws).Broken
	}
	if broken == 0 {
		t.Error("an event that someone changed got a valid signature")
	}
}
