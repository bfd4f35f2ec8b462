package configs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

func sourceOffers(t *testing.T, yaml string) map[identity.OrgID]configs.SourceOffer {
	t.Helper()
	from := configs.Source{}
	if yaml != "" {
		from.File = inFile(t, yaml)
	}
	c, err := configs.Load(from)
	require.NoError(t, err)
	return c.SourceOffers(func(slug string) identity.OrgID { return identity.OrgID("org_" + slug) })
}

func TestSourceOffers(t *testing.T) {
	t.Run("the embedded default has the common types, and files", func(t *testing.T) {
		o := sourceOffers(t, "")["org_default"]
		if diff := cmp.Diff(source.CommonTypes(), o.Types); diff != "" || !o.Files || !o.GoogleAPIKey.IsZero() {
			t.Errorf("files %v: %s", o.Files, diff)
		}
	})
	t.Run("an OAuth client needs an ID of Google's and a secret, and no error quotes either", func(t *testing.T) {
		for text, want := range map[string]string{
			"{client_id: x.apps.googleusercontent.com}":                        ".client_secret: must be set",
			"{client_secret: " + canary + "}":                                  ".client_id: must be set",
			"{client_id: " + canary + ", client_secret: " + canary + "}":       ".client_id: must end with",
			"{client_id: a.apps.googleusercontent.com, client_secret: secret}": "",
		} {
			_, err := configs.Load(configs.Source{File: inFile(t, "orgs: [{slug: acme, google_consent: "+text+"}]")})
			if (want == "" && err != nil) || (want != "" && (err == nil || !strings.Contains(err.Error(), want))) ||
				(err != nil && strings.Contains(err.Error(), canary)) {
				t.Errorf("%s: error %v", text, err)
			}
		}
	})
	t.Run("several orgs have no files: each would read the others'", func(t *testing.T) {
		for id, o := range sourceOffers(t, "orgs: [{slug: a, hosts: [a.test]}, {slug: b, hosts: [b.test]}]") {
			if o.Files || len(o.Types) != 3 {
				t.Errorf("%s: files %v, %d types", id, o.Files, len(o.Types))
			}
		}
	})
	t.Run("an org's own types stand in the place of the common ones", func(t *testing.T) {
		o := sourceOffers(t, `
orgs:
  - slug: acme
    google_api_key: `+canary+`
    source_types:
      - type: machines
        title: Machines
        accepts: [sheet]
        fields:
          - {key: serial, title: Serial number, type: string, required: true, unique: true, synonyms: [sn], example: A1}
          - {key: state, title: State, type: enum, enum: [running, idle]}
      - {type: sites, title: Sites, fields: [{key: name, title: Name, type: string}]}
`)["org_acme"]
		want := []source.Type{
			{Key: "machines", Title: "Machines", Accepts: []source.Backend{source.SheetBackend}, Fields: []column.Field{
				{Key: "serial", Title: "Serial number", Type: column.String, Required: true, Unique: true,
					Synonyms: []string{"sn"}, Example: "A1"},
				{Key: "state", Title: "State", Type: column.Enum, Enum: []string{"running", "idle"}},
			}},
			{Key: "sites", Title: "Sites", Accepts: []source.Backend{source.SheetBackend, source.WarehouseBackend},
				Fields: []column.Field{{Key: "name", Title: "Name", Type: column.String}}},
		}
		if diff := cmp.Diff(want, o.Types); diff != "" || o.GoogleAPIKey.Reveal() != canary {
			t.Error(diff)
		}
	})
}
