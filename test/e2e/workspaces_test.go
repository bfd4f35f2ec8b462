package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestWorkspaceSelection(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		ann := r.person(t, "ann")
		foreign := r.user(t, "owner", "--workspace", "foreign")

		t.Run("a caller without a workspace is refused", func(t *testing.T) {
			ann.do(t, "GET", templates, nil).problem(t, 400, "workspace_required")
			ann.get(t, "/api/me").has(t, map[string]string{"workspace": "null", "role": "null"})
			ann.get(t, "/api/workspaces")
		})
		one := ann.create(t, "/api/workspaces", object{"name": "One"}).has(t,
			map[string]string{"slug": "one", "my_role": "owner"}).at("id")
		in := func(t *testing.T, a *answer, workspace string) {
			t.Helper()
			if got := a.header.Get("Workspace-Id"); a.status >= 300 || got != workspace {
				t.Errorf("%s\nin %q, want %q", a, got, workspace)
			}
		}
		t.Run("the caller's only workspace is selected", func(t *testing.T) {
			in(t, ann.do(t, "GET", templates, nil), one)
			in(t, ann.do(t, "POST", templates, object{"name": "in one"}), one)
		})
		two := ann.create(t, "/api/workspaces", object{"name": "Two", "slug": "zwei"}).at("id")
		t.Run("of several workspaces none is selected", func(t *testing.T) {
			for _, method := range []string{"GET", "POST"} {
				ann.do(t, method, templates, body(method)).problem(t, 400, "workspace_required")
			}
		})
		t.Run("the header selects a workspace by id or slug", func(t *testing.T) {
			for name, want := range map[string]string{one: one, "one": one, two: two, "zwei": two} {
				in(t, ann.do(t, "GET", templates, nil, "Workspace-Id: "+name), want)
				in(t, ann.do(t, "POST", templates, body("POST"), "Workspace-Id: "+name), want)
			}
		})
		t.Run("the stored default workspace is selected for reads, not for writes", func(t *testing.T) {
			ann.do(t, "PATCH", "/api/me", object{"default_workspace_id": two}).is(t, 200)
			in(t, ann.do(t, "GET", templates, nil), two)
			in(t, ann.do(t, "GET", templates, nil, "Workspace-Id: one"), one) // the header comes before
			ann.do(t, "POST", templates, body("POST")).problem(t, 400, "workspace_required")
			ann.do(t, "PATCH", "/api/me", object{"name": "Ann"}).is(t, 200) // is about the caller alone
		})
		t.Run("a workspace that the caller is not in is not found", func(t *testing.T) {
			absent := ann.do(t, "GET", templates, nil, "Workspace-Id: "+id.New("wsp"), "Request-Id: same").problem(t,
				404, "workspace_not_found")
			for _, name := range []string{foreign.workspace, "foreign", "nowhere", "ONE", "x"} {
				same(t, name, ann.do(t, "GET", templates, nil, "Workspace-Id: "+name, "Request-Id: same"), absent)
				ann.do(t, "GET", "/api/me", nil, "Workspace-Id: "+name).problem(t, 404, "workspace_not_found")
			}
			ann.do(t, "PATCH", "/api/me", object{"default_workspace_id": foreign.workspace}).problem(t, 404,
				"workspace_not_found")
		})
		t.Run("a key has its own workspace, which no header changes", func(t *testing.T) {
			key := r.bearer(ann.create(t, "/api/api-keys", object{"name": "laptop"}, "Workspace-Id: "+two).at("token"))
			for _, name := range []string{"", two, "zwei"} {
				in(t, key.do(t, "GET", templates, nil, "Workspace-Id: "+name), two)
			}
			for _, name := range []string{one, "one", foreign.workspace, "nowhere"} {
				key.do(t, "GET", templates, nil, "Workspace-Id: "+name).problem(t, 400, "workspace_mismatch")
				key.do(t, "GET", "/api/me", nil, "Workspace-Id: "+name).problem(t, 400, "workspace_mismatch")
			}
			key.get(t, "/api/me").has(t, map[string]string{"workspaces.0.id": two, "workspaces.1.id": ""})
			key.do(t, "GET", "/api/workspaces/"+one, nil).problem(t, 404, "workspace_not_found")
		})
		t.Run("the default workspace ends with the membership", func(t *testing.T) {
			second := r.person(t, "second")
			token, _ := r.invite(t, &client{server: r.server, token: ann.token, workspace: two}, second.email, "owner")
			accept(t, second, token).is(t, 200)
			ann.do(t, "DELETE", "/api/workspaces/"+two+"/members/"+ann.id, nil).is(t, 204)
			in(t, ann.do(t, "GET", templates, nil), one)
		})
		t.Run("a slug can be used once, and reserved slugs never", func(t *testing.T) {
			ann.do(t, "POST", "/api/workspaces", object{"name": "Foreign", "slug": "foreign"}).problem(t, 409,
				"slug_taken")
			ann.create(t, "/api/workspaces", object{"name": "Foreign"}).has(t,
				map[string]string{"name": "Foreign", "slug": "foreign-2"})
			ann.do(t, "POST", "/api/workspaces", object{"name": "API", "slug": "api"}).problem(t, 422, "invalid_fields")
			ann.do(t, "PATCH", "/api/workspaces/"+one, object{"slug": "foreign"}).problem(t, 409, "slug_taken")
		})
		r.leaves(t, []string{"workspace.created", "user.updated", "member.removed"}, "ann@example.com", "second@")
	})
}

