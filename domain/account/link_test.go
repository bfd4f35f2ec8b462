package account_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestCheckSignIn(t *testing.T) {
	org := &identity.Org{Issuers: []identity.Issuer{{URL: "https://one.example"}, {URL: "https://two.example/"}}}
	for name, tt := range map[string]struct {
		issuer, subject string
		wrong           []string
	}{
		"an issuer's subject":         {"https://one.example", "sub", nil},
		"of another issuer":           {"https://two.example/", strings.Repeat("x", 255), nil},
		"an issuer that is not there": {"https://three.example", "sub", []string{"/issuer not_allowed_value"}},
		"one without its slash":       {"https://two.example", "sub", []string{"/issuer not_allowed_value"}},
		"no subject":                  {"https://one.example", "", []string{"/subject invalid_format"}},
		"one that is too long": {"https://one.example", strings.Repeat("x", 256),
			[]string{"/subject invalid_format"}},
		"one that has a NUL":        {"https://one.example", "a\x00", []string{"/subject invalid_format"}},
		"one that is not UTF-8":     {"https://one.example", "a\xff", []string{"/subject invalid_format"}},
		"all that is wrong at once": {"", "", []string{"/issuer not_allowed_value", "/subject invalid_format"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.EqualSlice(t, "wrongFields", wrongFields(t, account.CheckSignIn(org, tt.issuer, tt.subject)),
				tt.wrong)
		})
	}
}

func TestTakeSignIn(t *testing.T) {
	in := func(u *account.User, workspaces ...identity.WorkspaceID) *account.Person {
		p := &account.Person{User: *u}
		for _, ws := range workspaces {
			p.Memberships = append(p.Memberships, account.Membership{Workspace: account.Workspace{ID: ws}})
		}
		return p
	}
	report := func(p *account.Person) (out []string) {
		for _, e := range p.User.Recorded() {
			out = append(out, e.Type+" "+string(e.Workspace)+" "+e.Subject)
			if len(e.Data) != 1 || e.Data["issuer"] != issuer {
				t.Errorf("data = %v", e.Data)
			}
		}
		return out
	}
	ann := func() *account.Person { return in(user("ann", "ann@example.com", true), "acme", "beta") }
	t.Run("an unlinked sign-in is recorded where the person is", func(t *testing.T) {
		person := ann()
		require.NoError(t, person.TakeSignIn(signingIn, issuer, nil))
		assert.EqualSlice(t, "told", report(person), []string{"user.linked acme ann", "user.linked beta ann"})
	})
	t.Run("what was another's, where that one is too", func(t *testing.T) {
		person, from := ann(), in(user("bob", "", false), "gamma")
		require.NoError(t, person.TakeSignIn(signingIn, issuer, from))
		if got := append(report(person), report(from)...); !slices.Equal(got,
			[]string{"user.linked acme ann", "user.linked beta ann", "user.unlinked gamma bob"}) {
			t.Errorf("told %q", got)
		}
	})
	t.Run("their own is no news", func(t *testing.T) {
		person := ann()
		require.NoError(t, person.TakeSignIn(signingIn, issuer, ann()))
		if len(report(person)) != 0 {
			t.Errorf("told %q", report(person))
		}
	})
	t.Run("only the system may link, and not a user of another org", func(t *testing.T) {
		elsewhere := signingIn
		elsewhere.Org = "another"
		for _, by := range []identity.Actor{person("ann"), person("owner"), elsewhere} {
			person, from := ann(), in(user("bob", "", false))
			require.ErrorIs(t, person.TakeSignIn(by, issuer, from), account.ErrUserNotFound)
			if len(report(person))+len(report(from)) != 0 {
				t.Error("it was told all the same")
			}
		}
	})
}
