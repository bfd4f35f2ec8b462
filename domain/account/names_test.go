package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// deceiving is a name that v0.1.0 stored, and that is refused now.
const deceiving = "invoice\u202efdp.exe"

func TestNewNamesDoNotDeceive(t *testing.T) {
	system, by := identity.System("org", "acme", "cli", now), actor("ann", identity.Owner)
	for name, tt := range map[string]struct {
		code string
		call func(name string) (storedText string, err error)
	}{
		"a new user": {"invalid_format", func(name string) (string, error) {
			u, err := account.NewUser(system, "ann@example.com", name, false)
			if err != nil {
				return "", err
			}
			return u.Name, nil
		}},
		"a user": {"invalid_format", func(name string) (string, error) {
			u := user("ann", "ann@example.com", true)
			err := u.Change(by, nil, nil, account.UserChanges{Name: &name})
			return u.Name, err
		}},
		"a new workspace": {"invalid_characters", func(name string) (string, error) {
			w, err := account.NewWorkspace(person("ann"), nil, "acme-2", name)
			if err != nil {
				return "", err
			}
			return w.Name, nil
		}},
		"a workspace": {"invalid_characters", func(name string) (string, error) {
			w := acme()
			err := w.Change(person("owner"), nil, nil, account.WorkspaceChanges{Name: &name})
			return w.Name, err
		}},
		"a key": {"invalid_characters", func(name string) (string, error) {
			k, _, err := of(by).NewKey(by, identity.KeyPolicy{}, "ann", account.KeyDraft{Name: name})
			if err != nil {
				return "", err
			}
			return k.Name, nil
		}},
		"a service key and its bearer": {"invalid_characters", func(name string) (string, error) {
			u, k, _, err := of(by).NewServiceKey(by, identity.KeyPolicy{},
				account.KeyDraft{Name: name, Ceiling: identity.Member})
			if err != nil {
				return "", err
			}
			if u.Name != k.Name {
				t.Errorf("the bearer is called %q, the key %q", u.Name, k.Name)
			}
			return k.Name, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.call(deceiving)
			assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/name " + tt.code})
			if storedText, err := tt.call("A\u0308rger"); err != nil || storedText != "Ärger" {
				t.Errorf("stored %q, %v", storedText, err)
			}
		})
	}
}

func TestStoredNamesRefuseNoOtherChange(t *testing.T) {
	by, name := actor("ann", identity.Owner), deceiving
	t.Run("of a user", func(t *testing.T) {
		u := user("ann", "ann@example.com", true)
		u.Name, u.DefaultWorkspace = name, "acme"
		require.ErrorIs(t, u.Change(by, nil, nil,
			account.UserChanges{Name: &name, DefaultWorkspace: new(identity.WorkspaceID(""))}), nil)
		if u.Name != deceiving || u.DefaultWorkspace != "" {
			t.Errorf("user %+v", u)
		}
	})
	t.Run("of a workspace", func(t *testing.T) {
		w := acme()
		w.Name = name
		require.NoError(t, w.Change(person("owner"), nil, nil, account.WorkspaceChanges{Name: &name,
			Slug: new("other")}))
		if w.Name != deceiving || w.Slug != "other" {
			t.Errorf("workspace %+v", w)
		}
	})
	t.Run("a key can be rotated", func(t *testing.T) {
		old := &account.Key{ID: "k", Org: "org", Workspace: "acme", User: "ann", Name: name, Ceiling: identity.Member,
			Revision: 3}
		next, _, err := of(by).RotateKey(by, identity.KeyPolicy{}, nil, old, time.Minute)
		if err != nil || next.Name != deceiving {
			t.Errorf("key %+v, %v", next, err)
		}
	})
}

func TestNamesOfClaimsAreStripped(t *testing.T) {
	family := "\U0001f468\u200d\U0001f469"
	for claim, want := range map[string]string{
		deceiving:                         "invoicefdp.exe",
		"A\u200b\u0308nn":                 "Änn",
		"\u200b":                          "Ann", // what it was before
		strings.Repeat("x", 118) + family: strings.Repeat("x", 118) + "\U0001f468",
		strings.Repeat("x", 100) + family: strings.Repeat("x", 100) + family,
		"\u0645\u06cc\u200c\u062e\u0627":  "\u0645\u06cc\u200c\u062e\u0627",
	} {
		s := account.SignIn{Claims: claims(func(c *account.Claims) { c.Name = claim }), Org: open(),
			Linked: user("ann", "ann@example.com", true)}
		require.NoError(t, s.Settle(signingIn))
		assert.Equal(t, claim+": becomes", s.User.Name, want)
		p := &account.Person{User: *s.User, IssuedAt: s.Claims.IssuedAt}
		if !p.Settled(s.Claims, open()) {
			t.Errorf("%q is never settled", claim)
		}
	}
}
