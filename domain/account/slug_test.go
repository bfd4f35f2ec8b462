package account_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestSlugOfAName(t *testing.T) {
	system := identity.System("org", "", "cli", now)
	for name, want := range map[string]string{
		"Acme":                    "acme",
		"Acme, Inc.":              "acme-inc",
		"  R&D -- Team 7 ":        "r-d-team-7",
		"Bücher":                  "bucher",
		"Zweites Ä Büro":          "zweites-a-buro",
		"Straße 7":                "strasse-7",
		"Łódź":                    "lodz",
		"Отдел продаж":            "otdel-prodazh",
		"日本":                      "ri-ben",
		"!!!":                     "workspace",
		"Admin":                   "workspace-admin",
		"API!":                    "workspace-api",
		strings.Repeat("x", 100):  strings.Repeat("x", 63),
		strings.Repeat("ab ", 40): strings.Repeat("ab-", 20) + "ab",
	} {
		t.Run(name, func(t *testing.T) {
			w, err := account.NewWorkspace(system, nil, "", name)
			if err != nil || w.Slug != want || w.Name != name {
				t.Fatalf("slug = %+v, %v; want %q", w, err, want)
			}
		})
	}
	t.Run("whatever the name, the slug is one that could have been chosen", func(t *testing.T) {
		form := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
		rapid.Check(t, func(t *rapid.T) {
			name := rapid.OneOf(rapid.StringN(1, 120, -1), rapid.StringMatching(`[ -~äß日]{1,120}`)).Filter(
				func(s string) bool {
					return !naming.Deceptive(s) && utf8.RuneCountInString(naming.Normal(s)) <= 120
				}).Draw(t, "name")
			w, err := account.NewWorkspace(system, nil, "", name)
			require.NoError(t, err)
			if !form.MatchString(w.Slug) || len(w.Slug) > 63 {
				t.Fatalf("slug = %q", w.Slug)
			}
			if _, err := account.NewWorkspace(system, nil, w.Slug, name); err != nil {
				t.Fatalf("%q cannot be chosen: %v", w.Slug, err)
			}
		})
	})
}

func TestSlugOf(t *testing.T) {
	for _, name := range []string{"Research", strings.Repeat("long-", 20), "Ärger", "api"} {
		seen := map[string]bool{}
		for n := 2; n <= 8; n++ {
			slug := account.SlugOf(name, n)
			if _, err := account.NewWorkspace(identity.System("org", "", "cli", now), nil, slug, name); err != nil ||
				seen[slug] {
				t.Errorf("the %dth slug of %q is %q: %v", n, name, slug, err)
			}
			seen[slug] = true
		}
	}
	assert.Equal(t, "the second", account.SlugOf("Research", 2), "research-2")
}

// TestRuledSlugs: otherwise the first user to take such a slug would own the workspace that the people
// named by the rules join.
func TestRuledSlugs(t *testing.T) {
	system := identity.System("org", "", "cli", now)
	rules := []identity.ClaimRule{{Claim: "groups", Value: "eng", Workspace: "engineering", Role: identity.Member},
		{Claim: "groups", Value: "ops", Operator: true}}
	for name, tt := range map[string]struct {
		by         identity.Actor
		slug, name string
		want       error
	}{
		"a person makes none":            {person("ann"), "engineering", "Mine", account.ErrSlugTaken},
		"nor by a name that leads to it": {person("ann"), "", "Engineering!", account.ErrSlugTaken},
		"another one they make":          {person("ann"), "engineering-2", "", nil},
		"and one by name":                {person("ann"), "", "Ops", nil},
		"the system makes it":            {system, "engineering", "", nil},
		"who may make none is not told of it": {actor("ann", identity.Viewer), "engineering", "",
			identity.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := account.NewWorkspace(tt.by, &identity.Org{ClaimRules: rules}, tt.slug, tt.name)
			require.ErrorIs(t, err, tt.want)
			if (w != nil) != (tt.want == nil) {
				t.Errorf("got %+v", w)
			}
		})
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		is   string
		to   account.WorkspaceChanges
		want error
	}{
		"an owner renames none to it": {person("owner"), "acme-slug",
			account.WorkspaceChanges{Slug: new("engineering")}, account.ErrSlugTaken},
		"whatever else changes": {person("admin"), "acme-slug",
			account.WorkspaceChanges{Slug: new("engineering"), Name: new("New")}, account.ErrSlugTaken},
		"a stranger is told nothing": {person("eve"), "acme-slug",
			account.WorkspaceChanges{Slug: new("engineering")}, identity.ErrWorkspaceNotFound},
		"one that has it stays so": {person("admin"), "engineering",
			account.WorkspaceChanges{Slug: new("engineering"), Name: new("New")}, nil},
		"and may get another": {person("admin"), "engineering",
			account.WorkspaceChanges{Slug: new("other")}, nil},
		"another slug is anybody's to give": {person("admin"), "acme-slug", account.WorkspaceChanges{Slug: new("eng")},
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := acme()
			w.Slug = tt.is
			require.ErrorIs(t, w.Change(tt.by, nil, &identity.Org{ClaimRules: rules}, tt.to), tt.want)
			if (len(w.Recorded()) > 0) != (tt.want == nil) {
				t.Errorf("recorded %d", len(w.Recorded()))
			}
		})
	}
}
