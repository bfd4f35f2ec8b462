package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/presence"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// listing is a list with a filter: one page of it, as the ids of its items.
type listing struct {
	name string
	uses string // what a plan of SQLite says when the index of the filter is used
	page func(context.Context, ports.Stores, page.Query) ([]string, string, error)
}

func list[T any](name, uses string, read func(context.Context, ports.Stores, page.Query) (page.Of[T], error),
	id func(*T) string) listing {
	return listing{name, uses, func(ctx context.Context, s ports.Stores, q page.Query) ([]string, string, error) {
		found, err := read(ctx, s, q)
		ids := []string{}
		for i := range found.Items {
			ids = append(ids, id(&found.Items[i]))
		}
		return ids, found.Next, err
	}}
}

// listings are all lists of a team that have filters, with each combination of filters that the API offers.
func listings(team *fixture.Team) (all []listing) {
	ws := team.Workspace.ID
	for _, f := range []event.Filter{
		{}, {Type: "t1"}, {Type: "never"}, {Type: "elsewhere"}, {Type: "elsewhere", Actor: "usr_a1"}, {Actor: "usr_a1"},
		{Subject: "s1"}, {Type: "t1", Actor: "usr_a1"}, {Type: "never", Actor: "usr_a1"},
		{Type: "never", Subject: "s1"}, {Type: "t1", Actor: "usr_a1", Subject: "s1"},
		{CreatedAfter: time.Now().Add(-time.Hour)},
		{CreatedAfter: time.Now().Add(time.Hour)}, {Type: "never", CreatedAfter: time.Now().Add(-time.Hour)},
		{Type: "never", Actor: "usr_a1", CreatedAfter: time.Unix(0, 0)},
		{CreatedBefore: time.Now().Add(-time.Hour)}, {Type: "never", CreatedBefore: time.Now().Add(-time.Hour)},
		{Request: "r1"}, {Request: "never"}, {Request: "r1", Subject: "s1"},
	} {
		uses := ""
		switch {
		case f.Request != "":
			uses = "request_id=?"
		case f.Subject != "":
			uses = "subject=?"
		case f.Actor != "":
			uses = "actor_id=?"
		case f.Type != "":
			uses = "type=?"
		case !f.CreatedAfter.IsZero():
			uses = "id>?"
		case !f.CreatedBefore.IsZero():
			uses = "id<?"
		}
		all = append(all, list(fmt.Sprintf("events %+v", f), uses,
			func(ctx context.Context, s ports.Stores, q page.Query) (event.Page, error) {
				return s.Events.List(ctx, ws, f, q)
			}, func(e *event.Event) string { return e.ID }))
	}
	for _, by := range []identity.Actor{team.Admin, team.Member} {
		for _, f := range []prompt.Filter{{}, {Query: "nowhere"}, {Query: "name 1"}, {Tag: "red"}, {Folder: "folder"},
			{Query: "e", Tag: "red", Folder: "folder"}, {ByName: true}, {ByName: true, Tag: "red"}, {Owner: "usr_none"},
			{Label: "live"}, {Active: new(true)}, {Deleted: true}} {
			all = append(all, list(fmt.Sprintf("prompts of %v %+v", by.Role, f), "workspace_id=?",
				func(ctx context.Context, s ports.Stores, q page.Query) (prompt.Page, error) {
					return s.PromptLists.Visible(ctx, by, f, q)
				}, func(t *prompt.Template) string { return string(t.ID) }))
		}
		for _, f := range []chat.Filter{
			{}, {Query: "nowhere"}, {Query: "name 1"}, {Status: "active"}, {Status: "archived"},
			{Visibility: access.Workspace}, {Prompt: "ptpl_1"}, {Prompt: "ptpl_none"},
			{Prompt: "ptpl_1", Status: "active"}, {Prompt: "ptpl_1", Refs: []string{"latest"}},
			{Query: "name", Status: "active", Visibility: access.Workspace},
		} {
			uses := "workspace_id=?"
			switch {
			case f.Prompt != "":
				uses = "prompt_id=?"
			case f.Status != "" && by.Role == identity.Admin:
				uses = "status=?"
			case f.Visibility != "" && by.Role == identity.Admin:
				uses = "visibility=?"
			}
			all = append(all, list(fmt.Sprintf("chats of %v %+v", by.Role, f), uses,
				func(ctx context.Context, s ports.Stores, q page.Query) (chat.Page, error) {
					return s.ChatLists.Visible(ctx, by, f, q)
				}, func(t *chat.Summary) string { return string(t.ID) }))
		}
	}
	for user, uses := range map[identity.UserID]string{"": "api_keys_listed (",
		team.Member.User: "api_keys_listed_of_user ("} {
		all = append(all, list(fmt.Sprintf("keys of %q", user), uses,
			func(ctx context.Context, s ports.Stores, q page.Query) (account.KeyPage, error) {
				return s.Keys.List(ctx, ws, user, fixture.At, q)
			}, func(k *account.Key) string { return string(k.ID) }))
	}
	for _, f := range []presence.Filter{{}, {Status: presence.Online}, {Status: presence.Away, SinceSeq: 1},
		{SinceSeq: 1}, {User: team.Member.User}} {
		all = append(all, list(fmt.Sprintf("presences %+v", f), "org_id=?",
			func(ctx context.Context, s ports.Stores, q page.Query) (presence.Page, error) {
				return s.Presences.List(ctx, team.Owner, f, q)
			}, func(r *presence.Record) string { return string(r.ID) }))
	}
	for status, uses := range map[payment.InvoiceStatus]string{"": "payment_invoices_newest",
		"paid": "payment_invoices_status"} {
		all = append(all, list("invoices "+string(status), uses,
			func(ctx context.Context, s ports.Stores, q page.Query) (payment.InvoicePage, error) {
				return s.Payments.Invoices(ctx, ws, "default", status, q)
			}, func(i *payment.Invoice) string { return string(i.ID) }))
	}
	for state, uses := range map[payment.EventState]string{"": "payment_events_newest",
		"dead": "payment_events_state"} {
		all = append(all, list("payment events "+string(state), uses,
			func(ctx context.Context, s ports.Stores, q page.Query) (page.Of[payment.Event], error) {
				return s.Inbox.List(ctx, team.Org, state, q)
			}, func(e *payment.Event) string { return e.ID }))
	}
	for drafts, uses := range map[bool]string{false: "prompt_versions_frozen", true: "prompt_versions_number"} {
		all = append(all, list(fmt.Sprint("versions ", drafts), uses,
			func(ctx context.Context, s ports.Stores, q page.Query) (prompt.VersionPage, error) {
				return s.PromptLists.Versions(ctx, ws, "ptpl_1", drafts, q)
			}, func(v *prompt.VersionSummary) string { return string(v.ID) }))
	}
	return append(all, list("invitations", "invitations_listed",
		func(ctx context.Context, s ports.Stores, q page.Query) (account.InvitationPage, error) {
			return s.Invitations.List(ctx, team.Org, ws, q)
		}, func(i *account.Invitation) string { return string(i.ID) }))
}

