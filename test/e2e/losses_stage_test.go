package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// lossStage is an org on two nodes. Roles are lost at one, and seen to be lost at the other.
type lossStage struct {
	nearServer, far *server
	owner, scimmer  *client
	google          *fixture.Google
	answers         *replies
	stalled         object // a credential whose probe never ends
	contract        *openapi.Contract
}

func newLossStage(t *testing.T, issuer *fixture.Issuer) *lossStage {
	t.Helper()
	token := filepath.Join(t.TempDir(), "scim-token")
	require.NoError(t, os.WriteFile(token, []byte(directoryToken+"\n"), 0o600))
	s := &lossStage{google: fixture.NewGoogle(t), answers: newReplies(t, nil), contract: must(openapi.Load())}
	port := freePort(t)
	s.google.Consents.RedirectURIs = []string{"http://127.0.0.1:" + port + "/console/consent"}
	text := fmt.Sprintf(`orgs:
  - slug: default
    base_url: http://127.0.0.1:%s
    google_consent: {client_id: %q, client_secret: %q}
    egress: {allow: [127.0.0.0/8]}
    sign_up: open
    %s
    scim: {tokens: ["file:%s"], email_domains: [directory.test]}
    claim_rules:
      - {issuer: scim, claim: groups, value: Admins, workspace: default, role: admin}
`, port, s.google.Consents.ClientID, s.google.Consents.ClientSecret, unhurriedWarehouses, token)
	if issuer != nil {
		text += fmt.Sprintf(`      - {issuer: %q, claim: groups, value: admins, workspace: default, role: admin}
    issuers: [{url: %[1]q, audiences: [atrium]}]
    accept_url: https://app.example.com/join/{token}
`, issuer.URL)
	}
	d := deployMigrated(t, postgres, toShops, func(d *deployment) { d.env = append(d.env, s.google.Instead(t)...) },
		configured(text), set("server.rate_limit.sign_ins_per_minute", "1000"),
		set("server.rate_limit.sign_in_flows_per_minute", "1000"))
	s.nearServer = d.start(t)
	s.far = d.spawn(t, d.command("serve", "--addr", "127.0.0.1:"+port))
	s.far.url = s.far.stdout.await(t, s.far, greeting)[1]
	s.owner = s.nearServer.user(t, "owner", "--operator")
	s.scimmer = &client{server: s.nearServer, token: directoryToken}
	s.scimmer.do(t, "POST", scimGroup, object{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:Group"},
		"displayName": "Admins"}).is(t, 201)
	stalledWarehouse, proxy := newShop(t).through(t)
	proxy.Swallow(true)
	s.stalled = stalledWarehouse.connection(fixture.Canary)
	return s
}

// stake is what a person has made with a role.
type stake struct {
	*lossStage
	*client
	inWorkspace string // the header
	power       string // the path that needs the role
	credentials map[string]*client
	streams     map[string]*liveStream
	webhook     string
	endpoint    string
	chat        *embeddedChat
	request     string // of the activation
	consent     string // the connection
}

