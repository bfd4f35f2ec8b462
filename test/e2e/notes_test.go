package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheTrailNotes expects in the trail what changes nothing: once, by several nodes.
func TestTheTrailNotes(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "personal_workspaces: true")
		second := r.another(t)
		owner := r.user(t, "owner")
		member := r.user(t, "member")
		notedResponse := func(t *testing.T, by *client, kind string, want int) *answer {
			t.Helper()
			a := by.get(t, "/api/events?limit=100&type="+kind)
			if got := len(a.each(t, "id")); got != want {
				t.Fatalf("%d events %s, want %d: %s", got, kind, want, a)
			}
			return a
		}
		t.Run("a sign-in is told once a day in each workspace", func(t *testing.T) {
			ann := r.person(t, "ann")
			ownID := ann.get(t, "/api/me").at("workspaces.0.id")
			for _, s := range []*server{r.server, second} {
				r.again(ann, "ann").at(s).get(t, "/api/me")
			}
			notedResponse(t, ann, "user.signed_in", 1).has(t, map[string]string{
				"data.0.actor": ann.id, "data.0.subject": ann.id, "data.0.data.issuer": r.issuer.URL,
				"data.0.api_key_id": "null",
			})
			other := ann.create(t, "/api/workspaces", object{"name": "Other"}).at("id")
			if got := ann.do(t, "GET", "/api/events?type=user.signed_in", nil, "Workspace-Id: "+other).each(t,
				"id"); len(got) != 0 {
				t.Errorf("%v in the workspace of later", got)
			}
			if got := ann.do(t, "GET", "/api/events?type=user.signed_in", nil, "Workspace-Id: "+ownID).each(t,
				"id"); len(got) != 1 {
				t.Errorf("%v in their own workspace", got)
			}
			r.leaves(t, nil, "ann@example.com")
		})
		t.Run("a key signs nobody in", func(t *testing.T) {
			member.get(t, "/api/me")
			notedResponse(t, owner, "user.signed_in", 0)
		})
		t.Run("a refusal that matters is told once an hour", func(t *testing.T) {
			space := "/api/workspaces/" + member.workspace
			member.do(t, "PATCH", space, object{"name": "Mine"}).problem(t, 403, "forbidden")
			notedResponse(t, owner, "access.refused", 0)
			for _, s := range []*server{r.server, r.server, second} {
				member.at(s).do(t, "DELETE", space, nil).problem(t, 403, "forbidden")
			}
			notedResponse(t, owner, "access.refused", 1).has(t, map[string]string{
				"data.0.actor": member.id, "data.0.subject": member.id, "data.0.data.code": "forbidden",
				"data.0.data.operation": "deleteWorkspace",
			})
			admin := r.user(t, "admin")
			admin.do(t, "PATCH", space+"/members/"+member.id, object{"role": "owner"}).problem(t, 403, "role_ceiling")
			notedResponse(t, owner, "access.refused", 2).has(t, map[string]string{
				"data.0.actor": admin.id, "data.0.data.code": "role_ceiling", "data.0.data.operation": "updateMember",
			})
		})
		t.Run("a refusal in the workspace of a path is told there", func(t *testing.T) {
			bob := r.person(t, "bob")
			token, _ := r.invite(t, owner, bob.email, "viewer")
			accept(t, bob, token).is(t, 200)
			bob.do(t, "DELETE", "/api/workspaces/"+owner.workspace, nil,
				"Workspace-Id: "+bob.get(t, "/api/me").at("workspaces.0.id")).
				problem(t, 403, "forbidden")
			notedResponse(t, owner, "access.refused", 3).has(t, map[string]string{"data.0.actor": bob.id})
			stranger := r.person(t, "eve")
			stranger.do(t, "DELETE", "/api/workspaces/"+owner.workspace, nil).problem(t, 404, "workspace_not_found")
			notedResponse(t, owner, "access.refused", 3)
		})
		if engine != sqlite {
			return // files are offered only where the database is SQLite too
		}
		t.Run("a preview of a sheet is told once an hour, without its URL", func(t *testing.T) {
			folder := filepath.Join(r.data, "sheets")
			require.NoError(t, os.MkdirAll(folder, 0o700))
			if err := os.WriteFile(filepath.Join(folder, "people.csv"), []byte("E-mail,Age\nada@example.com,36\n"),
				0o600); err != nil {
				t.Fatal(err)
			}
			preview := sources + "/sheet-preview?url=" + url.QueryEscape("file:people.csv")
			member.do(t, "GET", sources+"/sheet-preview?url=file:none.csv", nil).is(t, 404)
			notedResponse(t, owner, "source.previewed", 0)
			for _, s := range []*server{r.server, r.server, second} {
				member.at(s).get(t, preview)
			}
			first := notedResponse(t, owner, "source.previewed", 1)
			first.has(t, map[string]string{"data.0.actor": member.id, "data.0.data.connection_id": "null"})
			if strings.Contains(first.text, "people.csv") || len(first.at("data.0.data.sheet")) != 32 {
				t.Errorf("it tells %s", first)
			}
			member.create(t, sources, object{
				"type": "contacts", "name": "People", "location": object{"url": "file:people.csv"},
				"mapping": []any{object{"field": "email", "column": "E-mail"}},
			})
			notedResponse(t, owner, "source.previewed", 1) // attaching reads the same sheet
			owner.get(t, preview)
			notedResponse(t, owner, "source.previewed", 2)
		})
	})
}

