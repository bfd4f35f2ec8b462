package snowflake_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// Keys are locked as Snowflake's documentation does it ("Key-pair authentication"), and by other algorithms of OpenSSL.
func TestKeysWithAPassphrase(t *testing.T) {
	openssl := services.OpenSSL(t)
	lock := func(t *testing.T, options ...string) string {
		t.Helper()
		args := append([]string{"pkcs8", "-topk8", "-passout", "pass:" + warehouses.Canary}, options...)
		c := exec.CommandContext(t.Context(), openssl, args...)
		c.Stdin = strings.NewReader(hosted.KeyPEM(t))
		out, err := c.Output()
		require.NoError(t, err)
		return string(out)
	}
	for name, options := range map[string][]string{
		"3DES":                {"-v2", "des3"},
		"AES-128 and SHA-1":   {"-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1"},
		"AES-256":             {"-v2", "aes-256-cbc"},
		"AES-256 and SHA-512": {"-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA512"},
		"many iterations":     {"-v2", "aes-256-cbc", "-iter", "250000"},
	} {
		t.Run("of "+name+" sign in", func(t *testing.T) {
			target := as("reader", map[string]any{"private_key": lock(t, options...),
				"private_key_passphrase": warehouses.Canary})(t)
			if r := hosted.Direct(t).Probe(t.Context(), target); r.Failure() != "" {
				t.Errorf("%+v", r.Checks)
			}
		})
	}
	lockedText, open := lock(t, "-v2", "aes-256-cbc"), hosted.KeyPEM(t)
	for name, tt := range map[string]struct{ key, passphrase string }{
		"a wrong passphrase":                 {lockedText, "another"},
		"no passphrase":                      {lockedText, ""},
		"a passphrase for a key without one": {open, "another"},
		"too many iterations":                {lock(t, "-v2", "aes-256-cbc", "-iter", "300000"), warehouses.Canary},
		"an old algorithm":                   {lock(t, "-v1", "PBE-SHA1-3DES"), warehouses.Canary},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			if key, err := connection.ParseLockedRSAKey(tt.key, tt.passphrase); err == nil || key != nil ||
				strings.Contains(err.Error(), warehouses.Canary) {
				t.Errorf("a key, or the error %v", err)
			}
		})
	}
}
