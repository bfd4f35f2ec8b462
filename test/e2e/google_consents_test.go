package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	consents    = connections + "/consents"
	sheetsScope = "https://www.googleapis.com/auth/spreadsheets.readonly"
)

// consentingTo starts a server whose org has an OAuth client at a fake of Google.
func consentingTo(t *testing.T, engine string, g *fixture.Google) *server {
	t.Helper()
	port := freePort(t)
	g.Consents.RedirectURIs = []string{"http://127.0.0.1:" + port + "/console/consent"}
	d := deployMigrated(t, engine, toShops, func(d *deployment) { d.env = append(d.env, g.Instead(t)...) },
		configured(fmt.Sprintf(`orgs:
  - slug: default
    base_url: http://127.0.0.1:%s
    google_consent: {client_id: %q, client_secret: %q}
`, port, g.Consents.ClientID, g.Consents.ClientSecret)))
	s := d.spawn(t, d.command("serve", "--addr", "127.0.0.1:"+port))
	s.url = s.stdout.await(t, s, greeting)[1]
	return s
}

// consents gives the consent of a person at Google, and returns what the browser brings back.
func (c *client) consents(t *testing.T, g *fixture.Google, email string, scopes ...string) object {
	t.Helper()
	targetURL := c.do(t, "POST", consents, object{"kind": "google_sheets"}).is(t, 200).at("authorization_url")
	reply := g.Decide(t, targetURL, email, scopes...)
	require.Equal(t, "sent back to", reply.Scheme+"://"+reply.Host+reply.Path, c.server.url+"/console/consent")
	return object{"state": reply.Query().Get("state"), "code": reply.Query().Get("code")}
}

func consented(extra object) object { return object{"kind": "google_sheets", "consent": extra} }

