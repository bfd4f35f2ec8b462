package account_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var directoryOrg = &identity.Org{ID: "org", SCIM: &identity.SCIM{EmailDomains: []string{"example.com"}}}

func TestWhatADirectoryMaySayAboutAPerson(t *testing.T) {
	by := identity.System("org", "", "scim", now)
	for name, tt := range map[string]struct {
		p    account.DirectoryPerson
		want string // the field that is wrong
	}{
		"a name":                            {account.DirectoryPerson{UserName: "ann"}, ""},
		"an address as the name":            {account.DirectoryPerson{UserName: "ann@example.com"}, ""},
		"nothing":                           {account.DirectoryPerson{}, "/userName"},
		"a long name":                       {account.DirectoryPerson{UserName: strings.Repeat("a", 256)}, "/userName"},
		"a name with a line":                {account.DirectoryPerson{UserName: "a\nb"}, "/userName"},
		"a long id":                         {account.DirectoryPerson{UserName: "a", ExternalID: strings.Repeat("a", 256)}, "/externalId"},
		"a long display name":               {account.DirectoryPerson{UserName: "a", Display: strings.Repeat("ä", 121)}, "/displayName"},
		"a display name of many bytes":      {account.DirectoryPerson{UserName: "a", Display: strings.Repeat("ä", 120)}, ""},
		"a family name with a control":      {account.DirectoryPerson{UserName: "a", FamilyName: "\x00"}, "/name/familyName"},
		"an address of another domain":      {account.DirectoryPerson{UserName: "a", Email: "a@elsewhere.example"}, "/emails"},
		"a name in another domain":          {account.DirectoryPerson{UserName: "a@elsewhere.example"}, "/emails"},
		"no address":                        {account.DirectoryPerson{UserName: "a", Email: "a"}, "/emails"},
		"an address that looks like a name": {account.DirectoryPerson{UserName: "a", Email: "аnn@example.com"}, "/emails"},
	} {
		_, err := account.NewDirectoryUser(by, directoryOrg, tt.p)
		problem := ""
		if f, ok := errors.AsType[*fault.Error](err); ok && len(f.Fields) == 1 {
			problem = f.Fields[0].Pointer
		}
		if problem != tt.want || (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatADirectorySaysIsAToken(t *testing.T) {
	u := account.DirectoryUser{Subject: "dus_1", DirectoryPerson: account.DirectoryPerson{UserName: "ann@example.com",
		GivenName: "Ann", FamilyName: "Lee", Active: true}, Groups: []account.DirectoryGroup{{Name: "Engineering"}}}
	want := account.Claims{Issuer: identity.SCIMIssuer, Subject: "dus_1", Email: "ann@example.com", EmailVerified: true,
		Name: "Ann Lee", IssuedAt: now, ExpiresAt: now, Raw: map[string]any{"groups": []any{"Engineering"}}}
	if got := u.Claims(now); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	u.Display, u.Email = "Ann L.", "lee@example.com"
	if got := u.Claims(now); got.Name != "Ann L." || got.Email != "lee@example.com" {
		t.Errorf("%+v", got)
	}
}

func TestARemovedUserReturnsOnlyAsTheSamePerson(t *testing.T) {
	by := identity.System("org", "", "scim", now.Add(time.Hour))
	person := account.DirectoryPerson{UserName: "ann", ExternalID: "1", Active: true}
	u, err := account.NewDirectoryUser(identity.System("org", "", "scim", now), directoryOrg, person)
	require.NoError(t, err)
	assert.ErrorIs(t, u.Return(by, directoryOrg, person), account.ErrDirectoryUserExists)
	u.Remove(by)
	if u.Active || !u.RemovedAt.Equal(by.At) {
		t.Errorf("removed: %+v", u)
	}
	other := person
	other.ExternalID = "2"
	assert.ErrorIs(t, u.Return(by, directoryOrg, other), account.ErrDirectoryNameTaken)
	if err := u.Return(by, directoryOrg, person); err != nil || !u.Active || !u.RemovedAt.IsZero() {
		t.Errorf("the same person: %v, %+v", err, u)
	}
}

func TestAGroupOfADirectoryHasEachPersonOnce(t *testing.T) {
	by := identity.System("org", "", "scim", now)
	g, err := account.NewDirectoryGroup(by, "Engineering", "", []identity.UserID{"b", "a", "b"})
	if err != nil || !reflect.DeepEqual(g.People, []identity.UserID{"a", "b"}) {
		t.Errorf("%+v, %v", g, err)
	}
	for _, name := range []string{"", strings.Repeat("a", 256)} {
		if err := g.Change(by, name, "", nil); err == nil {
			t.Errorf("the name %q", name)
		}
	}
	multiple := make([]identity.UserID, account.MaxDirectoryPeople+1)
	for i := range multiple {
		multiple[i] = identity.UserID(strings.Repeat("a", i%100) + strings.Repeat("b", i/100))
	}
	if err := g.Change(by, "Everyone", "", multiple); err == nil {
		t.Error("too many people")
	}
}

func TestTheRulesOfADirectoryHaveADigest(t *testing.T) {
	newText := func(rules ...identity.ClaimRule) string {
		return account.DirectoryRules(&identity.Org{ClaimRules: rules})
	}
	rule := identity.ClaimRule{
		Issuer: identity.SCIMIssuer, Claim: "groups", Value: "a", Workspace: "w", Role: identity.Admin,
	}
	other := rule
	other.Role = identity.Viewer
	elsewhere := rule
	elsewhere.Issuer = "https://login.example"
	if newText(rule) == newText(other) || newText(rule) == newText() || newText(rule) != newText(rule, elsewhere) {
		t.Error("the digest does not follow the rules of the directory alone")
	}
}
