package e2e

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/conformance"
)

// testCaller is a caller of the authorization table, with its permissions in the workspace.
type testCaller struct {
	name string
	*client
	host     string
	known    bool          // the credential is valid on host
	role     identity.Role // in the workspace, limited by the key's ceiling; NoRole outside
	own      identity.Role // in the workspace of a request that does not name one
	template level         // access to the template of the workspace
	viewing  bool          // the key's ceiling is viewer
	jwt      bool          // signed in, without a key
	session  bool          // by a session
	operator bool          // of the org
	full     bool          // the key's ceiling is owner

	malformed bool // the credential is missing, or no key's: no store is asked about it
}

func (c *testCaller) call(t *testing.T, op *openapi.Operation, position target) *answer {
	t.Helper()
	method := op.Method
	if isStream(op) && expected(op, c) == 200 {
		method = "HEAD" // the same response as GET, but it ends
	}
	return c.callBy(t, method, op, position)
}

func (c *testCaller) callBy(t *testing.T, method string, op *openapi.Operation, position target) *answer {
	t.Helper()
	path := op.Path
	for _, id := range position.ids {
		begin, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:begin] + id + path[end+1:]
	}
	// Responses name the request, and are compared. testNothingRecorded finds events by it.
	return c.do(t, method, path+position.query, position.body, append(position.headers, c.host, c.chooses(),
		"Request-Id: "+cmp.Or(position.request, "allowed"))...)
}

// chooses returns the header with which a signed-in user selects the workspace, because they have several workspaces.
func (c *testCaller) chooses() string {
	if !c.jwt {
		return "Workspace-Id:"
	}
	return "Workspace-Id: " + c.workspace
}

// expected returns the status of an operation for a caller, according to openapi.yaml. 200 means any success.
func expected(op *openapi.Operation, c *testCaller) int {
	role := c.role
	if !strings.Contains(op.Path, "{") { // it is in the caller's own workspace
		role = c.own
	}
	for _, e := range exceptions {
		if op.Access.Area == "public" && e.operation == op.ID && e.who(c) {
			return e.status
		}
	}
	switch {
	case op.Access.Area == "public":
		return 200
	// for every caller: the target carries an embed token or a session of red
	case op.Access.Area == "embed" && c.host == onRed:
		return 200
	case op.Access.Area == "embed":
		return 401
	}
	if op.Access.Area == "anyone" && (c.known || (c.token == "" && c.proof == "")) {
		return 200
	}
	if !c.known {
		return 401
	}
	for _, e := range exceptions {
		if e.operation == op.ID && e.who(c) {
			return e.status
		}
	}
	switch existing, needs := c.template, templateLevels[op.Access.Needs]; {
	case op.Access.Area == "operator" && c.operator && c.full:
		return 200
	case op.Access.Area == "operator":
		return 403
	case op.Access.Area == "self", op.Access.Area == "presence" && c.operator:
		return 200
	case op.Access.Area == "presence" && op.Access.Needs == "owner": // the targets belong to others
		return 404
	case role == identity.NoRole:
		return 404
	case op.Access.Area == "workspace" && role < identity.ParseRole(op.Access.Needs):
		return 403
	case onTemplate(op) && existing == none:
		return 404
	case onTemplate(op) && existing < needs:
		return 403
	}
	return 200
}

// onTemplate reports whether an operation is on a prompt template or a chat template. Callers have the same access to
// both templates of the workspace.
func onTemplate(op *openapi.Operation) bool {
	return op.Access.Area == "prompt_template" || op.Access.Area == "chat_template"
}

var templateLevels = map[string]level{"viewer": viewing, "editor": editing, "manager": managing, "owner": owning}

// belowAdmin reports whether a caller is in the workspace, with a lower role than that of an admin.
func belowAdmin(c *testCaller) bool { return c.role != identity.NoRole && c.role < identity.Admin }

