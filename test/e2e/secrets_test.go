package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func containsAny(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// TestSecrets performs operations with secrets, correctly and incorrectly, and searches for them where none belong.
func TestSecrets(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		d := deployMigrated(t, engine)
		s := d.start(t)
		admin := s.user(t, "admin")
		const canary = "canary-7c1f0"

		var problems strings.Builder
		note := func(a *answer) { problems.WriteString(a.text) }
		response := admin.create(t, "/api/api-keys", object{"name": "made"}, "Idempotency-Key: shown")
		admin.create(t, "/api/api-keys", object{"name": "made"}, "Idempotency-Key: shown")
		printedClient, _ := admin.key(t)
		tokens := []string{admin.token, response.at("token"), printedClient.token}
		for _, token := range tokens {
			c := &client{server: s, token: token}
			c.get(t, "/api/me")
			note(c.do(t, "GET", templates+"/x?token="+token, nil))
			note(c.do(t, "GET", templates+"/"+token, nil))
			note(c.do(t, "POST", templates, object{"name": 1, token: canary}))
			note(c.do(t, "POST", templates, `{"`+token))
			note(c.do(t, "GET", "/api/me", nil, "Authorization: Bearer "+token[:len(token)-1]))
			note(c.do(t, "GET", "/"+token, nil))
			note(c.do(t, "GET", "/api/me", nil, "Workspace-Id: "+token))
			note(c.do(t, "PATCH", "/api/me", object{"name": "x"}, "If-Match: "+token))
		}
		template := admin.template(t, "secret")
		admin.create(t, template+"/versions",
			object{"text": "{{password}}",
				"variables": []object{{"name": "password", "sensitive": true, "enum": []string{"other"}}}})
		note(admin.do(t, "POST", template+"/render", object{"ref": "latest", "variables": object{"password": canary}}).
			problem(t, 422, "invalid_variables"))
		admin.do(t, "DELETE", "/api/api-keys/"+response.at("id"), nil).is(t, 204)
		e := admin.embeds(t, nil)
		session := e.visit(t, fromShop).is(t, 200).at("session")
		e.resume(t, session, fromShop).is(t, 200)
		page := e.page(t, "Referer: "+shop).is(t, 200)
		note(e.visit(t))
		note(e.resume(t, session))
		note(admin.do(t, "GET", e.template+"/embed-tokens/"+e.secret, nil))
		note(admin.do(t, "POST", e.template+"/embed-tokens",
			object{"name": e.secret, "allowed_origins": []string{"https://" + canary + "/"}}))
		note(s.anonymous().do(t, "POST", sessions, object{"token": canary + e.secret, "ticket": session}, fromShop))
		tokens = append(tokens, e.secret, session, pageData.FindStringSubmatch(page.text)[1])
		events := admin.get(t, "/api/events?limit=100").text
		s.stop(t)

		secrets := append(keyMaterial(t, d), canary)
		for _, token := range tokens {
			sum := sha256.Sum256([]byte(token))
			secrets = append(secrets, token[4:40], hex.EncodeToString(sum[:]),
				base64.StdEncoding.EncodeToString(sum[:])[:40], base64.RawURLEncoding.EncodeToString(sum[:])[:40])
		}
		for place, text := range map[string]string{"the log": s.stderr.String(), "an event": events,
			"a keys list": d.must(t, "keys", "list"), "doctor": d.must(t, "doctor")} {
			for _, secret := range secrets {
				if i := strings.Index(text, secret); i >= 0 {
					t.Errorf("%s holds a secret: …%s…", place, text[max(0, i-100):i])
				}
			}
		}
		// A name that a client made up may be pointed at: canary and key material never are.
		for _, secret := range append(keyMaterial(t, d), canary) {
			if strings.Contains(problems.String(), secret) {
				t.Errorf("a problem holds a secret:\n%s", problems.String())
			}
		}
		if engine == sqlite {
			for _, name := range []string{"atrium.db", "atrium.db-wal"} {
				file, _ := os.ReadFile(filepath.Join(d.data, name)) // after a clean stop there is no -wal
				for _, token := range tokens {
					if strings.Contains(string(file), token[4:40]) {
						t.Errorf("%s holds a token", name)
					}
				}
			}
		}
	})
}
