package identity_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
)

func TestByHost(t *testing.T) {
	one := identity.Org{ID: "1", Slug: "one", Hosts: []string{"one.example", "127.0.0.1", "::1"}}
	two := identity.Org{ID: "2", Slug: "two", Hosts: []string{"two.example", "one.base.example"}}
	three := identity.Org{ID: "3", Slug: "three"}
	multiple := identity.NewDirectory([]identity.Org{one, two, three}, "base.example")
	for name, tt := range map[string]struct {
		d    *identity.Directory
		host string
		want identity.OrgID // empty: none
	}{
		"its host":                                  {multiple, "one.example", "1"},
		"whatever its case":                         {multiple, "ONE.Example", "1"},
		"with a port":                               {multiple, "one.example:8443", "1"},
		"with a trailing dot":                       {multiple, "one.example.", "1"},
		"with both":                                 {multiple, "one.example.:8443", "1"},
		"an address":                                {multiple, "127.0.0.1:80", "1"},
		"an IPv6 address":                           {multiple, "[::1]", "1"},
		"an IPv6 address with a port":               {multiple, "[::1]:80", "1"},
		"an IPv6 address, written otherwise":        {multiple, "[0:0:0:0:0:0:0:1]", "1"},
		"and with a port":                           {multiple, "[0:0:0:0:0:0:0:1]:80", "1"},
		"the slug under the base domain":            {multiple, "three.base.example", "3"},
		"whatever the case of that":                 {multiple, "Three.BASE.example:80", "3"},
		"a host that is listed comes before a slug": {multiple, "one.base.example", "2"},
		"an unknown host":                           {multiple, "four.example", ""},
		"an unknown slug":                           {multiple, "four.base.example", ""},
		"the base domain itself":                    {multiple, "base.example", ""},
		"a slug with more before it":                {multiple, "x.three.base.example", ""},
		"a domain that only ends alike":             {multiple, "three.evilbase.example", ""},
		"a host that goes on":                       {multiple, "one.example.evil", ""},
		"no host":                                   {multiple, "", ""},
		"a dot":                                     {multiple, ".", ""},
		"an empty label":                            {multiple, ".base.example", ""},

		"without a base domain slugs name nothing": {identity.NewDirectory([]identity.Org{one, three}, ""),
			"three.", ""},
		"the only org answers on any host": {identity.NewDirectory([]identity.Org{three}, ""), "whatever:1234", "3"},
		"and on none":                      {identity.NewDirectory([]identity.Org{three}, ""), "", "3"},
		"but not if it names its hosts":    {identity.NewDirectory([]identity.Org{one}, ""), "whatever", ""},
		"nor if there are two": {identity.NewDirectory([]identity.Org{three, {ID: "4", Slug: "four"}}, ""),
			"whatever", ""},
		"no org answers nowhere": {identity.NewDirectory(nil, "base.example"), "base.example", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.d.ByHost(tt.host)
			if tt.want == "" {
				if got != nil || !errors.Is(err, identity.ErrUnknownHost) {
					t.Fatalf("ByHost(%q) = %+v, %v; want ErrUnknownHost", tt.host, got, err)
				}
				return
			}
			if err != nil || got.ID != tt.want {
				t.Fatalf("ByHost(%q) = %+v, %v; want org %s", tt.host, got, err, tt.want)
			}
		})
	}
}

func TestDirectory(t *testing.T) {
	d := identity.NewDirectory([]identity.Org{{ID: "1", Slug: "one"}, {ID: "2", Slug: "two"}}, "")
	if o, ok := d.BySlug("two"); !ok || o.ID != "2" {
		t.Errorf("BySlug = %+v, %v", o, ok)
	}
	if o, ok := d.BySlug("three"); ok || o != nil {
		t.Errorf("BySlug of none = %+v, %v", o, ok)
	}
	if o, ok := d.ByID("2"); !ok || o.Slug != "two" {
		t.Errorf("ByID = %+v, %v", o, ok)
	}
	if o, ok := d.ByID("3"); ok || o != nil {
		t.Errorf("ByID of none = %+v, %v", o, ok)
	}
	if all := d.All(); len(all) != 2 || all[0].ID != "1" || all[1].ID != "2" {
		t.Errorf("All = %+v", all)
	}
}

func TestTheWorkspacesThatAnIssuersRulesName(t *testing.T) {
	many := make([]identity.ClaimRule, 25)
	for i := range many {
		many[i] = identity.ClaimRule{Issuer: "https://id", Workspace: fmt.Sprintf("w%02d", 24-i)}
	}
	rules := append(many, identity.ClaimRule{Issuer: "https://id", Workspace: "w03"},
		identity.ClaimRule{Issuer: "https://other", Workspace: "a"}, identity.ClaimRule{Issuer: "https://id"})
	org := identity.Org{ClaimRules: rules}
	slugs := org.RuledBy("https://id")
	if len(slugs) != 20 || slugs[0] != "w00" || slugs[3] != "w03" || slugs[4] != "w04" || slugs[19] != "w19" {
		t.Errorf("more than 20: %q", slugs)
	}
	if slugs := org.RuledBy("https://other"); len(slugs) != 1 || slugs[0] != "a" {
		t.Errorf("another issuer: %q", slugs)
	}
	if slugs := org.RuledBy("https://unknown"); len(slugs) != 0 {
		t.Errorf("no rule: %q", slugs)
	}
}