// seed fills the tables of a team's lists, and as much of another workspace. Ids are in the order of i.
func seed(t *testing.T, db *sql.DB, team *fixture.Team, other *fixture.Team, rows int) {
	t.Helper()
	alphabetical := func(prefix string) string {
		return `'` + prefix + `' || CAST(1000000000 + i AS TEXT)`
	}
	numbers := fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, rows)
	mod := func(n int, parent string) string { return fmt.Sprintf(`'%s' || CAST(i %% %d AS TEXT)`, parent, n) }
	ws := fmt.Sprintf(`CASE WHEN i %% 2 = 0 THEN '%s' ELSE '%s' END`, other.Workspace.ID, team.Workspace.ID)
	owner := fmt.Sprintf(`CASE WHEN i %% 2 = 0 THEN '%s' WHEN i %% 3 = 0 THEN '%s' ELSE '%s' END`, other.Member.User,
		team.Member.User, team.Peer.User)
	visibility := `CASE WHEN i % 5 < 2 THEN 'workspace' ELSE 'private' END`
	name := `CASE WHEN i % 17 = 1 THEN 'folder/' ELSE '' END || CAST(i AS TEXT)`
	org, member := string(team.Org), string(team.Member.User)
	// Each row of these would update one row of usage, and look through all versions of it that the statement has made.
	countedTexts := []string{"prompt_templates", "chat_templates"}
	setTriggers(t, db, "DISABLE", countedTexts...)
	defer setTriggers(t, db, "ENABLE", countedTexts...)
	for _, insert := range []string{
		`INSERT INTO events (id, org_id, workspace_id, type, actor_id, key_id, subject, data, created_at, request_id,
			address) ` + numbers +
			`SELECT ` + alphabetical("evt_00") + `, '` + org + `', ` + ws +
			`, CASE WHEN i % 2 = 0 THEN 'elsewhere' ELSE ` + mod(7, "t") + ` END, ` + mod(11, "usr_a") + `, '', ` +
			mod(13, "s") + `, '{}', i, ` + mod(17, "r") + `, '' FROM n`,
		`INSERT INTO prompt_templates (id, workspace_id, owner_id, name, name_key, type, description, tags, metadata,
			visibility, protected, search, active_version_id,
			active_number, activated_at, activated_by, last_number, revision, created_at, created_by, updated_at,
			deleted_at) ` + numbers +
			`SELECT ` + alphabetical("ptpl_") + `, ` + ws + `, ` + owner +
			`, ` + name + `, ` + name + `, 'text', '', CASE WHEN i % 19
				= 1 THEN '["red"]' ELSE '[]' END,
			'', ` + visibility + `, FALSE, ` + mod(23, "name ") + `, '', 0, 0, '', 0, 1, i, '', i, 0 FROM n`,
		`INSERT INTO prompt_shares (template_id, workspace_id, user_id, access, expires_at, granted_by, revision,
			created_at, updated_at) ` + numbers +
			`SELECT ` + alphabetical("ptpl_") + `, ` + ws + `, '` + member +
			`', 1, 0, '', 1, 1, 1 FROM n WHERE i % 7 = 0 AND i % 2 = 1`,
		`INSERT INTO chat_templates (id, workspace_id, owner_id, name, description, avatar_url, instructions, prompt_id,
			prompt_ref, agents, tools, capabilities, configs,
			model_config, greeting, starters, metadata, workflows, status, visibility, search, revision, created_at,
			created_by, updated_at, deleted_at) ` + numbers +
			`SELECT ` + alphabetical("ctpl_") + `, ` + ws + `, ` + owner +
			`, 'name', '', '', '', CASE WHEN i % 29 = 1 THEN 'ptpl_1' ELSE '' END, 'latest', '[]', '[]', '[]', '{}',
			'', '', '[]', '', '[]', CASE WHEN i % 31 = 1 THEN 'active' ELSE 'draft' END, ` + visibility + `, ` + mod(23, "name ") + `, 1, i, '', i, 0 FROM n`,
		`INSERT INTO chat_members (template_id, workspace_id, user_id, email, role, invited, invited_by, revision,
			created_at, updated_at) ` + numbers +
			`SELECT ` + alphabetical("ctpl_") + `, ` + ws + `, '` + member +
			`', '', 1, FALSE, '', 1, 1, 1 FROM n WHERE i % 7 = 0 AND i % 2 = 1`,
		`INSERT INTO api_keys (id, org_id, workspace_id, user_id, service, name, ceiling, hash, hint, expires_at,
			last_used_at, revoked_at, created_by, made_by_key, revision, created_at, updated_at) ` + numbers +
			`SELECT ` + alphabetical("key_") + `, '` + org + `', ` + ws + `, ` + owner +
			`, FALSE, '', 1, CAST('h' || CAST(i AS TEXT) AS ` + blob(t, db) +
			`), '', CASE WHEN i % 3 = 0 THEN 0 ELSE 1 END, 0,
			CASE WHEN i % 5 < 3 THEN 1 ELSE 0 END, '', '', 1, i, i FROM n`,
		`ANALYZE`,
	} {
		if _, err := db.ExecContext(t.Context(), insert); err != nil {
			t.Fatalf("%v: %.200s", err, insert)
		}
	}
}

