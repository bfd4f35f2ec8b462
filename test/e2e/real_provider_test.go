package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestAPersonSignsInAtARealProvider uses a provider that none of us wrote. It has the e-mail address at its UserInfo
// endpoint only.
func TestAPersonSignsInAtARealProvider(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	address := "http://127.0.0.1:" + port
	issuer := services.OpenIDProvider(t, address+callback)
	file := filepath.Join(t.TempDir(), "client-secret")
	require.NoError(t, os.WriteFile(file, []byte(services.OpenIDSecret), 0o600))
	d := deployMigrated(t, sqlite, configured(fmt.Sprintf(`
orgs:
  - slug: default
    base_url: %s
    sign_up: claims
    issuers:
      - {url: %q, audiences: [web], client: {id: %s, secret_file: %q, name: main, title: Zitadel}}
    email_domains: [{domain: zitadel.ch, workspace: default, role: member}]
`, address, issuer, services.OpenIDClient, file)))
	s := d.spawn(t, d.command("serve", "--addr", "127.0.0.1:"+port))
	s.url = s.stdout.await(t, s, greeting)[1]
	owner := s.user(t, "owner")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in")
	reads(ctx, t, "Sign in with Zitadel")
	clicks(ctx, t, "#providers a")
	reads(ctx, t, "Password:")
	for field, text := range map[string]string{"username": services.OpenIDPerson, "password": services.OpenIDPassword} {
		chooses(ctx, t, "#"+field, text)
	}
	keep(ctx, t, "real-provider")
	clicks(ctx, t, "button[type=submit]")
	reads(ctx, t, "There are no prompts yet.")
	members := owner.get(t, "/api/workspaces/default/members").text
	assert.Contains(t, "the person is no member", members, `"email":"test-user2@zitadel.ch"`)
}
