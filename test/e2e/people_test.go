package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/test/support/assert"
)

const peoplePath = "/api/people"

// sleeper stores a person of the org red who never does anything, and returns the id.
func (h *testWorkspace) sleeper(t *testing.T) string {
	t.Helper()
	name := id.New("usr")
	h.sql(t, fmt.Sprintf(`INSERT INTO users (id, org_id, email, email_key, email_verified, name, service, operator,
		operator_by_hand, default_workspace_id, revision, created_at, updated_at)
		SELECT '%[1]s', id, '%[1]s@example.com', '%[1]s@example.com', TRUE, 'Sleeper', FALSE, FALSE, FALSE, '', 1, 1, 1
		FROM orgs WHERE slug = 'red'`, name))
	return name
}

// erased stores a person and erases them.
func (h *testWorkspace) erased(t *testing.T) string {
	t.Helper()
	name := h.sleeper(t)
	for _, c := range h.callers {
		if c.operator && c.full {
			c.do(t, "POST", peoplePath+"/"+name+"/erase", nil, onRed).is(t, 202)
			return name
		}
	}
	t.Fatal("there is no operator")
	return ""
}

func TestPeopleAreListed(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "sign_up: open")
		operator := r.user(t, "owner", "--operator", "--name", "Grace Hopper")
		ada := r.person(t, "ada", object{"name": "Ada Lovelace"})
		ids := func(query string) []string { return operator.get(t, peoplePath+query).each(t, "id") }
		if all := ids(""); len(all) < 2 || all[0] != ada.id ||
			(all[len(all)-1] != operator.id && all[1] != operator.id) {
			t.Errorf("all: %v", all)
		}
		for query, want := range map[string][]string{
			"?q=lov": {ada.id}, "?q=ADA+ex": {ada.id}, "?q=ada%40example.com": {ada.id}, "?q=nobody": nil,
			"?q=%2e":           nil,
			"?status=disabled": nil, "?q=hop&status=active": {operator.id},
		} {
			assert.EqualSlice(t, query+": ids", ids(query), want)
		}
		first := operator.get(t, peoplePath+"?limit=1")
		assert.EqualSlice(t, "the second page", ids("?limit=1&cursor="+first.at("next_cursor")), ids("")[1:2])
		operator.get(t, peoplePath+"/"+operator.id).has(t, map[string]string{
			"name": "Grace Hopper", "email": operator.email, "operator": "true", "status": "active",
			"workspace_count": "1", "session_count": "0", "api_key_count": "1", "disabled_at": "null",
		})
		ada.do(t, "GET", peoplePath, nil).problem(t, 403, "forbidden")
		operator.do(t, "GET", peoplePath+"/usr_00000000000000000000000000", nil).problem(t, 404, "user_not_found")
		operator.do(t, "GET", peoplePath+"?cursor=AAAA", nil).problem(t, 400, "invalid_cursor")
	})
}