// exceptions are what openapi.yaml does not say. The first match applies.
var exceptions = []struct {
	operation string
	who       func(*testCaller) bool
	status    int
	reason    string
}{
	{"beginSignIn", func(c *testCaller) bool { return c.host == onBlue }, 404, "blue has no provider"},
	{"finishSignIn", func(c *testCaller) bool { return c.host == onBlue }, 400, "as beginSignIn"},
	{"receiveLogout", func(c *testCaller) bool { return c.host == onBlue }, 400, "as beginSignIn"},
	{"createWorkspace", func(c *testCaller) bool { return c.jwt }, 200,
		"everyone who signs in may begin a workspace; a key stands for one that there is"},
	{"updateMe", func(c *testCaller) bool { return c.viewing }, 403,
		"a key for viewing changes nothing, not even its bearer"},
	{"createAPIKey", func(c *testCaller) bool { return c.viewing }, 403, "a key for viewing makes no other"},
	{"revokeAPIKey", func(c *testCaller) bool { return c.viewing && c.role != identity.NoRole }, 403,
		"a key for viewing ends none"},
	{"rotateAPIKey", func(c *testCaller) bool { return c.viewing && c.role != identity.NoRole }, 403,
		"nor does it put another in the place of one"},
	{"sendHeartbeat", func(c *testCaller) bool { return c.viewing }, 403,
		"a key for viewing claims nothing for its bearer, not even that they are there"},
	{"exportMe", func(c *testCaller) bool { return !c.jwt }, 403, "a key belongs to one workspace, the export is about all"},
	{"getMyAccess", func(c *testCaller) bool { return !c.jwt }, 403, "as exportMe"},
	{"getPromptFolderShare", belowAdmin, 404, "only its user and who manages the folder know of it"},
	{"updatePromptFolderShare", belowAdmin, 404, "as getPromptFolderShare"},
	{"deletePromptFolderShare", belowAdmin, 404, "as getPromptFolderShare"},
	{"endOwnSession", func(c *testCaller) bool { return !c.session }, 409, "there is no session to end"},
	{"getStepUpOptions", withoutOwnSession, 403, "a passkey has no limits of a key, so it belongs to a person's session"},
	{"stepUp", withoutOwnSession, 403, "as getStepUpOptions"},
	{"getPasskeyCreationOptions", withoutOwnSession, 403, "as getStepUpOptions"},
	{"listPasskeys", withoutOwnSession, 403, "as getStepUpOptions"},
	{"addPasskey", withoutOwnSession, 403, "as getStepUpOptions"},
	{"getPasskey", withoutOwnSession, 403, "as getStepUpOptions"},
	{"renamePasskey", withoutOwnSession, 403, "as getStepUpOptions"},
	{"removePasskey", withoutOwnSession, 403, "as getStepUpOptions"},
	{"requestConnectionConsent", func(c *testCaller) bool { return !c.session }, 403,
		"a person gives consent in a browser"},
	{"acceptInvitation", func(c *testCaller) bool { return c.host == onBlue }, 409,
		"where no issuer is configured nobody can prove an address"},
	{"acceptInvitation", func(c *testCaller) bool { return !c.jwt }, 403, "a key proves no address: anybody may hold it"},
	{"deletePromptVersion", func(c *testCaller) bool { return c.template == viewing }, 404,
		"a draft is hidden from those who may only view"},
	{"copyPromptTemplate", func(c *testCaller) bool {
		return c.template > none && c.role != identity.NoRole && (c.viewing || c.role < identity.Member)
	}, 403, "who sees a template may copy it, but a copy is a new template"},
	{"copyChatTemplate", func(c *testCaller) bool {
		return c.template > viewing && c.role != identity.NoRole && c.role < identity.Member
	}, 403, "as of prompt templates"},
	{"restorePromptTemplate", func(c *testCaller) bool { return c.role >= identity.Admin }, 200,
		"admins of the workspace may bring back what others deleted"},
	{"restorePromptTemplate", func(c *testCaller) bool { return c.template < owning }, 404,
		"what is deleted is hidden from those who could not bring it back"},
	{"verifyEmbedSession", func(c *testCaller) bool { return c.known && c.role == identity.NoRole }, 404,
		"a session is verified in the workspace of its chat"},
	{"restoreChatTemplate", func(c *testCaller) bool { return c.role >= identity.Admin }, 200, "as of prompt templates"},
	{"restoreChatTemplate", func(c *testCaller) bool { return c.template < owning }, 404, "as of prompt templates"},
}