func TestConsentsToGoogleSheets(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		g := fixture.NewGoogle(t)
		s := consentingTo(t, engine, g)
		ann, peer := s.user(t, "member"), s.user(t, "member")
		in, _ := s.opens(t, s.link(t, ann.email))
		other, _ := s.opens(t, s.link(t, ann.email))
		colleague, _ := s.opens(t, s.link(t, peer.email))
		sheet := staff(g)
		g.Consents.Share(sheet["location"].(object)["url"].(string), "ada@example.com")

		t.Run("only a session of a member requests a consent", func(t *testing.T) {
			viewer := s.user(t, "viewer")
			watching, _ := s.opens(t, s.link(t, viewer.email))
			ann.do(t, "POST", consents, object{"kind": "google_sheets"}).problem(t, 403, "session_required")
			watching.do(t, "POST", consents, object{"kind": "google_sheets"}).problem(t, 403, "connection_forbidden")
			in.do(t, "POST", consents, object{"kind": "postgres"}).problem(t, 403, "consent_not_offered")
		})
		input := in.consents(t, g, "ada@example.com", sheetsScope)
		t.Run("a dry run refuses a consent and does not use it up", func(t *testing.T) {
			in.do(t, "POST", connections+"?dry_run=true", consented(input)).problem(t, 422, "invalid_fields")
		})
		t.Run("a consent is of no use elsewhere", func(t *testing.T) {
			for name, a := range map[string]*answer{
				"in another session of the person": other.do(t, "POST", connections, consented(input)),
				"in the session of a colleague":    colleague.do(t, "POST", connections, consented(input)),
			} {
				t.Log(name)
				a.problem(t, 422, "consent_invalid")
			}
			ann.do(t, "POST", connections, consented(input)).problem(t, 403, "session_required")
		})
		t.Run("the code of another person's consent is refused by its verifier", func(t *testing.T) {
			stolen := colleague.consents(t, g, "victim@example.com", sheetsScope)
			ownValues := in.consents(t, g, "ada@example.com", sheetsScope)
			in.do(t, "POST", connections, consented(object{"state": ownValues["state"], "code": stolen["code"]})).
				problem(t, 422, "consent_invalid")
			if said := g.Consents.Refusals(); len(said) != 1 || said[0] != "invalid_grant" {
				t.Errorf("Google refused %q", said)
			}
		})
		t.Run("a consent without the permission to see spreadsheets is refused", func(t *testing.T) {
			in.do(t, "POST", connections, consented(in.consents(t, g, "ada@example.com"))).
				problem(t, 422, "consent_incomplete")
		})
		response := in.do(t, "POST", connections, consented(input)).is(t, 201).has(t, map[string]string{
			"status": "active", "config.google_account": "ada@example.com", "secret.set": `["refresh_token"]`,
			"name": "Google Sheets",
		})
		id := response.at("id")
		t.Run("a consent works once", func(t *testing.T) {
			in.do(t, "POST", connections, consented(input)).problem(t, 422, "consent_invalid")
		})
		t.Run("a source reads what the person may read", func(t *testing.T) {
			source := ann.create(t, sources, sheet).at("id")
			refreshed(t, ann, source).has(t, map[string]string{"failure": "null"})
			ann.get(t, connections+"/"+id).has(t, map[string]string{"sources.0.id": source})
			url := staff(g)["location"].(object)["url"].(string)
			ann.do(t, "GET", sources+"/sheet-preview?url="+url, nil).problem(t, 403, "sheet_not_shared")
		})
		t.Run("a consent that the person ended at Google fails until a new one", func(t *testing.T) {
			g.Consents.Forget("ada@example.com")
			ann.do(t, "POST", connections+"/"+id+"/verify", object{}).is(t, 200).has(t, map[string]string{
				"failure.code": "consent_ended", "failure.fields": "[]", "failure.retryable": "false"})
			url := staff(g)["location"].(object)["url"].(string)
			ann.do(t, "GET", sources+"/sheet-preview?url="+url, nil).problem(t, 403, "consent_ended")
			second := in.consents(t, g, "ada@example.com", sheetsScope)
			in.do(t, "POST", connections+"/"+id+"/verify", object{"consent": second}).is(t, 200).has(t,
				map[string]string{"status": "active", "failure": "null"})
		})
		t.Run("a revocation ends the consent at Google, and says so", func(t *testing.T) {
			if live, _ := g.Consents.Live(); live == 0 {
				t.Fatal("there is no consent")
			}
			ann.do(t, "DELETE", connections+"/"+id, nil).is(t, 200).has(t, map[string]string{
				"connection.status": "revoked", "consent_withdrawn": "true"})
			if live, revokedCount := g.Consents.Live(); live != 0 || revokedCount != 1 {
				t.Errorf("%d consents, %d revocations", live, revokedCount)
			}
		})
		t.Run("a revocation that does not reach Google revokes the connection, and says so", func(t *testing.T) {
			unreachedID := in.do(t, "POST", connections, consented(in.consents(t, g, "ada@example.com", sheetsScope))).
				is(t, 201).at("id")
			g.Consents.Down(true)
			ann.do(t, "DELETE", connections+"/"+unreachedID, nil).is(t, 200).has(t, map[string]string{
				"connection.status": "revoked", "consent_withdrawn": "false"})
			ann.do(t, "POST", connections+"/"+unreachedID+"/verify", object{}).problem(t, 409, "connection_revoked")
			g.Consents.Down(false)
			account := ann.create(t, connections, googleAccount(g)).at("id")
			ann.do(t, "DELETE", connections+"/"+account, nil).is(t, 200).has(t, map[string]string{
				"consent_withdrawn": "null"})
		})
		t.Run("a consent is of no use in another workspace", func(t *testing.T) {
			values := in.consents(t, g, "ada@example.com", sheetsScope)
			second := in.create(t, "/api/workspaces", object{"name": "Second", "slug": "second"}).at("id")
			in.do(t, "POST", connections, consented(values), "Workspace-Id: "+second).problem(t, 422, "consent_invalid")
		})
		keptText := s.dump(t)
		s.stop(t)
		for _, canary := range []string{fixture.GoogleCode, fixture.GoogleRefresh, fixture.GoogleAccess,
			g.Consents.ClientSecret, "canary of what Google says", url.QueryEscape(fixture.GoogleCode)} {
			if strings.Contains(s.stderr.String()+keptText, canary) {
				t.Errorf("the log or the database has %q", canary)
			}
		}
	})
}
