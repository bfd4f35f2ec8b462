package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

const leaked = "/api/keys/leaked"

// reportKey returns a key that signs reports of leaked keys, and its public part in PEM.
func reportKey(t *testing.T) (private *ecdsa.PrivateKey, public string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	require.NoError(t, err)
	return private, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signedReport returns the headers of a report that a key signed, as GitHub sends them.
func signedReport(t *testing.T, by *ecdsa.PrivateKey, body string) []string {
	t.Helper()
	digest := sha256.Sum256([]byte(body))
	signature, err := ecdsa.SignASN1(rand.Reader, by, digest[:])
	require.NoError(t, err)
	return []string{
		"Github-Public-Key-Identifier: here",
		"Github-Public-Key-Signature: " + base64.StdEncoding.EncodeToString(signature),
	}
}

// waitForLetters waits until a mail server has as many letters.
func waitForLetters(t *testing.T, smtp *fixture.SMTP, n int) []fixture.Letter {
	t.Helper()
	return proof.Await(t, fmt.Sprint(n, " letters"), smtp.Letters,
		func(letters []fixture.Letter) bool { return len(letters) >= n })
}

func TestLimitsOfKeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		key, public := reportKey(t)
		smtp := fixture.NewSMTP(t, "none")
		s := start(t, engine, configured(fmt.Sprintf(`
server:
  trusted_proxies: [127.0.0.0/8]
  leaked_keys: {public_keys: [{id: here, pem: %q}]}
mail: {smtp: {addr: %q, from: atrium@example.com, tls: none}}
orgs: [{slug: a, hosts: [a.example.com]}, {slug: b, hosts: [b.example.com], api_keys: {default_lifetime: 24h}}]
`, public, smtp.Addr())), set("server.rate_limit.sign_ins_per_minute", "30"))
		owner := s.user(t, "owner", "--org", "b")
		t.Run("a key is used only from its addresses, as the trusted proxy tells them", func(t *testing.T) {
			s.limitsAddresses(t, owner)
		})
		t.Run("a key has no more scopes than its maker, and a session those of its key", func(t *testing.T) {
			s.limitsScopes(t, owner)
		})
		t.Run("a leaked key ends, and its person is told", func(t *testing.T) { s.endsLeaked(t, owner, key, smtp) })
	})
}

const (
	onA, onB   = "Host: a.example.com", "Host: b.example.com"
	fromOffice = "X-Forwarded-For: 2001:db8::7"
	fromHome   = "X-Forwarded-For: 192.0.2.1"
)

func (s *server) limitsAddresses(t *testing.T, owner *client) {
	response := owner.create(t, "/api/api-keys", object{
		"name": "office", "allowed_addresses": []string{"203.0.113.9/24", "2001:db8::/32"},
	}, onB).has(t, map[string]string{
		"allowed_addresses.0": "2001:db8::/32", "allowed_addresses.1": "203.0.113.0/24", "last_used_address": "null",
	})
	office := &client{server: s, token: response.at("token")}
	refuses := func(a *answer) { t.Helper(); a.problem(t, 403, "address_not_allowed") }
	office.get(t, "/api/me", onB, fromOffice)
	refuses(office.do(t, "GET", "/api/me", nil, onB, fromHome))
	refuses(office.do(t, "GET", "/api/me", nil, onB)) // from loopback
	refuses(office.do(t, "GET", "/api/presence/stream", nil, onB, fromHome))
	refuses(s.anonymous().do(t, "POST", openSessions, object{"token": office.token}, onB, fromHome))
	in, _ := s.opens(t, office.token, onB, fromOffice)
	in.get(t, "/api/me", onB, fromOffice)
	refuses(in.do(t, "GET", "/api/me", nil, onB, fromHome))
	ticket := office.do(t, "POST", "/api/presence/stream-tickets", nil, onB, fromOffice).is(t, 200).at("ticket")
	refuses(s.anonymous().do(t, "GET", "/api/presence/stream?ticket="+ticket, nil, onB, fromHome))

	office.do(t, "POST", "/api/api-keys", object{"name": "x", "allowed_addresses": []string{"192.0.2.1"}}, onB,
		fromOffice).problem(t, 403, "role_ceiling")
	office.create(t, "/api/api-keys", object{"name": "x"}, onB, fromOffice).has(t,
		map[string]string{"allowed_addresses.0": "2001:db8::/32"})
	owner.do(t, "POST", "/api/api-keys", object{"name": "x", "allowed_addresses": []string{"office"}}, onB).problem(t,
		422, "invalid_fields")

	awaits(t, "the address is known", s, func() bool {
		a := owner.get(t, "/api/api-keys/"+response.at("id"), onB)
		return a.at("last_used_address") == "2001:db8::7"
	})
	awaits(t, "the refusal is in the trail", s, func() bool {
		a := owner.get(t, "/api/events?type=access.refused", onB)
		index := slices.Index(a.each(t, "data.code"), "address_not_allowed")
		return index >= 0 && a.each(t, "api_key_id")[index] == response.at("id")
	})
	assert.Contains(t, "token list wrote", s.must(t, "token", "list", "--org", "b"), "2001:db8::/32 203.0.113.0/24")
}

