package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// TestAConnectedAccount expects the account of Stripe Connect in a setup intent, which Stripe.js needs.
func TestAConnectedAccount(t *testing.T) {
	t.Parallel()
	_, stripe := newStripe(t)
	s := start(t, sqlite, stripe, func(d *deployment) {
		text, err := os.ReadFile(d.config())
		require.NoError(t, err)
		const key = "publishable_key: pk_test_1,"
		connectedText := strings.Replace(string(text), key, key+" account: acct_connected,", 1)
		if connectedText == string(text) {
			t.Fatalf("no account at Stripe in %s", text)
		}
		d.configure(connectedText)
	})
	s.user(t, "owner").create(t, payments+"/setup-intent", object{}).has(t, map[string]string{
		"account_id": "acct_connected", "publishable_key": "pk_test_1", "gateway": "stripe",
	})
}