// setTriggers disables or enables our triggers of tables on PostgreSQL.
func setTriggers(t *testing.T, db *sql.DB, action string, tables ...string) {
	t.Helper()
	if !isPostgres(db) {
		return
	}
	for _, table := range tables {
		if _, err := db.ExecContext(t.Context(), `ALTER TABLE `+table+` `+action+` TRIGGER USER`); err != nil {
			t.Fatal(err)
		}
	}
}

func isPostgres(db *sql.DB) bool {
	_, ok := db.Driver().(*pq.Driver)
	return ok
}

// blob is the engine's type of bytes.
func blob(t *testing.T, db *sql.DB) string {
	t.Helper()
	if isPostgres(db) {
		return "BYTEA"
	}
	return "BLOB"
}

// walk reads a whole list, page after page.
func walk(t *testing.T, s ports.Stores, l listing, limit int) (all []string, pages int) {
	t.Helper()
	for q := (page.Query{Limit: limit}); ; pages++ {
		ids, next, err := l.page(t.Context(), s, q)
		require.NoError(t, err)
		if len(ids) > limit {
			t.Fatalf("a page of %d items, want %d at most", len(ids), limit)
		}
		all = append(all, ids...)
		if next == "" {
			return all, pages + 1
		}
		if next == q.After {
			t.Fatal("a cursor leads to itself")
		}
		q.After = next
	}
}

// TestBoundedScans reads every filtered list with a bound that is reached all the time, and without.
func TestBoundedScans(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		sealer := databases.Keyring(t)
		db, boundedStore := open(t, url, sealer), open(t, url, sealer)
		ids, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		team, other := fixture.NewTeam(t, db.Stores(), ids["one"]), fixture.NewTeam(t, db.Stores(), ids["one"])
		seed(t, databases.Raw(t, url), team, other, 600)
		sqlstore.BoundScans(boundedStore, 20)
		short := 0
		for _, l := range listings(team) {
			want, _ := walk(t, db.Stores(), l, 100)
			got, pages := walk(t, boundedStore.Stores(), l, 7)
			byName := strings.Contains(l.name, "ByName:true")
			if diff := cmp.Diff(want, got); diff != "" ||
				(!byName && !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(b, a) })) {
				t.Errorf("%s: bounded pages hold other items (-unbounded +bounded):\n%s", l.name, diff)
			}
			if pages > len(got)/7+1 {
				short++
			}
		}
		if short < 10 {
			t.Errorf("%d lists had short pages: the bound was hardly reached", short)
		}
	})
}
