package e2e

import (
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// realm is a deployment whose only org accepts the tokens of one issuer.
type realm struct {
	*server
	issuer *fixture.Issuer
}

// newRealm serves an org with these further settings, each a line of YAML. Everyone with a token can sign up, unless
// the settings say otherwise.
func newRealm(t *testing.T, engine string, settings ...string) *realm {
	t.Helper()
	issuer := fixture.NewIssuer(t, "ES256")
	return &realm{start(t, engine, forIssuer(issuer, settings...)), issuer}
}

func forIssuer(issuer *fixture.Issuer, settings ...string) option {
	if !strings.Contains(strings.Join(settings, ""), "sign_up:") {
		settings = append(settings, "sign_up: open")
	}
	return configured(fmt.Sprintf("orgs:\n  - slug: default\n    issuers: [{url: %q, audiences: [atrium]}]\n    "+
		"accept_url: https://app.example.com/join/{token}\n    %s\n",
		issuer.URL, strings.Join(settings, "\n    ")))
}

// token signs the issuer's claims about a user. The default address is subject@example.com. Further claims replace the
// defaults; nil removes one.
func (r *realm) token(subject string, extra ...object) string {
	return r.issuer.Token(r.claims(subject, extra...))
}

func (r *realm) claims(subject string, extra ...object) object {
	claims := r.issuer.Claims("atrium", time.Now())
	claims["sub"], claims["email"] = subject, subject+"@example.com"
	for _, m := range extra {
		maps.Copy(claims, m)
	}
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

func (r *realm) bearer(token string) *client { return &client{server: r.server, token: token} }

// person returns a client of a user who has signed in.
func (r *realm) person(t *testing.T, subject string, extra ...object) *client {
	t.Helper()
	c := r.bearer(r.token(subject, extra...))
	me := c.get(t, "/api/me")
	c.id, c.email = me.at("user.id"), me.at("user.email")
	return c
}

// again returns a person with a new token, which can have other claims.
func (r *realm) again(c *client, subject string, extra ...object) *client {
	other := *c
	other.token = r.token(subject, extra...)
	return &other
}

// invite invites an address to by's workspace. renewed says whether that was done before.
func (r *realm) invite(t *testing.T, by *client, email, role string) (token string, isRenewed bool) {
	t.Helper()
	a := by.do(t, "POST", "/api/workspaces/"+by.workspace+"/invitations", object{"email": email, "role": role})
	token, ok := strings.CutPrefix(a.at("accept_url"), "https://app.example.com/join/")
	if (a.status != 201 && a.status != 200) || !ok {
		t.Fatal(a)
	}
	return token, a.status == 200
}

func accept(t *testing.T, c *client, token string) *answer {
	t.Helper()
	return c.do(t, "POST", "/api/invitations/accept", object{"token": token})
}

// trail returns every event of the database, oldest first, including those without a workspace, which cannot be listed.
func (d *deployment) trail(t *testing.T) (types []string, text string) {
	t.Helper()
	d.ask(t, func(db *sql.DB) {
		rows, err := db.QueryContext(t.Context(),
			`SELECT type, subject || ' ' || request_id || ' ' || data FROM recorded_events ORDER BY id`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var kind, rest string
			require.NoError(t, rows.Scan(&kind, &rest))
			types = append(types, kind)
			text += kind + " " + rest + "\n"
		}
		require.NoError(t, rows.Err())
	})
	return types, text
}

// leaves expects events of these types, and none of the secrets in them or in the log. Secrets are beginnings of
// tokens, and addresses.
func (r *realm) leaves(t *testing.T, types []string, secrets ...string) {
	t.Helper()
	seen, text := r.trail(t)
	count := map[string]int{}
	for _, kind := range seen {
		count[kind]++
	}
	for _, kind := range types {
		if count[kind] == 0 {
			t.Errorf("there is no event %s, but\n%s", kind, text)
		}
	}
	for place, text := range map[string]string{"an event": text, "the log": r.stderr.String()} {
		for _, secret := range append(secrets, "atk_", "ati_", "eyJ", "accept_url", "/join/") {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s holds %q: …%s…", place, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