func (s *server) limitsScopes(t *testing.T, owner *client) {
	item, _ := owner.key(t, "--org", "b", "--scope", "keys:write", "--scope", "prompts:read")
	item.do(t, "POST", "/api/api-keys", object{"name": "x", "scopes": []string{"events:read"}}, onB).problem(t, 403,
		"scope_required")
	item.create(t, "/api/api-keys", object{"name": "x"}, onB).has(t,
		map[string]string{"scopes.0": "keys:write", "scopes.1": "prompts:read"})
	item.do(t, "POST", "/api/api-keys", object{"name": "x", "scopes": []string{"prompts:none"}}, onB).problem(t, 422,
		"invalid_fields")
	item.get(t, "/api/me", onB).has(t, map[string]string{"permissions.0": "prompt_templates.read"})
	in, _ := s.opens(t, item.token, onB)
	in.get(t, templates, onB)
	in.do(t, "GET", "/api/events", nil, onB).problem(t, 403, "scope_required")
	if r := s.run(t, "token", "create", "--org", "b", "--email", owner.email, "--scope", "none"); r.code == 0 {
		t.Errorf("an unknown scope is taken: %+v", r)
	}
}

func (s *server) endsLeaked(t *testing.T, owner *client, key *ecdsa.PrivateKey, smtp *fixture.SMTP) {
	other, _ := reportKey(t)
	response := owner.create(t, "/api/api-keys", object{"name": "CI"}, onB)
	if response.at("expires_at") == "null" {
		t.Error("the key has no default lifetime")
	}
	ci := &client{server: s, token: response.at("token")}
	child := &client{server: s, token: ci.create(t, "/api/api-keys", object{"name": "child"}, onB).at("token")}
	in, _ := s.opens(t, ci.token, onB)
	report := func(by *ecdsa.PrivateKey, body string) *answer {
		return s.anonymous().do(t, "POST", leaked, body,
			append(signedReport(t, by, body), onA, "Request-Id: same")...)
	}
	body := fmt.Sprintf(`[{"token": %q, "type": "atrium_api_key", "url": "https://github.com/a/b/blob/x/.env?q=1",
		"source": "content", "added by": "GitHub later"}, {"token": "ghp_other"}]`, ci.token)
	unknown := fmt.Sprintf(`[{"token": %q, "type": "x", "url": "", "source": ""}]`, account.NewToken().Reveal())

	report(other, body).problem(t, 400, "report_signature_invalid")
	s.anonymous().do(t, "POST", leaked, body, onA).problem(t, 400, "report_signature_invalid")
	s.anonymous().do(t, "POST", leaked, `[{]`, onA).problem(t, 400, "malformed_json")
	ci.get(t, "/api/me", onB)

	missedResponse, hit := report(key, unknown).is(t, 204), report(key, body).is(t, 204)
	if missedResponse.text != hit.text || len(missedResponse.header) != len(hit.header) {
		t.Errorf("the responses differ: %s %v\n%s %v", missedResponse, missedResponse.header, hit, hit.header)
	}
	for name, c := range map[string]*client{"it": ci, "its child": child, "its session": in} {
		if a := c.do(t, "GET", "/api/me", nil, onB); a.status != 401 {
			t.Errorf("%s works: %s", name, a)
		}
	}
	events := "/api/events?subject=" + response.at("id")
	leaks := events + "&type=api_key.leaked"
	owner.get(t, leaks, onB).has(t, map[string]string{
		"data.0.data.url": "https://github.com/a/b/blob/x/.env", "data.0.data.source": "content",
		"data.0.actor": "null", "data.1": "",
	})
	owner.get(t, events+"&type=api_key.revoked", onB).has(t, map[string]string{"data.1": ""})
	letters := proof.Await(t, "a letter about the leak", smtp.Letters, func(letters []fixture.Letter) bool {
		return slices.ContainsFunc(letters, func(l fixture.Letter) bool {
			return l.To == owner.email && strings.Contains(l.Text, response.at("hint"))
		})
	})
	for _, letter := range letters {
		if strings.Contains(letter.Text, "github.com") {
			t.Errorf("the letter is %+v", letter)
		}
	}
	report(key, body).is(t, 204) // it has ended: nothing happens
	owner.get(t, leaks, onB).has(t, map[string]string{"data.1": ""})
	for range 1000 { // the limit refills while a slow machine serves
		if a := report(key, unknown); a.status == 429 {
			a.problem(t, 429, "rate_limited")
			return
		}
	}
	t.Error("reports have no limit")
}
