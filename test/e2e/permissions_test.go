package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/atrium-hq/atrium/domain/id"
)

// level is what a caller may do with a template.
type level int

const (
	none level = iota
	viewing
	editing
	managing
	owning
)

// promptAccess is a workspace with a protected and an open template, and one caller per level of access to them.
type promptAccess struct {
	owner, viewer, editor, manager, admin, stranger, foreigner, capped *client

	open, protected string // each with version 1 active, 2 frozen and 3 a draft
}

func newPromptAccess(t *testing.T, s *server) *promptAccess {
	t.Helper()
	l := &promptAccess{
		owner: s.user(t, "member"), viewer: s.user(t, "member"), editor: s.user(t, "member"),
		manager: s.user(t, "member"), admin: s.user(t, "admin"), stranger: s.user(t, "member"),
		foreigner: s.user(t, "owner", "--workspace", "elsewhere"),
	}
	l.capped, _ = l.owner.key(t, "--role", "viewer")
	l.open, l.protected = l.template(t, "open", false), l.template(t, "protected", true)
	return l
}

// template creates a template that is shared with everyone who has a share.
func (l *promptAccess) template(t *testing.T, name string, protected bool) string {
	t.Helper()
	path := templates + "/" + l.owner.create(t, templates, object{"name": name, "protected": protected}).at("id")
	for role, c := range map[string]*client{"viewer": l.viewer, "editor": l.editor, "manager": l.manager} {
		l.owner.create(t, path+"/shares", object{"user_id": c.id, "role": role})
	}
	l.owner.version(t, path, "one")
	l.owner.version(t, path, "two", "two")
	l.owner.version(t, path, "three")
	l.owner.do(t, "POST", path+"/versions/v1/activate", nil).is(t, 200)
	return path
}

// callers call each operation, the weakest first, so that refused calls come before successful ones.
func (l *promptAccess) callers() []caller {
	return []caller{
		{"another workspace's owner", l.foreigner, none}, {"a stranger", l.stranger, none},
		{"a key with a viewer's ceiling", l.capped, viewing},
		{"a viewer", l.viewer, viewing}, {"an editor", l.editor, editing}, {"a manager", l.manager, managing},
		{"a workspace admin", l.admin, managing}, {"the owner", l.owner, owning},
	}
}

type caller struct {
	name string
	*client
	has level
}

// may reports whether the table lets a caller perform an operation. A user that a template was shared with can always
// end their own share.
func (c caller) may(op operation, l *promptAccess) bool {
	return c.has >= op.needs || (op.name == "end a share" && c.client == l.editor)
}

// operation is one row of the table of permissions. If a call uses up its target, make creates a new one before each
// call and returns its path. Other calls go to path below the open template.
type operation struct {
	name         string
	needs        level
	method, path string
	body         any
	make         func(t *testing.T, l *promptAccess) string
	refusal      string // error code for callers who can only view; prompt_template_forbidden if empty
}

const (
	hidden = "prompt_version_not_found" // the error code for viewers of drafts

	toStranger = "transfer to the stranger" // a body that names a user
)

func (l *promptAccess) body(op operation) any {
	if op.body == toStranger {
		return object{"owner_id": l.stranger.id}
	}
	return op.body
}

// operations are the rows in which the required level depends on more than the operation: on the fields that change,
// on the version, or on the caller's own share. TestAuthorization has a row for each operation of the contract, with
// callers of each level.
func operations() []operation {
	number := 0
	fresh := func(text string, labels ...string) func(t *testing.T, l *promptAccess) string {
		return func(t *testing.T, l *promptAccess) string { return l.owner.version(t, l.open, text, labels...) }
	}
	whole := func(t *testing.T, l *promptAccess) string {
		number++
		return l.template(t, fmt.Sprint("to lose ", number), false)
	}
	return []operation{
		{name: "read a draft", needs: editing, method: "GET", path: "/versions/v3", refusal: hidden},
		{name: "render a draft", needs: editing, method: "POST", path: "/render", body: object{"ref": "v3"},
			refusal: hidden},
		{name: "compare with a draft", needs: editing, method: "GET", path: "/versions/two/diff?against=v3",
			refusal: hidden},
		{name: "change a draft", needs: editing, method: "PATCH", path: "/versions/v3", body: object{"text": "y"},
			refusal: hidden},
		{name: "move a label", needs: editing, method: "PATCH", path: "/versions/v1",
			body: object{"labels": []string{"moved"}}},
		{name: "change the commit message of a frozen version", needs: editing, method: "PATCH", path: "/versions/v1",
			body: object{"commit_message": "said"}},

		{name: "change the visibility", needs: managing, method: "PATCH", body: object{"visibility": "private"}},
		{name: "set protected", needs: managing, method: "PATCH", body: object{"protected": false}},
		{name: "delete a frozen version", needs: managing, method: "DELETE", make: fresh("x", "to-delete")},
		{name: "end a share", needs: managing, method: "DELETE", make: func(t *testing.T, l *promptAccess) string {
			path := whole(t, l)
			return path + "/shares/" + l.editor.id
		}},

		{name: "transfer", needs: owning, method: "PATCH", make: whole, body: toStranger},
	}
}

