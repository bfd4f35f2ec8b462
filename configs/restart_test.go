package configs_test

import (
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNeedRestart(t *testing.T) {
	load := func() configs.Config {
		c, err := configs.Load(configs.Source{})
		require.NoError(t, err)
		c.Keyring.Keyset = secret.New("the same")
		return c
	}
	for name, tt := range map[string]struct {
		change func(*configs.Config)
		want   []string
	}{
		"nothing":               {func(*configs.Config) {}, nil},
		"orgs and their domain": {func(c *configs.Config) { c.Orgs = nil; c.BaseDomain = "example.com" }, nil},
		"settings of several sections": {func(c *configs.Config) {
			c.Data = "x"
			c.Log.Format = "json"
			c.Server.RateLimit.Burst++
		}, []string{"data", "server.rate_limit.burst", "log.format"}},
		"a list": {func(c *configs.Config) {
			c.Server.TrustedProxies = append(c.Server.TrustedProxies, c.Server.TrustedProxies...)
		}, nil},
		"a secret": {func(c *configs.Config) { c.Keyring.Keyset = secret.New("another") }, []string{"keyring.keyset"}},
	} {
		t.Run(name, func(t *testing.T) {
			read := load()
			tt.change(&read)
			assert.EqualSlice(t, "NeedRestart", configs.NeedRestart(load(), read), tt.want)
		})
	}
}
