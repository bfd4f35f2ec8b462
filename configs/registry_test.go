package configs_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func loadRegistries(t *testing.T, yaml string) map[identity.OrgID]*chat.Registry {
	t.Helper()
	source := configs.Source{}
	if yaml != "" {
		source.File = filepath.Join(t.TempDir(), "atrium.yaml")
		require.NoError(t, os.WriteFile(source.File, []byte(yaml), 0o600))
	}
	c, err := configs.Load(source)
	require.NoError(t, err)
	return c.Registries(func(slug string) identity.OrgID { return identity.OrgID("org_" + slug) })
}

func TestRegistries(t *testing.T) {
	t.Run("the embedded default offers something of every kind", func(t *testing.T) {
		r := loadRegistries(t, "")["org_default"]
		if len(r.Agents) == 0 || len(r.Tools) == 0 || len(r.Capabilities) == 0 || len(r.Workflows) == 0 ||
			r.Revision == "" {
			t.Errorf("registry %+v", r)
		}
	})
	t.Run("an org of one's own offers what is listed, and nothing else", func(t *testing.T) {
		all := loadRegistries(t, `
orgs:
  - slug: acme
    hosts: [acme.test]
    registry:
      tools:
        - {id: search, name: Search, description: d, version: "2", status: deprecated, requires: [citations], effects: external, embed_safe: true, config_schema: {type: object, required: [n], properties: {n: {type: integer, minimum: 1.5}}}}
      capabilities: [{id: citations}]
  - {slug: bare, hosts: [bare.test]}
`)
		if bare := all["org_bare"]; len(all) != 2 || len(bare.Tools)+len(bare.Agents)+len(bare.Workflows)+
			len(bare.Capabilities) != 0 {
			t.Errorf("registries %+v", all)
		}
		got := all["org_acme"].Tools[0]
		if got.ID != "search" || got.Name != "Search" || got.Description != "d" || got.Version != "2" ||
			got.Status != chat.ItemDeprecated || !slices.Equal(got.Requires, []string{"citations"}) ||
			got.Effects != chat.EffectsExternal || !got.EmbedSafe ||
			string(got.ConfigSchema) != `{"properties":{"n":{"minimum":1.5,"type":"integer"}},"required":["n"],"type":"object"}` {
			t.Errorf("item %+v", got)
		}
	})
}
