package prompt_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// The people around the template that sharedTemplate makes, each in the workspace acme unless said.
var (
	owner    = actor("ann", identity.Member)
	manager  = actor("max", identity.Member)
	editor   = actor("eve", identity.Viewer) // a share counts, whatever the role in the workspace
	viewer   = actor("vic", identity.Member)
	expired  = actor("exp", identity.Member)
	stranger = actor("sam", identity.Member)
	admin    = actor("ada", identity.Admin)
	boss     = actor("bob", identity.Owner)
	capped   = with(owner, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer })
	uncapped = with(owner, func(a *identity.Actor) { a.Ceiling = identity.NoRole })
	nobody   = with(owner, func(a *identity.Actor) { a.Role = identity.NoRole })
	outsider = with(owner, func(a *identity.Actor) { a.Workspace, a.Role = "other", identity.Owner })
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

func with(a identity.Actor, change func(*identity.Actor)) identity.Actor {
	change(&a)
	return a
}

// shares are those of the template that sharedTemplate returns.
func shares() map[identity.UserID]prompt.Share {
	all := map[identity.UserID]prompt.Share{
		"max": {Role: access.Manager}, "eve": {Role: access.Editor, ExpiresAt: now.Add(1)},
		"vic": {Role: access.Viewer}, "exp": {Role: access.Manager, ExpiresAt: now},
	}
	for user, s := range all {
		s.User, s.Revision = user, 1
		all[user] = s
	}
	return all
}

// named returns what a store knows of a user who is named by a change.
func named(user identity.UserID) prompt.Recipient {
	members := []identity.UserID{"ann", "max", "eve", "vic", "exp", "sam", "ada", "bob", "new"}
	r := prompt.Recipient{User: user, InWorkspace: slices.Contains(members, user), Shares: 4}
	if s, ok := shares()[user]; ok {
		r.Share = &s
	}
	return r
}

// apply changes tmpl as by.
func apply(tmpl *prompt.Template, by identity.Actor, match revision.Match, c prompt.Changes) error {
	var owner prompt.Recipient
	if c.Owner != nil {
		owner = named(*c.Owner)
	}
	return tmpl.Change(by, match, c, owner)
}

// sharedTemplate returns ann's private template with a share of each kind and three versions: 1 is active, 2 a
// draft, 3 frozen by its label.
func sharedTemplate() (t *prompt.Template, versions map[int]*prompt.Version) {
	t = &prompt.Template{
		Resource: access.Resource{
			Subject:  access.Subject{Workspace: "acme", Owner: "ann", Visibility: access.Private},
			Revision: 7, CreatedAt: now.Add(-time.Hour), UpdatedAt: now.Add(-time.Hour),
		},
		ID: "tpl", Name: "Greeting", Type: prompt.Text, Tags: []string{"a"}, LastNumber: 3,
		Compatibility:  prompt.Unchecked,
		IncludeMode:    prompt.Pinned,
		Active:         prompt.Active{Version: "ver1", Number: 1},
		AllVersions:    prompt.Summary{Count: 3, Latest: "ver3", LatestNumber: 3},
		FrozenVersions: prompt.Summary{Count: 2, Latest: "ver3", LatestNumber: 3},
	}
	for _, s := range []identity.UserID{"max", "eve", "vic", "exp"} {
		share := shares()[s]
		t.Grants.Set(access.Grant{User: s, Role: share.Role, ExpiresAt: share.ExpiresAt})
	}
	content := prompt.Content{Text: "Hello", Format: prompt.Mustache}
	versions = map[int]*prompt.Version{}
	for n, vid := range map[int]prompt.VersionID{1: "ver1", 2: "ver2", 3: "ver3"} {
		versions[n] = &prompt.Version{Content: content, VersionInfo: prompt.VersionInfo{
			ID: vid, Template: "tpl", Number: n, ContentHash: content.Hash(), Frozen: n != 2, Revision: 1,
		}}
	}
	versions[3].Labels = []string{"live", "stable"}
	return t, versions
}

// info returns the VersionInfo of v; nil for nil.
func info(v *prompt.Version) *prompt.VersionInfo {
	if v == nil {
		return nil
	}
	return &v.VersionInfo
}

// counted fails t unless the template counts its versions so.
func counted(t testing.TB, tmpl *prompt.Template, all, frozen prompt.Summary) {
	t.Helper()
	if tmpl.AllVersions != all || tmpl.FrozenVersions != frozen {
		t.Errorf("all versions %+v, frozen %+v; want %+v, %+v", tmpl.AllVersions, tmpl.FrozenVersions, all, frozen)
	}
}

// unchanged fails t unless a and b are the same and nothing was recorded.
func unchanged(t testing.TB, got, want *prompt.Template) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(event.Log{})); d != "" || len(got.Recorded()) > 0 {
		t.Fatalf("recorded %d events; changes (-before +after):\n%s", len(got.Recorded()), d)
	}
}

// recorded fails t unless the template recorded exactly these events, with the right actor and subject.
func recorded(t testing.TB, template *prompt.Template, by identity.Actor, types ...string) {
	t.Helper()
	var got []string
	for _, e := range template.Recorded() {
		got = append(got, e.Type)
		if e.Actor != by.User || e.Subject != string(template.ID) || e.At != by.At || e.Workspace != "acme" ||
			!id.Valid(event.Prefix, e.ID) {
			t.Errorf("event %+v", e)
		}
	}
	if !slices.Equal(got, types) {
		t.Fatalf("recorded %q, want %q", got, types)
	}
}

// wrongFields lists pointers and codes of what an error says about a body.
func wrongFields(t testing.TB, err error) (out []string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if err != nil && (!ok || f.Code != fault.ErrInvalid.Code) {
		t.Fatalf("error = %v, want one about fields", err)
	}
	if ok {
		for _, field := range f.Fields {
			out = append(out, field.Pointer+" "+field.Code)
		}
	}
	return out
}
