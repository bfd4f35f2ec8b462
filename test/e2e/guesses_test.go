package e2e

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// guess is a request whose body holds a secret, and what somebody with a copy of the database would hash.
type guess struct {
	path   string
	body   any    // an object, or a list of one
	secret string // that people choose; empty where Atrium made it of 256 random bits
	status int
}

// TestNoStoredDigestCanBeGuessed sends secrets with every operation that accepts any. It searches the stored data for
// digests that an attacker could compute who knows the rest of the request and guesses the secret.
func TestNoStoredDigestCanBeGuessed(t *testing.T) {
	const card, password, second = "4242 4242 4242 4242", "Sunshine2024!", "Moonlight2025!"
	onEach(t, func(t *testing.T, engine string) {
		issuer := fixture.NewIssuer(t, "ES256")
		d := deployMigrated(t, engine, configured(fmt.Sprintf(`
orgs: [{slug: default, sign_up: open, issuers: [{url: %q, audiences: [atrium]}], accept_url: 'https://red.example.com/join/{token}', egress: {allow: [127.0.0.0/8]}, %s}]
`, issuer.URL, onlyPayments())), toShops, knowsWebhookKey)
		s := d.start(t)
		ann := s.user(t, "owner")
		claims := issuer.Claims("atrium", time.Now())
		signedClient := &client{server: s, token: issuer.Token(claims)}
		warehouse := newShop(t)

		var attempts []guess
		send := func(c *client, g guess, headers ...string) *answer {
			t.Helper()
			a := c.do(t, "POST", g.path, g.body,
				append(headers, fmt.Sprintf("Idempotency-Key: guess-%d", len(attempts)))...).is(t, g.status)
			attempts = append(attempts, g)
			return a
		}
		intent := ann.create(t, payments+"/setup-intent", object{})
		response := ann.create(t, payments+"/setup-intent", object{})
		ann.do(t, "POST", confirm(response.at("id")), object{"client_secret": response.at("client_secret"),
			"card": testCard("4000002500003155")}).is(t, 200)
		embed := ann.embeds(t, nil)
		var one, hook string
		hookBody := func(token string) object {
			return object{"url": "https://hooks.example.com", "events": []string{"*"},
				"headers": object{"Authorization": token}}
		}
		calls := map[string]func(){
			"createConnection": func() {
				one = send(ann, guess{connections, warehouse.connection(password), password, 201}).at("id")
				send(ann, guess{
					connections, object{"kind": "postgres",
						"credential": object{"host": "127.0.0.1", "database": "none", "username": "no",
							"password": second, "port": 1, "tls": "disable"}}, second, 422})
			},
			"verifyConnection": func() {
				for one == "" { // made by createConnection
					one = send(ann, guess{connections, warehouse.connection(password), password, 201}).at("id")
				}
				send(ann, guess{connections + "/" + one + "/verify", object{"credential": warehouse.credential(second)},
					second, 200})
			},
			"createWebhook": func() {
				hook = send(ann, guess{webhooks, hookBody(password), password, 201}).at("id")
			},
			"updateWebhook": func() {
				for hook == "" { // made by createWebhook
					hook = send(ann, guess{webhooks, hookBody(password), password, 201}).at("id")
				}
				body := object{"headers": object{"Authorization": second}}
				ann.do(t, "PATCH", webhooks+"/"+hook, body).is(t, 200)
				attempts = append(attempts, guess{webhooks + "/" + hook, body, second, 200})
			},
			"acceptInvitation": func() {
				send(signedClient, guess{"/api/invitations/accept", object{"token": "hand-made-token"},
					"hand-made-token", 404})
			},
			"previewInvitation": func() {
				send(s.anonymous(), guess{"/api/invitations/preview", object{"token": "hand-made-token"},
					"hand-made-token", 404})
			},
			"joinByInvitation": func() {
				send(s.anonymous(), guess{"/api/invitations/join", object{"token": "hand-made-token"},
					"hand-made-token", 404})
			},
			"reportLeakedKeys": func() {
				send(s.anonymous(), guess{"/api/keys/leaked", []object{{"token": "atk_hand-made"}},
					"atk_hand-made", 204})
			},
			"openSession": func() {
				send(s.anonymous(), guess{"/api/auth/sessions", object{"token": "atl_hand-made"}, "atl_hand-made", 401})
			},
			"previewSignInLink": func() {
				send(s.anonymous(), guess{"/api/auth/links/preview", object{"token": "atl_hand-made"}, "atl_hand-made",
					401})
			},
			"confirmSandboxIntent": func() {
				body := object{"client_secret": intent.at("client_secret"), "card": testCard(card)}
				send(ann, guess{confirm(intent.at("id")), body, card, 200})
			},
			"authenticateSandboxIntent": func() {
				body := object{"client_secret": response.at("client_secret"), "success": true}
				send(ann, guess{payments + "/sandbox/setup-intents/" + response.at("id") + "/authenticate",
					body, "", 200})
			},
			"createEmbedSession": func() {
				send(s.anonymous(), guess{sessions, object{"token": embed.secret, "visitor": "jane"}, "", 200},
					fromShop)
			},
			"verifyEmbedSession": func() {
				session := embed.visit(t, fromShop).is(t, 200).at("session")
				send(ann, guess{sessions + "/verify", object{"session": session}, "", 200})
			},
			"renderChatRuntime": func() {
				template := ann.template(t, "runtime/secret")
				ann.create(t, template+"/versions", object{"text": "{{password}}", "activate": true,
					"variables": []object{{"name": "password", "sensitive": true}}})
				chat := ann.create(t, chats, object{"name": "Secret", "prompt": object{"ref": "active",
					"prompt_template_id": strings.TrimPrefix(template, templates+"/")}}).at("id")
				send(ann, guess{chats + "/" + chat + "/runtime",
					object{"variables": object{"password": password}}, password, 200})
			},
			"renderPrompt": func() {
				template := ann.template(t, "secret")
				ann.create(t, template+"/versions",
					object{"text": "{{password}}", "variables": []object{{"name": "password", "sensitive": true}}})
				send(ann, guess{template + "/render",
					object{"ref": "latest", "variables": object{"password": password}}, password, 200})
			},
		}
		for _, o := range conformance.Contract(t).Operations() {
			if !o.Secret {
				continue
			}
			call, ok := calls[o.ID]
			if !ok {
				t.Errorf("%s accepts a secret (x-secret), but this test does not try to guess its stored digest", o.ID)
				continue
			}
			delete(calls, o.ID)
			call()
		}
		for id := range calls {
			t.Errorf("%s takes no secret", id)
		}
		look := func(phase string, storedText string) {
			t.Helper()
			for i, g := range attempts {
				for label, preimage := range g.preimages(t, fmt.Sprintf("guess-%d", i)) {
					for name, form := range digests(preimage) {
						if strings.Contains(storedText, form) {
							t.Errorf("%s: %s of %s of POST %s is stored", phase, name, label, g.path)
						}
					}
				}
			}
		}
		look("after use", s.dump(t))
		ann.do(t, "DELETE", connections+"/"+one, nil).is(t, 200)
		look("after a revocation", s.dump(t))
		s.stop(t)
		if engine == postgres {
			look("in what pg_dump writes", services.DumpPostgres(t, s.database))
			return
		}
		for _, name := range []string{"atrium.db", "atrium.db-wal"} {
			if file, err := os.ReadFile(filepath.Join(d.data, name)); err == nil {
				look("in "+name, string(file))
			}
		}
	})
}