// bets makes everything that a person with a role can make.
func (s *lossStage) bets(t *testing.T, c *client, power, role string, hasPasskeys bool) *stake {
	t.Helper()
	k := &stake{lossStage: s, client: c, inWorkspace: "Workspace-Id: " + c.workspace, power: power,
		credentials: map[string]*client{}, streams: map[string]*liveStream{}}
	key := c.create(t, apiKeys, object{"name": "own"}, k.inWorkspace)
	k.credentials["API key"] = (&client{token: key.at("token"), workspace: c.workspace}).at(s.far)
	host := s.far.onLocalhost()
	in, _ := s.far.opens(t, s.far.link(t, c.email))
	in.workspace = c.workspace
	k.credentials["session"] = in
	if hasPasskeys {
		device := s.far.authenticator(t)
		other, _ := s.far.opens(t, s.far.link(t, c.email), host)
		other.addsPasskey(t, device, "Laptop", host)
		byPasskey, _ := s.far.signsIn(t, device, host).session(t, s.far)
		byPasskey.host = strings.TrimPrefix(host, "Host: ")
		byPasskey.workspace = c.workspace
		k.credentials["session by a passkey"] = byPasskey
	}
	stage := (*streamStage)(nil)
	presence, _ := s.contract.Operation("GET", "/api/presence/stream")
	k.streams["other stream"] = stage.begin(t, in, presence,
		streamCase{path: presence.Path, accept: "text/event-stream"})
	if role == "" {
		return k
	}
	program, _ := c.service(t, role)
	k.credentials["service key"] = program.at(s.far)
	probe, _ := s.contract.Operation("POST", connections)
	k.streams["stream that needs the role"] = stage.begin(t, in, probe, streamCase{method: "POST", path: connections,
		accept: "text/event-stream", body: s.stalled})
	k.webhook = "/api/webhooks/" + c.create(t, "/api/webhooks",
		object{"url": "https://app.example.com/hook", "events": []string{"group.*"}}, k.inWorkspace).at("id")
	k.chat = c.replying(t, s.answers, nil)
	k.endpoint = connections + "/" + c.get(t, k.chat.template).at("reply.connection_id")
	approval := in.consents(t, s.google, "ada@example.com", sheetsScope)
	k.consent = connections + "/" + in.create(t, connections, consented(approval), k.inWorkspace).at("id")
	return k
}

// released creates a template with a version that can be activated, which admins may do.
func (s *lossStage) released(t *testing.T, by *client, name string) string {
	t.Helper()
	template := templates + "/" + by.create(t, templates, object{"name": name,
		"version": object{"text": "one", "activate": true}}).at("id")
	by.create(t, template+"/versions", object{"text": "two"})
	return template
}

// schedules has the person schedule an activation.
func (k *stake) schedules(t *testing.T, template string) {
	t.Helper()
	k.request = template + "/activation-requests/" + k.client.do(t, "POST", template+"/versions/v2/activate",
		object{"activate_at": fromNow(time.Hour)}, k.inWorkspace).is(t, 202).at("activation_request.id")
}

// does reports what a credential can do.
func (k *stake) does(t *testing.T, c *client) string {
	t.Helper()
	switch status := c.do(t, "GET", k.power, nil, k.inWorkspace).status; status {
	case 200:
		return itGoesOn
	case 401:
		return itEnds
	case 400, 403, 404:
		return itIsLower
	default:
		return fmt.Sprint("gets ", status)
	}
}

// becomes reports what has become of what the person made. It returns what was expected as soon as that is so.
func (k *stake) becomes(t *testing.T, thing, want string, begin time.Time) {
	t.Helper()
	if c := k.credentials[thing]; c != nil {
		if want == itPauses {
			want = itEnds
		}
		proof.Await(t, thing, func() string { return k.does(t, c) }, func(got string) bool { return got == want })
		proof.Within(t, thing, time.Since(begin), 1100*time.Millisecond) // a tenth for the polling
		return
	}
	if stream := k.streams[thing]; stream != nil {
		if want == itEnds {
			stream.ends(t, k.far, begin)
		} else {
			stream.goesOn(t)
		}
		return
	}
	got := isNone
	switch owner := k.owner.at(k.far); thing {
	case "webhook", "reply endpoint":
		if path := map[string]string{"webhook": k.webhook, "reply endpoint": k.endpoint}[thing]; path != "" {
			got = map[string]string{"true": isOwnerless, "false": itGoesOn}[owner.get(t, path).at("ownerless")]
		}
	case "embed token":
		visitor := k.far.anonymous()
		if k.chat != nil && visitor.do(t, "POST", sessions, object{"token": k.chat.secret}, fromShop).status == 200 {
			got = itGoesOn
		}
	case "scheduled activation":
		got = k.isActivated(t)
	case "directory token":
		if k.scimmer.at(k.far).do(t, "GET", scimUsers+"?count=1", nil).status == 200 {
			got = itGoesOn
		}
	case "consent to Google Sheets":
		if k.consent != "" {
			a := owner.do(t, "POST", k.consent+"/verify", object{})
			got = map[string]string{"active": itGoesOn}[a.at("status")]
		}
	}
	if got != want {
		t.Errorf("%s: %q, want %q", thing, got, want)
	}
}