// TestErasedPeople erases a person, and looks for their name and address everywhere.
func TestErasedPeople(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "sign_up: open")
		operator := r.user(t, "owner", "--operator")
		erase := func(name string) *answer { return operator.do(t, "POST", peoplePath+"/"+name+"/erase", nil) }
		zeb := r.person(t, "zeb-sub", object{"name": "Zebulon Quux", "email": "Zeb.Quux@example.com"})
		token, _ := r.invite(t, operator, "zeb.quux@example.com", "member")
		accept(t, zeb, token).is(t, 200)
		r.invite(t, operator, "other@example.com", "member")
		zeb.workspace = operator.workspace
		key := r.bearer(zeb.create(t, apiKeys, object{"name": "Laptop of Zebulon Quux"}).at("token"))
		zeb.do(t, "PATCH", "/api/me", object{"name": "Zebulon Q. Quux"}).is(t, 200)
		stream := key.stream(t, "")
		stream.next()
		zeb.do(t, "POST", presences, object{"status": "dnd", "text": "Zebulon Quux is out", "ttl_seconds": 300}).is(t,
			200)
		ownResponse := zeb.create(t, "/api/workspaces", object{"name": "Zebulon Quux"}, "Idempotency-Key: zeb-made-it")

		for person, path := range map[*client]string{operator: peoplePath + "/" + zeb.id + "/export",
			zeb: "/api/me/export"} {
			data := person.get(t, path)
			for _, part := range []string{
				`"name":"Zebulon Quux"`, `"email_verified":true`, "zeb-sub", "Laptop of", "is out", `"name":"events"`,
			} {
				if !strings.Contains(data.text, part) {
					t.Errorf("%s lacks %s: %s", path, part, data)
				}
			}
		}
		key.do(t, "GET", "/api/me/export", nil).problem(t, 403, "forbidden")
		operator.do(t, "GET", peoplePath+"/usr_00000000000000000000000000/export", nil).problem(t, 404,
			"user_not_found")
		a := erase(zeb.id).problem(t, 409, "only_owner")
		if !strings.Contains(a.at("detail"), ownResponse.at("slug")) {
			t.Errorf("it does not name the workspace: %s", a)
		}
		zeb.do(t, "DELETE", "/api/workspaces/"+ownResponse.at("id"), nil).is(t, 204)
		if ownID := operator.id; erase(ownID).problem(t, 409, "last_operator") == nil {
			t.Fatal("the last operator")
		}
		operator.do(t, "GET", peoplePath+"/"+zeb.id+"/erasure", nil).problem(t, 404, "erasure_not_found")
		erase(zeb.id).is(t, 202).has(t, map[string]string{"user_id": zeb.id, "requested_by": operator.id})
		for _, c := range []*client{zeb, key} {
			c.refusedWithin(t, 1500*time.Millisecond)
		}
		stream.ends(1500 * time.Millisecond)
		awaits(t, "the erasure ends", r.server, func() bool {
			return operator.get(t, peoplePath+"/"+zeb.id+"/erasure").at("status") == "done"
		})
		operator.get(t, peoplePath+"/"+zeb.id+"/erasure").has(t, map[string]string{"report.sign_ins": "1"})
		operator.get(t, peoplePath+"/"+zeb.id).has(t,
			map[string]string{"status": "erased", "name": "", "email": "null", "api_key_count": "0"})
		r.again(zeb, "zeb-sub", object{"iat": time.Now().Unix() - 60}).do(t, "GET", "/api/me", nil).
			problem(t, 401, "unauthenticated") // a token from before the erasure
		operator.get(t, "/api/events?type=user.erased").has(t,
			map[string]string{"data.0.subject": zeb.id, "data.0.actor": operator.id})
		for _, path := range []string{"/enable", "/disable", "/erase"} {
			operator.do(t, "POST", peoplePath+"/"+zeb.id+path, nil).problem(t, 404, "user_not_found")
		}
		texts := map[string]string{}
		readFiles := func(when string) {
			for _, name := range []string{"atrium.db", "atrium.db-wal"} {
				if file, err := os.ReadFile(filepath.Join(r.data, name)); err == nil && engine == sqlite {
					texts[name+when] = string(file)
				}
			}
		}
		readFiles(" of the running server")
		r.stop(t)
		readFiles("")
		texts["the log"], texts["the database"] = r.stderr.String()+r.stdout.String(), r.dump(t)
		if engine == sqlite {
			archive := filepath.Join(t.TempDir(), "backup.tar.gz")
			r.must(t, "backup", archive)
			restoredDeployment := r.deployment.another(t)
			restoredDeployment.must(t, "restore", archive)
			texts["a backup"] = (&server{deployment: restoredDeployment}).dump(t)
		}
		for place, text := range texts {
			for _, trace := range []string{"zebulon", "quux", "zeb-sub", "zeb-made-it"} {
				if i := strings.Index(strings.ToLower(text), trace); i >= 0 {
					t.Errorf("%s is in %s: %s", trace, place, text[max(0, i-200):min(len(text), i+50)])
				}
			}
		}
		assert.Contains(t, "it says", r.must(t, "events", "verify"), "none is broken")
	})
}

func TestErasingOnTheCommandLine(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		d.must(t, "user", "create", "--email", "ann@example.com", "--role", "owner", "--name", "Ann Lee")
		if got := d.run(t, "user", "erase", "--email", "ann@example.com", "--yes"); got.code != 1 ||
			!strings.Contains(got.stderr, "only owner of default") {
			t.Errorf("%+v", got)
		}
		d.must(t, "user", "create", "--email", "bob@example.com", "--role", "owner")
		if got := d.run(t, "user", "erase", "--email", "ann@example.com"); got.code == 0 {
			t.Errorf("it did not ask: %+v", got)
		}
		export := d.must(t, "user", "export", "--email", "ann@example.com")
		if !strings.Contains(export, "Ann Lee") || !strings.Contains(export, `"name":"memberships"`) {
			t.Errorf("it exports %s", export)
		}
		out := d.must(t, "user", "erase", "--email", "ann@example.com", "--yes", "--json")
		if !strings.Contains(out, `"memberships":1`) || !strings.Contains(out, `"done":true`) {
			t.Errorf("it says %s", out)
		}
		if text := d.dumpUsers(t); strings.Contains(text, "Ann Lee") || strings.Contains(text, "ann@") {
			t.Errorf("the database has %s", text)
		}
	})
}

// dumpUsers returns every row of the table users.
func (d *deployment) dumpUsers(t *testing.T) string {
	t.Helper()
	return (&server{deployment: d}).dumpOf(t, "users")
}
