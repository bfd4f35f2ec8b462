package e2e

import (
	"crypto/ecdsa"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

const (
	onRed  = "Host: red.example.com"
	onBlue = "Host: blue.example.com"
)

// testWorkspace is a workspace of the org red with a template, and a caller for each level of access to it.
type testWorkspace struct {
	*server
	db                  *sql.DB       // its database
	workspace, template string        // ids
	chat                string        // id of a chat template, to which everybody stands as to the template
	embed               *embeddedChat // of a chat that is published
	session             string        // of embed's, which opens nothing but that
	replying            *embeddedChat // of a chat that answers, made when it is needed
	replySession        string        // of replying's
	shop                *shopWarehouse
	issuer              *fixture.Issuer   // of the org; signing up needs an invitation
	provider            *fixture.Provider // the same, at which the guest is signed in
	connection          string            // id of one that the owner made
	source              string            // id of a data source of the owner's, through the connection
	owner, author       *client
	editor              *client
	viewer              *client // of the template
	guest               *client // who signed in
	sessions            *workspaceSessions
	person              string  // id of somebody who does nothing
	deputy              *client // another owner, while there is one
	elsewhere, blue     *client // owners of another workspace, and in another org
	callers             []*testCaller
	refused             map[string]bool   // areas of operations that refused all callers without a valid credential
	reporter            *ecdsa.PrivateKey // whose reports of leaked keys the server believes
}

func newTestWorkspace(t *testing.T, engine string) *testWorkspace {
	t.Helper()
	provider := fixture.NewProvider(t)
	provider.Repeats = true
	issuer := provider.Issuer
	reporter, public := reportKey(t)
	s := start(t, engine, configured(fmt.Sprintf(`
server: {leaked_keys: {public_keys: [{id: here, pem: %[3]q}]}}
orgs:
  - slug: red
    hosts: [red.example.com]
    issuers: [{url: %[1]q, audiences: [atrium], require: [{claim: email_verified, value: "true"}], client: %[4]s}]
    accept_url: https://red.example.com/join/{token}
    registry: {workflows: [{id: hand-over}]}
    egress: {allow: [127.0.0.0/8]}
    %[5]s
    google_consent: {client_id: red.apps.googleusercontent.com, client_secret: secret}
    %[2]s
  - slug: blue
    hosts: [blue.example.com]
    google_consent: {client_id: blue.apps.googleusercontent.com, client_secret: secret}
    egress: {allow: [127.0.0.0/8]}
    %[5]s
    %[2]s
`, issuer.URL, onlyPayments(), public, clientOf(t, provider, "main"), unhurriedWarehouses)), toShops, knowsWebhookKey)
	h := &testWorkspace{server: s, refused: map[string]bool{}, db: s.open(t),
		issuer: issuer, provider: provider, reporter: reporter,
		owner: s.user(t, "owner", "--org", "red"),
		blue:  s.user(t, "owner", "--org", "blue")}
	t.Cleanup(func() { _ = h.db.Close() })
	h.workspace = h.owner.workspace
	h.elsewhere = s.user(t, "owner", "--org", "red", "--workspace", "elsewhere")
	viewer, admin := s.user(t, "viewer", "--org", "red"), s.user(t, "admin", "--org", "red")
	operator := s.user(t, "viewer", "--org", "red", "--operator")
	operates, _ := operator.key(t, "--org", "red", "--role", "owner")
	h.person = s.user(t, "viewer", "--org", "red").id
	member := s.user(t, "member", "--org", "red")
	h.author, h.viewer, h.editor = s.user(t, "member", "--org", "red"), s.user(t, "member", "--org", "red"),
		s.user(t, "member", "--org", "red")
	manager := s.user(t, "member", "--org", "red")

	signedIn := s.user(t, "viewer", "--org", "red")
	claims := issuer.Claims("atrium", time.Now())
	claims["email"] = signedIn.email
	provider.SignIn(object{"email": signedIn.email})
	signedIn.token, h.guest = issuer.Token(claims), signedIn

	cappedItem, _ := h.owner.key(t, "--org", "red", "--role", "viewer")
	cappedAuthor, _ := h.author.key(t, "--org", "red", "--role", "viewer")
	expiredClient, expiredID := h.owner.key(t, "--org", "red", "--expires", "1h")
	s.sql(t, `UPDATE api_keys SET expires_at = 1 WHERE id = '`+expiredID+`'`)
	revokedClient, revokedID := h.owner.key(t, "--org", "red")
	h.owner.do(t, "DELETE", "/api/api-keys/"+revokedID, nil, onRed).is(t, 204)
	// The owner of the workspace, but by a key of another workspace that is theirs.
	second := h.owner.create(t, "/api/workspaces", object{"name": "Second"}, onRed).at("id")
	abroad, _ := (&client{server: s, email: h.owner.email, id: h.owner.id, workspace: second}).key(t, "--org", "red")

	h.embed = h.author.embeds(t, nil, onRed)
	h.session = h.embed.visit(t, fromShop, onRed).is(t, 200).at("session")

	in := h.signIn(t)

	bearing := func(token string) *client { return &client{server: s, token: token} }
	damagedText := h.owner.token[:len(h.owner.token)-1] + "!"
	for _, c := range []*testCaller{
		{name: "nobody", client: s.anonymous(), malformed: true},
		{name: "garbage", client: bearing("garbage"), malformed: true},
		{name: "a damaged key", client: bearing(damagedText), malformed: true},
		{name: "a visitor's session", client: bearing(h.session), malformed: true},
		{name: "an embed token", client: bearing(h.embed.secret), malformed: true},
		{name: "a key that nobody made", client: bearing(account.NewToken().Reveal())},
		{name: "an expired key", client: expiredClient},
		{name: "a revoked key", client: revokedClient},
		{name: "a session without its proof", client: in.noProof},
		{name: "a session with the proof of another", client: in.othersProof},
		{name: "a session's cookie of another port", client: in.otherPort},
		{name: "an expired session", client: in.expired},
		{name: "a session on another org's host", client: in.byLink, host: onBlue},
		{name: "another org's key", client: h.blue},
		{name: "the owner's key on another org's host", client: h.owner, host: onBlue},

		{name: "another org's owner at home", client: h.blue, host: onBlue, known: true, own: identity.Owner},
		{name: "another workspace's owner", client: h.elsewhere, known: true, own: identity.Owner},
		{name: "the owner by another workspace's key", client: abroad, known: true, own: identity.Owner},
		{name: "a viewer", client: viewer, known: true, role: identity.Viewer},
		{name: "a viewer by a session", client: in.byLink, known: true, role: identity.Viewer, jwt: true,
			session: true},
		{name: "the owner by a session of a key", client: in.byKey, known: true, role: identity.Owner,
			template: managing, session: true},
		{name: "a viewer who signed in", client: signedIn, known: true, role: identity.Viewer, jwt: true},
		{name: "an operator", client: operator, known: true, role: identity.Viewer, operator: true},
		{name: "an operator by a key with the full ceiling", client: operates, known: true, role: identity.Viewer,
			operator: true, full: true},
		{name: "the owner by a key for viewing", client: cappedItem, known: true, role: identity.Viewer, viewing: true},
		{name: "the template's owner by a key for viewing", client: cappedAuthor, known: true, role: identity.Viewer,
			viewing: true, template: viewing},
		{name: "a member", client: member, known: true, role: identity.Member},
		{name: "a viewer of the template", client: h.viewer, known: true, role: identity.Member, template: viewing},
		{name: "an editor of the template", client: h.editor, known: true, role: identity.Member, template: editing},
		{name: "a manager of the template", client: manager, known: true, role: identity.Member, template: managing},
		{name: "the template's owner", client: h.author, known: true, role: identity.Member, template: owning},
		{name: "an admin", client: admin, known: true, role: identity.Admin, template: managing},
		{name: "the owner", client: h.owner, known: true, role: identity.Owner, template: managing},
	} {
		if c.host == "" {
			c.host = onRed
		}
		if c.role != identity.NoRole {
			c.own = c.role
		}
		h.callers = append(h.callers, c)
	}
	signedIn.do(t, "GET", "/api/me", nil, onRed).is(t, 200).has(t, map[string]string{"user.id": signedIn.id})
	h.template, h.chat = h.newTemplate(t, manager.id), h.newChat(t, manager.id)
	h.shop = newShop(t)
	h.connection = h.connect(t, h.owner)
	h.source = h.attach(t, h.owner)
	return h
}

// newChat creates a chat template with a member of each role.
func (h *testWorkspace) newChat(t *testing.T, manager string) string {
	t.Helper()
	id := h.author.create(t, chats, object{"name": "chat"}, onRed).at("id")
	for role, user := range map[string]string{"viewer": h.viewer.id, "editor": h.editor.id, "manager": manager} {
		h.author.create(t, chats+"/"+id+"/members", object{"user_id": user, "role": role}, onRed)
	}
	return id
}

// newTemplate creates a template with shares for each level: version 1 is active, 2 frozen, 3 a draft.
func (h *testWorkspace) newTemplate(t *testing.T, manager string) string {
	t.Helper()
	id := h.author.create(t, templates, object{"name": fmt.Sprint("template ", people.Add(1))}, onRed).at("id")
	path := templates + "/" + id
	for role, user := range map[string]string{"viewer": h.viewer.id, "editor": h.editor.id, "manager": manager} {
		h.author.create(t, path+"/shares", object{"user_id": user, "role": role}, onRed)
	}
	h.author.create(t, path+"/versions", object{"text": "one", "labels": []string{"one"}}, onRed)
	h.author.create(t, path+"/versions", object{"text": "two", "labels": []string{"two"}}, onRed)
	h.author.create(t, path+"/versions", object{"text": "three"}, onRed)
	h.author.do(t, "POST", path+"/versions/v1/activate", nil, onRed).is(t, 200)
	return id
}

// connect creates a connection of by.
func (h *testWorkspace) connect(t *testing.T, by *client) string {
	t.Helper()
	return by.create(t, connections, h.shop.connection("secret"), onRed).at("id")
}

// connectionFor returns the connection of the workspace, or an own one of a caller from elsewhere.
func (h *testWorkspace) connectionFor(t *testing.T, c *testCaller) string {
	t.Helper()
	if !c.known || c.role != identity.NoRole {
		return h.connection
	}
	return c.create(t, connections, h.shop.connection("secret"), c.host).at("id")
}

// attach creates a data source of by, with a table of its own.
func (h *testWorkspace) attach(t *testing.T, by *client) string {
	t.Helper()
	return by.create(t, sources, h.shop.people(t, h.connection), onRed).at("id")
}

// disconnect revokes every connection of the workspace and ends its subscription, which would keep it from
// being deleted.
func (h *testWorkspace) disconnect(t *testing.T) {
	t.Helper()
	h.owner.do(t, "DELETE", mine, nil, onRed)
	list := h.owner.get(t, connections, onRed)
	for i, status := range list.each(t, "status") {
		if status != "revoked" {
			h.owner.do(t, "DELETE", connections+"/"+list.each(t, "id")[i], nil, onRed).is(t, 200)
		}
	}
}

// doomed creates a prompt template that is about to be deleted, and doomedChat a chat template.
func (h *testWorkspace) doomed(t *testing.T) string { t.Helper(); return h.newTemplate(t, h.manager()) }

func (h *testWorkspace) doomedChat(t *testing.T) string { t.Helper(); return h.newChat(t, h.manager()) }

func (h *testWorkspace) manager() string {
	for _, c := range h.callers {
		if c.name == "a manager of the template" {
			return c.id
		}
	}
	panic("there is no manager")
}

// program creates a service key, whose user is a member of the workspace.
func (h *testWorkspace) program(t *testing.T, role string) *client {
	t.Helper()
	a := h.owner.create(t, "/api/api-keys", object{"name": "a program", "kind": "service", "role_ceiling": role}, onRed)
	return &client{server: h.server, token: a.at("token"), id: a.at("user_id"), workspace: h.workspace}
}

// invite invites an address to a workspace of by.
func invite(t *testing.T, by *client, workspace, email, role string) (id, token string) {
	t.Helper()
	a := by.do(t, "POST", "/api/workspaces/"+workspace+"/invitations", object{"email": email, "role": role}, onRed)
	if a.status != 201 && a.status != 200 { // 200 renews one that is open
		t.Fatal(a)
	}
	url := a.at("accept_url")
	return a.at("id"), tokenIn(url)
}