func TestAuthorization(t *testing.T) {
	contract := conformance.Contract(t)
	var existing []string
	for _, op := range contract.Operations() {
		existing = append(existing, op.ID)
	}
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		if !slices.Contains(existing, name) {
			t.Errorf("there is an example of %s, which is no operation", name)
		}
	}
	for _, e := range exceptions {
		if !slices.Contains(existing, e.operation) || e.reason == "" {
			t.Errorf("the exception %+v is of no operation, or for no reason", e)
		}
	}
	onEach(t, func(t *testing.T, engine string) {
		h := newTestWorkspace(t, engine)
		goneTexts := h.deletedThings(t)
		for _, op := range contract.Operations() {
			t.Run(op.ID, func(t *testing.T) {
				example, ok := exampleOf(t, op)
				if !ok || op.Access.Area == "" {
					t.Fatal("every operation needs an x-access in openapi.yaml and an example request, in it or here")
				}
				h.refuses(t, op, example)
				h.hidesDeleted(t, op, example, goneTexts)
				if engine == sqlite { // the check reads nothing that depends on the engine
					h.testScopes(t, op, example)
				}
				for _, c := range h.callers {
					if expected(op, c) != 200 {
						continue
					}
					if a := c.call(t, op, example.make(t, h, c)); a.status >= 300 && a.status != example.answers {
						t.Errorf("%s may: %s", c.name, a)
					}
					if example.after != nil {
						example.after(t, h)
					}
				}
			})
		}
		h.testOwnThings(t)
		h.testNothingRecorded(t)
	})
}

// refuses expects that every caller without the permission is refused, and that hidden targets get the same response as
// absent ones. On PostgreSQL it leaves out what is refused before the database is asked, and shows credentials that no
// operation accepts only to the first one of each area, and to the read of a version, whose statement finds the caller
// too: how a store finds a caller depends on nothing else of an operation.
func (h *testWorkspace) refuses(t *testing.T, op *openapi.Operation, example example) {
	t.Helper()
	positions := map[*testCaller]target{}
	var first *target
	ownStatement := op.Access.Area == "embed" || op.ID == "getPromptVersion"
	seen := h.database != "" && !ownStatement && h.refused[op.Access.Area]
	h.refused[op.Access.Area] = true
	for _, c := range h.callers {
		switch {
		case expected(op, c) == 200, c.malformed && h.database != "", !c.known && seen:
			continue
		case example.each || first == nil:
			newTarget := example.make(t, h, c)
			newTarget.request = refused + op.ID
			first = &newTarget
		}
		positions[c] = *first
	}
	for _, c := range h.callers {
		if _, isRefused := positions[c]; !isRefused {
			continue
		}
		a, want := c.call(t, op, positions[c]), expected(op, c)
		if a.status != want || a.at("code") == "not_found" {
			t.Errorf("%s: %s\nwant %d", c.name, a, want)
		}
		if a.status == 404 {
			everything := c.role == identity.NoRole || (onTemplate(op) && c.template == none)
			for name, other := range positions[c].absent(everything, h.database == "") {
				same(t, c.name+", "+name, a, c.call(t, op, other))
			}
		}
	}
}

// absent returns targets like this one that do not exist. All ids are replaced if the first thing on the path is hidden
// too. There are none if the path has no ids.
func (position target) absent(everything, isMalformed bool) map[string]target {
	if len(position.ids) == 0 {
		return nil
	}
	last := len(position.ids) - 1
	out := map[string]target{"an absent one": position.but(last, id.New(kind(position.ids[last])))}
	if everything && last > 0 {
		out["in an absent one"] = position.but(0, id.New(kind(position.ids[0])))
	}
	if isMalformed {
		out["a malformed one"] = position.but(last, "x")
	}
	if isMalformed && everything && last > 0 {
		out["in a malformed one"] = position.but(0, "x")
	}
	return out
}

func (position target) but(i int, id string) target {
	position.ids = slices.Clone(position.ids)
	position.ids[i] = id
	return position
}

// kind returns the prefix of an identifier. Versions can also be named.
func kind(owner string) string {
	prefix, _, ok := strings.Cut(owner, "_")
	if !ok {
		return "pver"
	}
	return prefix
}