// body is what a POST to templates makes one with.
func body(method string) any {
	if method == "GET" {
		return nil
	}
	return object{"name": somebody()}
}

func TestMembers(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner, admin := r.user(t, "owner", "--workspace", "team"), r.user(t, "admin", "--workspace", "team")
		member, viewer := r.user(t, "member", "--workspace", "team"), r.user(t, "viewer", "--workspace", "team")
		members := "/api/workspaces/" + owner.workspace + "/members/"
		set := func(t *testing.T, by, person *client, role string) *answer {
			t.Helper()
			return by.do(t, "PATCH", members+person.id, object{"role": role})
		}

		t.Run("the last owner cannot leave or be lowered", func(t *testing.T) {
			set(t, owner, owner, "admin").problem(t, 409, "last_owner")
			owner.do(t, "DELETE", members+owner.id, nil).problem(t, 409, "last_owner")
		})
		t.Run("a caller cannot give or take a role above their own", func(t *testing.T) {
			set(t, admin, member, "owner").problem(t, 403, "role_ceiling")
			set(t, admin, admin, "owner").problem(t, 403, "role_ceiling")
			set(t, admin, owner, "viewer").problem(t, 403, "role_ceiling")
			admin.do(t, "DELETE", members+owner.id, nil).problem(t, 403, "role_ceiling")
			limitedClient, _ := owner.key(t, "--role", "admin")
			set(t, limitedClient, member, "owner").problem(t, 403, "role_ceiling")
		})
		t.Run("a changed role applies at once", func(t *testing.T) {
			set(t, admin, viewer, "member").is(t, 200).has(t, map[string]string{"role": "member", "revision": "2"})
			set(t, admin, member, "viewer").is(t, 200)
			member.do(t, "POST", templates, object{"name": "no more"}).problem(t, 403, "forbidden")
			set(t, admin, member, "member").is(t, 200)
			member.create(t, templates, object{"name": "again"})
		})
		t.Run("a stale revision changes nothing", func(t *testing.T) {
			admin.do(t, "PATCH", members+member.id, object{"role": "viewer"}, `If-Match: "1-x"`).problem(t, 412,
				"revision_mismatch")
		})
		t.Run("with a second owner the first can leave, and their keys end", func(t *testing.T) {
			set(t, owner, admin, "owner").is(t, 200)
			owner.do(t, "DELETE", members+owner.id, nil).is(t, 204)
			owner.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			set(t, admin, owner, "viewer").problem(t, 404, "member_not_found")
			admin.do(t, "DELETE", members+admin.id, nil).problem(t, 403, "role_ceiling") // by a key of before
			full, _ := admin.key(t)
			full.do(t, "DELETE", members+admin.id, nil).problem(t, 409, "last_owner")
		})
		t.Run("the trail tells of it", func(t *testing.T) {
			r.leaves(t, []string{"member.updated", "member.removed", "api_key.revoked"}, owner.email, member.email)
		})
	})
}

