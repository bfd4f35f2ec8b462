package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestATunnelIsSetUpInTheConsole connects through an OpenSSH server in the form of a new connection.
func TestATunnelIsSetUpInTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, toShops)
	ann, shop := s.user(t, "owner"), newShop(t)
	ssh, other := services.SSHForwarding(t), services.SSHForwarding(t)
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, ann.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/connections/new/postgres"))
	reads(ctx, t, "Through an SSH server")
	fill := func(fields object) {
		t.Helper()
		for name, value := range fields {
			types(ctx, t, fmt.Sprintf(`[name="credential.%s"]`, name), fmt.Sprint(value))
		}
	}
	// says expects an error at a field, in the part of the form that is closed at first.
	says := func(field, text string) {
		t.Helper()
		drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
			const field = document.querySelector('[name="credential.%s"]')
			return field.checkVisibility() && field.ariaInvalid === 'true' && field.parentElement.innerText.includes(%q)
		})()`, field, text)))
	}
	views := shop.credential("c4n4ry")
	delete(views, "tls")
	fill(views)
	chooses(ctx, t, `[name="credential.tls"]`, "disable")
	types(ctx, t, `[name=connection_name]`, "Through a bastion")

	t.Run("what is missing is said at its field", func(t *testing.T) {
		fill(object{"ssh_host": "127.0.0.1", "ssh_port": ssh.Port})
		presses(ctx, t, "Test connection")
		says("ssh_username", "Must be given with ssh_host.")
		says("ssh_host_key", "Must be given with ssh_host.")
		says("ssh_private_key", "Give a private key or a password.")
	})
	t.Run("a server with another host key is refused", func(t *testing.T) {
		fill(object{"ssh_username": ssh.Username, "ssh_host_key": other.HostKey, "ssh_private_key": ssh.Key})
		presses(ctx, t, "Test connection")
		reads(ctx, t, "ssh_host_key_mismatch")
		says("ssh_host_key", "")
	})
	t.Run("a password that the server does not accept is refused", func(t *testing.T) {
		fill(object{"ssh_host_key": ssh.HostKey, "ssh_private_key": "", "ssh_password": "c4n4ry-password"})
		presses(ctx, t, "Test connection")
		reads(ctx, t, "ssh_auth_failed")
		says("ssh_password", "")
	})
	t.Run("a key in a passphrase opens the tunnel, and the connection is stored", func(t *testing.T) {
		fill(object{"ssh_password": "", "ssh_private_key": ssh.LockedKey, "ssh_passphrase": "wrong"})
		presses(ctx, t, "Test connection")
		says("ssh_passphrase", "")
		fill(object{"ssh_passphrase": services.SSHPassphrase})
		presses(ctx, t, "Test connection")
		reads(ctx, t, "It works. Nothing is stored yet.")
		keep(ctx, t, "console-tunnel")
		assert.Equal(t, "connections are stored", len(ann.get(t, connections).items(t)), 0)
		presses(ctx, t, "Connect")
		drive(ctx, t, poll[bool](`location.pathname.endsWith('/connections')`))
		reads(ctx, t, "Through a bastion")
		ann.get(t, connections).has(t, map[string]string{"data.0.config.ssh_host": "127.0.0.1",
			"data.0.config.ssh_host_key": ssh.HostKey, "data.0.status": "active",
			"data.0.secret.set": `["password","ssh_passphrase","ssh_private_key"]`})
	})
}
