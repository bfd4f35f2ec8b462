package configs_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
)

func TestWhichKindsAnOrgOffers(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml   string
		sqlite bool
	}{
		"the embedded default has files too":  {"", true},
		"so has a single org that has a name": {"orgs: [{slug: acme}]", true},
		"two orgs would read each other's": {"orgs: [{slug: a, hosts: [a.test]}, {slug: b, hosts: [b.test]}]",
			false},
		"beside PostgreSQL there may be many nodes": {"database: {url: 'postgres://db/a'}", false},
		"an org may leave them out":                 {"orgs: [{slug: acme, connection_kinds: [postgres]}]", false},
		"and it may name them": {"orgs: [{slug: acme, connection_kinds: [postgres, sqlite]}]",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			d := parse(t, configs.Source{File: inFile(t, tt.yaml)}).Directory(func(slug string) identity.OrgID {
				return identity.OrgID(slug)
			})
			kinds := d.All()[0].ConnectionKinds
			if !slices.Contains(kinds, "postgres") || slices.Contains(kinds, "sqlite") != tt.sqlite {
				t.Errorf("kinds = %v", kinds)
			}
		})
	}
}

func TestEgressReachesTheDirectory(t *testing.T) {
	c := parse(t, configs.Source{File: inFile(t, "orgs: [{slug: acme, egress: {allow: [10.1.0.0/16, 127.0.0.1]}}]")})
	o, ok := c.Directory(func(string) identity.OrgID { return "org_acme" }).ByID("org_acme")
	if !ok || !slices.Equal(o.Egress.Allow,
		[]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.1/32")}) {
		t.Errorf("org %+v", o)
	}
}