func TestWorkspaceDeletion(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		second := r.another(t)
		ann := r.person(t, "ann")
		ws := ann.create(t, "/api/workspaces", object{"name": "Research"}).at("id")
		ann.create(t, "/api/workspaces", object{"name": "Other"})
		key := r.bearer(ann.create(t, "/api/api-keys", object{"name": "laptop"}, "Workspace-Id: "+ws).at("token"))
		template := key.template(t, "kept")
		for _, s := range []*server{r.server, second} {
			key.at(s).get(t, template) // both nodes have seen the key
			ann.at(s).get(t, template, "Workspace-Id: "+ws)
		}
		ann.do(t, "DELETE", "/api/workspaces/"+ws, nil).is(t, 204)
		deletedAt := time.Now()

		t.Run("a deleted workspace is gone at once on the node that deleted it", func(t *testing.T) {
			key.do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			ann.do(t, "GET", template, nil, "Workspace-Id: "+ws).problem(t, 404, "workspace_not_found")
			ann.do(t, "GET", template, nil, "Workspace-Id: research").problem(t, 404, "workspace_not_found")
			for _, method := range []string{"GET", "DELETE"} {
				ann.do(t, method, "/api/workspaces/"+ws, nil).problem(t, 404, "workspace_not_found")
			}
			ann.get(t, "/api/workspaces").has(t, map[string]string{"data.0.slug": "other", "data.1.id": ""})
		})
		t.Run("a deleted workspace is gone on another node within a second", func(t *testing.T) {
			proof.Eventually(t, "it is gone", func() bool {
				return key.at(second).do(t, "GET", "/api/me", nil).status == 401 &&
					ann.at(second).do(t, "GET", template, nil, "Workspace-Id: "+ws).status == 404
			})
			proof.Within(t, "until it was gone on another node", time.Since(deletedAt), 1500*time.Millisecond)
			key.at(second).do(t, "GET", "/api/me", nil).problem(t, 401, "unauthenticated")
			ann.at(second).do(t, "GET", template, nil, "Workspace-Id: "+ws).problem(t, 404, "workspace_not_found")
		})
		t.Run("a deleted workspace keeps its slug while it can be restored", func(t *testing.T) {
			ann.do(t, "POST", "/api/workspaces", object{"name": "Research", "slug": "research"}).problem(t, 409,
				"slug_taken")
		})
		t.Run("restore returns a workspace with its content, and a repeated one changes nothing", func(t *testing.T) {
			for range 2 {
				assert.Contains(t, "it wrote", r.must(t, "workspace", "restore", "research"), ws)
			}
			key.get(t, template).has(t, map[string]string{"name": "kept"})
			proof.Eventually(t, "the other node knows it", func() bool {
				return ann.at(second).do(t, "GET", template, nil, "Workspace-Id: research").status == 200
			})
			ann.at(second).get(t, template, "Workspace-Id: research").has(t, map[string]string{"my_role": "owner"})
		})
		t.Run("restore of an unknown workspace is refused", func(t *testing.T) {
			if got := r.run(t, "workspace", "restore", "nowhere"); got.code != 1 ||
				!strings.Contains(got.stderr, "There is no such workspace") {
				t.Errorf("%+v", got)
			}
		})
		t.Run("the trail tells of it", func(t *testing.T) {
			r.leaves(t, []string{"workspace.deleted", "workspace.restored"}, "ann@example.com")
		})
	})
}