// preimages are the possible inputs of a digest.
func (g guess) preimages(t *testing.T, key string) map[string][]byte {
	t.Helper()
	body, err := json.Marshal(g.body)
	require.NoError(t, err)
	var indentedBuffer bytes.Buffer
	require.NoError(t, json.Indent(&indentedBuffer, body, "", "  "))
	out := map[string][]byte{
		"the body": body, "the body, indented": indentedBuffer.Bytes(), "query and body": append([]byte{0}, body...),
		"path and body":       append([]byte(g.path+"\x00"), body...),
		"the Idempotency-Key": []byte(key), "the body with a line's end": append(bytes.Clone(body), '\n'),
	}
	members, _ := g.body.(object)
	if list, ok := g.body.([]object); ok {
		members = list[0]
	}
	for name, member := range members {
		text, err := json.Marshal(member)
		require.NoError(t, err)
		if g.secret != "" || len(text) > 200 {
			out["the member "+name] = text
		}
	}
	if g.secret != "" {
		out["the secret"] = []byte(g.secret)
		out["the secret, quoted"] = []byte(`"` + g.secret + `"`)
		out["the secrets"] = []byte(`{"password":"` + g.secret + `"}`)
	}
	return out
}

// digests are the plain digests of a text in the forms that they could be stored in. Half of a digest is enough.
func digests(preimage []byte) map[string]string {
	out := map[string]string{}
	s1, s2, s5, m5 := sha1.Sum(preimage), sha256.Sum256(preimage), sha512.Sum512(preimage), md5.Sum(preimage)
	for name, sum := range map[string][]byte{"SHA-1": s1[:], "SHA-256": s2[:], "SHA-512": s5[:], "MD5": m5[:]} {
		half := sum[:len(sum)/2]
		out[name+" (raw)"] = string(half)
		out[name+" (hex)"] = hex.EncodeToString(half)
		out[name+" (HEX)"] = strings.ToUpper(hex.EncodeToString(half))
		out[name+" (base64)"] = base64.StdEncoding.EncodeToString(sum)[:len(half)]
		out[name+" (base64url)"] = base64.URLEncoding.EncodeToString(sum)[:len(half)]
	}
	return out
}