// protectedOperations require a higher level on a protected template.
func protectedOperations() []operation {
	return []operation{
		{name: "activate, protected", needs: managing, method: "POST", path: "/versions/two/activate"},
		{name: "move a label, protected", needs: managing, method: "PATCH", path: "/versions/v1",
			body: object{"labels": []string{"moved"}}},
		{name: "create a labelled version, protected", needs: managing, method: "POST", path: "/versions",
			body: object{"text": "x", "labels": []string{"new"}}},
		{name: "create a version, protected", needs: editing, method: "POST", path: "/versions",
			body: object{"text": "x"}},
	}
}

func TestPermissions(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		l := newPromptAccess(t, s)
		watch := s.user(t, "owner")
		latest := func(t *testing.T) string { return watch.latestChange(t) }

		check := func(t *testing.T, op operation, template string) {
			path := template + op.path
			if op.make != nil {
				path = op.make(t, l)
			}
			before := latest(t)
			for _, c := range l.callers() {
				if c.may(op, l) {
					continue
				}
				want := "prompt_template_forbidden"
				switch {
				case c.has == none:
					want = "prompt_template_not_found"
				case c.has == viewing && op.refusal != "":
					want = op.refusal
				}
				if a := c.do(t, op.method, l.fill(path), l.body(op)); a.at("code") != want {
					t.Errorf("%s: %s\nwant %s", c.name, a, want)
				}
			}
			if latest(t) != before {
				t.Errorf("who was refused left an event: %s", watch.get(t, "/api/events?limit=1"))
			}
			for _, c := range l.callers() {
				if !c.may(op, l) {
					continue
				}
				if op.make != nil {
					path = op.make(t, l)
				}
				if a := c.do(t, op.method, l.fill(path), l.body(op)); a.status >= 300 {
					t.Errorf("%s: %s", c.name, a)
				}
			}
		}
		for _, op := range operations() {
			t.Run(op.name, func(t *testing.T) { check(t, op, l.open) })
		}
		for _, op := range protectedOperations() {
			t.Run(op.name, func(t *testing.T) { check(t, op, l.protected) })
		}
		t.Run("restore requires the owner or a workspace admin", func(t *testing.T) {
			path := l.template(t, "to restore", false)
			for _, c := range l.callers() {
				l.owner.do(t, "DELETE", path, nil).is(t, 204)
				before := latest(t)
				if a := c.do(t, "POST", path+"/restore", nil); c.client == l.owner || c.client == l.admin {
					a.is(t, 200)
					continue
				} else if a.at("code") != "prompt_template_not_found" || latest(t) != before {
					t.Errorf("%s: %s\nwant prompt_template_not_found, and no event", c.name, a)
				}
				l.owner.do(t, "POST", path+"/restore", nil).is(t, 200)
			}
		})
		t.Run("resolve returns for each reference the same as a single call", func(t *testing.T) {
			refs := object{"refs": []object{{"prompt_template_id": l.open[len(templates)+1:], "ref": "v1"},
				{"prompt_template_id": l.open[len(templates)+1:], "ref": "v3"}}}
			for _, c := range l.callers() {
				a := c.do(t, "POST", templates+"/resolve", refs).is(t, 200)
				frozen, draft := "", ""
				switch c.has {
				case none:
					frozen, draft = "prompt_template_not_found", "prompt_template_not_found"
				case viewing:
					draft = hidden
				}
				a.has(t, map[string]string{"data.0.error.code": frozen, "data.1.error.code": draft})
			}
		})
		t.Run("a caller cannot grant more than they have, or anything with a read-only key", func(t *testing.T) {
			path := l.template(t, "ceilings", false)
			l.manager.do(t, "PATCH", path+"/shares/"+l.viewer.id, object{"role": "manager"}).is(t, 200)
			l.manager.do(t, "PATCH", path, object{"owner_id": l.manager.id}).problem(t, 403,
				"prompt_template_forbidden")
			l.capped.do(t, "DELETE", path+"/shares/"+l.viewer.id, nil).problem(t, 403, "prompt_template_forbidden")
			key, _ := l.viewer.key(t, "--role", "viewer")
			key.do(t, "DELETE", path+"/shares/"+l.viewer.id, nil).problem(t, 403, "prompt_template_forbidden")
		})
		t.Run("a viewer cannot create anything", func(t *testing.T) {
			s.user(t, "viewer").do(t, "POST", templates, object{"name": "mine"}).problem(t, 403, "forbidden")
			l.capped.do(t, "POST", templates, object{"name": "mine"}).problem(t, 403, "forbidden")
			l.capped.do(t, "PATCH", "/api/me", object{"name": "Me"}).problem(t, 403, "forbidden")
		})
		t.Run("hidden and missing things get identical responses", func(t *testing.T) {
			absent := templates + "/" + id.New("ptpl")
			for _, op := range append(operations(), operation{name: "restore", method: "POST", path: "/restore"}) {
				path, body := op.path, l.body(op)
				switch op.name {
				case "delete a frozen version":
					path = "/versions/v3"
				case "end a share":
					path = "/shares/{viewer}"
				}
				for _, who := range []*client{l.stranger, l.foreigner} {
					same(t, op.name, who.do(t, op.method, l.fill(l.open+path), body, "Request-Id: same"),
						who.do(t, op.method, l.fill(absent+path), body, "Request-Id: same"))
				}
			}
		})
		t.Run("malformed and absent identifiers get the same response", func(t *testing.T) {
			absent := l.stranger.do(t, "GET", templates+"/"+id.New("ptpl"), nil, "Request-Id: same")
			for _, bad := range []string{"x", id.New("pver"), id.New("ptpl") + "0", "PTPL_01jb4rqnx1f3v9c3k3m6zt8n5e",
				"ptpl_81jb4rqnx1f3v9c3k3m6zt8n5e", "%00", "ptpl_%ff", "..", "%2e%2e", "*", "'%20or%201=1--"} {
				if bad == ".." {
					continue // clients resolve it themselves
				}
				same(t, bad, l.stranger.do(t, "GET", templates+"/"+bad, nil, "Request-Id: same"), absent)
			}
		})
		t.Run("keys of others are hidden, except from admins", func(t *testing.T) {
			_, key := l.owner.key(t)
			absent := "/api/api-keys/" + id.New("key")
			for _, who := range []*client{l.stranger, l.foreigner} {
				same(t, "get", who.do(t, "GET", "/api/api-keys/"+key, nil, "Request-Id: same"),
					who.do(t, "GET", absent, nil, "Request-Id: same"))
				same(t, "revoke", who.do(t, "DELETE", "/api/api-keys/"+key, nil, "Request-Id: same"),
					who.do(t, "DELETE", absent, nil, "Request-Id: same"))
			}
			l.capped.do(t, "DELETE", "/api/api-keys/"+key, nil).problem(t, 403, "forbidden")
			l.admin.get(t, "/api/api-keys/"+key)
			l.admin.do(t, "DELETE", "/api/api-keys/"+key, nil).is(t, 204)
			l.admin.get(t, "/api/api-keys/"+key).has(t, map[string]string{"status": "revoked"})
		})
		t.Run("people read the events of what they see, in their own workspace", func(t *testing.T) {
			private := "&subject=" + l.open[len(templates)+1:]
			if seen := l.stranger.events(t, private); len(seen) != 0 {
				t.Errorf("a stranger reads %v", seen)
			}
			if seen := l.owner.events(t, private); len(seen) == 0 {
				t.Error("the owner of a template reads nothing of it")
			}
			if seen := l.foreigner.events(t, "&subject="+l.open[len(templates)+1:]); len(seen) != 0 {
				t.Errorf("another workspace reads %v", seen)
			}
		})
	})
}

// fill inserts users into a path.
func (l *promptAccess) fill(path string) string {
	const place = "{viewer}"
	if n := len(path) - len(place); n >= 0 && path[n:] == place {
		return path[:n] + l.viewer.id
	}
	return path
}

// same expects that two responses are indistinguishable.
func same(t *testing.T, what string, a, b *answer) {
	t.Helper()
	if a.status < 400 || a.status != b.status || a.text != b.text {
		t.Errorf("%s: not the same:\n%s\n%s", what, a, b)
	}
	for _, h := range []http.Header{a.header, b.header} {
		for _, changing := range []string{"Date", "Ratelimit"} {
			h.Del(changing)
		}
	}
	if !maps.EqualFunc(a.header, b.header, func(x, y []string) bool { return fmt.Sprint(x) == fmt.Sprint(y) }) {
		t.Errorf("%s: the headers are not the same:\n%v\n%v", what, a.header, b.header)
	}
}