// TestPreviewsOfTablesAreNoted reads a warehouse.
func TestPreviewsOfTablesAreNoted(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, shop := start(t, engine, toShops), newShop(t)
		shop.sql(t, shop.name, `CREATE TABLE notes_seen (email text)`)
		admin := s.user(t, "admin")
		id := admin.create(t, "/api/connections", shop.connection(fixture.Canary)).at("id")
		preview := sources + "/warehouse-preview?connection_id=" + id
		admin.get(t, preview)
		for range 2 {
			admin.get(t, preview+"&schema=public&table=notes_seen")
		}
		a := admin.get(t, "/api/events?type=connection.previewed")
		a.has(t, map[string]string{
			"data.0.actor": admin.id, "data.0.subject": id, "data.0.data.schema": "public",
			"data.0.data.table": "notes_seen", "data.1.id": "",
		})
	})
}

// TestEventsVerify compares an untouched trail and one that somebody changed behind Atrium's back.
func TestEventsVerify(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		admin := s.user(t, "admin")
		id := admin.create(t, templates, object{"name": "kept"}).at("id")
		awaits(t, "all events are linked", s, func() bool {
			return strings.Contains(s.must(t, "events", "verify", "--workspace", admin.workspace), " 0 not linked yet")
		})
		assert.Contains(t, "an untouched trail", s.must(t, "events", "verify"), "none is broken")
		db := s.open(t)
		defer db.Close()
		s.stop(t)
		s.must(t, "user", "create", "--email", "late@example.com", "--role", "member") // a command links nothing
		if out := s.must(t, "events", "verify", "--workspace", admin.workspace); strings.Contains(out,
			" 0 not linked yet") {
			t.Errorf("nothing is left to link: %s", out)
		}
		worker := s.spawn(t, s.command("work"))
		awaits(t, "a node that only runs jobs links events", worker, func() bool {
			return strings.Contains(s.must(t, "events", "verify", "--workspace", admin.workspace), " 0 not linked yet")
		})
		if _, err := db.ExecContext(t.Context(), `UPDATE events
			SET data = '{"name":"other","type":"text","visibility":"private"}' WHERE subject = '`+id+`'`); err != nil {
			t.Fatal(err)
		}
		out := s.run(t, "events", "verify")
		if out.code != 1 || !strings.Contains(out.stdout, "it was changed") ||
			!strings.Contains(out.stderr, "are broken") {
			t.Errorf("a changed event: %+v", out)
		}
	})
}