// isActivated makes the activation due.
func (k *stake) isActivated(t *testing.T) string {
	t.Helper()
	id := k.request[strings.LastIndexByte(k.request, '/')+1:]
	k.nearServer.sql(t, `UPDATE prompt_requests SET not_before = 1 WHERE id = '`+id+`'`)
	k.nearServer.sql(t, `UPDATE jobs SET due_at = 0 WHERE subject = '`+id+`' AND ended_at = 0`)
	state := proof.Await(t, "the end of the request", func() string { return k.owner.get(t, k.request).at("state") },
		func(state string) bool { return state != "waiting" })
	return map[string]string{"activated": itGoesOn, "cancelled": isCancelled}[state]
}

// lossesOf returns the ways of lost_roles_test.go, and those that only this test has.
func (s *lossStage) lossesOf(t *testing.T) []loss {
	t.Helper()
	member := func(t *testing.T, _, role string) *client {
		t.Helper()
		key, _ := s.nearServer.user(t, role).key(t, "--role", "owner")
		return key
	}
	return append(s.nearServer.losses(t, s.owner, s.scimmer, member),
		loss{"an owner who transfers the workspace", func(t *testing.T, name string) leaver {
			seller := s.nearServer.user(t, "owner", "--workspace", name)
			buyer := s.nearServer.user(t, "admin", "--workspace", name)
			return leaver{seller, func(t *testing.T) *answer {
				t.Helper()
				path := "/api/workspaces/" + seller.workspace + "/transfer"
				return seller.do(t, "POST", path, object{"user_id": buyer.id}).is(t, 200)
			}, "member.updated", "admin"}
		}},
		loss{"an admin who is deactivated by the directory", func(t *testing.T, name string) leaver {
			id := s.scimmer.do(t, "POST", scimUsers, scimUser(name+"@directory.test")).is(t, 201).at("id")
			s.nearServer.must(t, "user", "create", "--email", name+"@directory.test", "--role", "admin")
			c := &client{server: s.nearServer, id: id, email: name + "@directory.test", workspace: s.owner.workspace}
			key, _ := c.key(t)
			return leaver{key, func(t *testing.T) *answer {
				t.Helper()
				s.scimmer.do(t, "PATCH", scimUsers+"/"+id, patch(object{"op": "replace", "path": "active",
					"value": false})).is(t, 200)
				return nil
			}, "user.disabled", ""}
		}},
		loss{"a viewer whose share of a prompt template ends", func(t *testing.T, _ string) leaver {
			viewer := s.nearServer.user(t, "viewer")
			private := s.released(t, s.owner, "shared with "+viewer.id)
			s.owner.create(t, private+"/shares", object{"user_id": viewer.id, "role": "editor"})
			return leaver{viewer, func(t *testing.T) *answer {
				t.Helper()
				return s.owner.do(t, "DELETE", private+"/shares/"+viewer.id, nil).is(t, 204)
			}, private, ""}
		}})
}

// returns enables the account again, which tells a credential that has ended from one that was suspended.
func (k *stake) returns(t *testing.T, want []string) {
	t.Helper()
	if !slices.Contains(want, itPauses) {
		return
	}
	if k.scimmer.do(t, "GET", scimUsers+"/"+k.client.id, nil).status == 200 {
		k.scimmer.do(t, "PATCH", scimUsers+"/"+k.client.id, patch(object{"op": "replace", "path": "active",
			"value": true})).is(t, 200)
	} else {
		k.owner.do(t, "POST", "/api/people/"+k.client.id+"/enable", nil).is(t, 204)
	}
	for i, thing := range lossColumns {
		if c := k.credentials[thing]; c != nil && want[i] == itPauses {
			proof.Eventually(t, thing+" works again", func() bool { return k.does(t, c) == itGoesOn })
		}
	}
	for i, thing := range lossColumns {
		if c := k.credentials[thing]; c != nil && want[i] == itEnds {
			require.Equal(t, thing+" after the return", k.does(t, c), itEnds)
		}
	}
}
