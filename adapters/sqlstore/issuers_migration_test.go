package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTheMigrationSaysWhoGaveWhat runs the updates of the migration 0020 on what v0.1.0 left.
func TestTheMigrationSaysWhoGaveWhat(t *testing.T) {
	databases.OnEmpty(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, rows := adapter(t, url), databases.Raw(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		issuers := []string{"https://a.example", "https://b.example"}
		org := &identity.Org{SignUp: identity.SignUpOpen}
		for _, issuer := range issuers {
			org.Issuers = append(org.Issuers, identity.Issuer{URL: issuer, TrustEmail: true})
			org.ClaimRules = append(org.ClaimRules, identity.ClaimRule{Issuer: issuer, Claim: "in", Value: "true",
				Workspace: team.Workspace.Slug, Role: identity.Admin, Operator: true})
		}
		signIn := func(email string, positions ...string) {
			for i, issuer := range positions {
				c := account.Claims{Issuer: issuer, Subject: email, Email: email, EmailVerified: true,
					Raw: map[string]any{"in": true}}
				by := identity.System(team.Org, "", "sign-in", fixture.At.Add(time.Duration(i+1)*time.Hour))
				if _, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: c, Org: org},
					func(s *account.SignIn) error { return s.Settle(by) }); err != nil {
					t.Fatal(err)
				}
			}
		}
		viewer := "viewer@" + team.Workspace.Slug + ".example"
		signIn("one@example.com", issuers[0])
		signIn("both@example.com", issuers...)
		signIn(viewer, issuers[1])
		exec := func(statement string) {
			t.Helper()
			if _, err := rows.ExecContext(ctx, statement); err != nil {
				t.Fatalf("%v: %s", err, statement)
			}
		}
		exec(`UPDATE users SET email_verified_by = '', operator_by = ''`)
		exec(`UPDATE memberships SET granted = ''`)
		engine := map[bool]string{true: "sqlite", false: "postgres"}[strings.HasPrefix(url, "sqlite:")]
		text, err := os.ReadFile(filepath.Join("migrations", engine, "0020_issuers.sql"))
		require.NoError(t, err)
		updates := 0
		for statement := range strings.SplitSeq(string(text), ";\n") {
			if i := strings.Index(statement, "UPDATE "); i >= 0 {
				exec(statement[i:])
				updates++
			}
		}
		got := map[string]string{}
		for _, email := range []string{"one@example.com", "both@example.com", viewer, "peer@" + team.Workspace.Slug +
			".example"} {
			u, m, err := a.Users.FindByEmail(ctx, team.Org, email)
			require.NoError(t, err)
			got[strings.SplitN(email, "@", 2)[0]] = fmt.Sprint(u.EmailVerifiedBy, u.OperatorBy, m[0].Granted)
		}
		if diff := cmp.Diff(map[string]string{
			"one":    "https://a.example[https://a.example] map[https://a.example:admin]",
			"both":   "https://a.example[] map[]",
			"viewer": "operator[https://b.example] map[https://b.example:admin]",
			"peer":   "operator[] map[]",
		}, got); diff != "" || updates != 3 {
			t.Errorf("%d updates: %s", updates, diff)
		}
	})
}
