package prompt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestRefusalsSayWhatIsMissing(t *testing.T) {
	tmpl, versions := sharedTemplate()
	detail := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	for want, err := range map[string]error{
		"Requires the editor role on the prompt template.":  tmpl.Allow(viewer, access.Editor),
		"Requires the manager role on the prompt template.": tmpl.Allow(editor, access.Manager),
		"Requires the owner role on the prompt template.":   tmpl.Allow(editor, access.Owner),
		"This credential is read-only.": tmpl.Allow(with(owner,
			func(a *identity.Actor) { a.Ceiling = identity.Viewer }), access.Editor),
	} {
		if detail(err) != want || !errors.Is(err, prompt.ErrForbidden) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	tmpl.Protected = true
	labels := []string{"live"}
	_, addition := tmpl.AddVersion(editor, prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Labels: labels}, nil)
	for _, err := range []error{addition, tmpl.Activate(editor, nil, info(versions[2]), nil, ""),
		tmpl.ChangeVersion(editor, nil, versions[2], prompt.VersionChanges{Labels: &labels}, nil)} {
		if !errors.Is(err, prompt.ErrForbidden) || !strings.Contains(detail(err), "is protected") {
			t.Errorf("error = %v, want one about protection", err)
		}
	}
	reading := &prompt.Reading{Subject: tmpl.Subject, ID: tmpl.ID}
	if err := reading.Allow(owner, prompt.Ref{Active: true}, nil); !errors.Is(err, prompt.ErrVersionNotFound) ||
		!strings.Contains(detail(err), "active yet") {
		t.Errorf("error = %v, want that none is active", err)
	}
	if err := reading.Allow(owner, prompt.Ref{Number: 9}, nil); detail(err) != prompt.ErrVersionNotFound.Detail {
		t.Errorf("error = %v", err)
	}
}

func TestAccess(t *testing.T) {
	leave := func(t *prompt.Template) { t.OwnerLeft = true }
	show := func(t *prompt.Template) { t.Visibility = access.Workspace }
	for _, tt := range []struct {
		name   string
		by     identity.Actor
		change func(*prompt.Template)
		want   access.Role
	}{
		{"the owner owns it", owner, nil, access.Owner},
		{"even as a viewer of the workspace", with(owner, func(a *identity.Actor) { a.Role = identity.Viewer }), nil,
			access.Owner},
		{"a share gives what it says: manager", manager, nil, access.Manager},
		{"a share gives what it says: editor", editor, nil, access.Editor},
		{"a share gives what it says: viewer", viewer, nil, access.Viewer},
		{"an expired share gives nothing", expired, nil, access.None},
		{"a share ends at its very moment", with(editor, func(a *identity.Actor) { a.At = now.Add(1) }), nil,
			access.None},
		{"a member without a share has nothing", stranger, nil, access.None},
		{"unless the workspace may see it", stranger, show, access.Viewer},
		{"a viewer of the workspace too", actor("sam", identity.Viewer), show, access.Viewer},
		{"a share counts beside that", editor, show, access.Editor},
		{"an expired one leaves that", expired, show, access.Viewer},
		{"an admin of the workspace manages", admin, nil, access.Manager},
		{"so does its owner", boss, nil, access.Manager},
		{"who acts as owner if the owner has left", boss, leave, access.Owner},
		{"but an admin does not", admin, leave, access.Manager},
		{"nor does a member", stranger, leave, access.None},
		{"the owner still does", owner, leave, access.Owner},
		{"a viewing credential caps an owner", capped, nil, access.Viewer},
		{"and an admin", with(admin, func(a *identity.Actor) { a.Ceiling = identity.Viewer }), nil, access.Viewer},
		{"and gives nothing by itself", with(stranger, func(a *identity.Actor) { a.Ceiling = identity.Viewer }), nil,
			access.None},
		{"a member's credential caps nothing of an owner",
			with(owner, func(a *identity.Actor) { a.Ceiling = identity.Member }), nil, access.Owner},
		{"a credential without a ceiling gives nothing", uncapped, show, access.None},
		{"no role, no access", nobody, show, access.None},
		{"another workspace's owner has none", outsider, show, access.None},
		{"nor has the zero actor", identity.Actor{}, show, access.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			if tt.change != nil {
				tt.change(tmpl)
			}
			assert.Equal(t, "Access", tmpl.Access(tt.by), tt.want)
		})
	}
}

func TestAccessProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		role := rapid.SampledFrom([]identity.Role{identity.NoRole, identity.Viewer, identity.Member, identity.Admin,
			identity.Owner})
		by := identity.Actor{
			User:      rapid.SampledFrom([]identity.UserID{"ann", "sam"}).Draw(t, "user"),
			Workspace: rapid.SampledFrom([]identity.WorkspaceID{"acme", "other"}).Draw(t, "workspace"),
			Role:      role.Draw(t, "role"), Ceiling: role.Draw(t, "ceiling"), At: now,
		}
		share := access.Grant{User: by.User,
			Role: rapid.SampledFrom([]access.Role{access.None, access.Viewer, access.Editor, access.Manager}).Draw(t,
				"share")}
		if rapid.Bool().Draw(t, "expired") {
			share.ExpiresAt = now
		}
		tmpl := prompt.Template{Resource: access.Resource{OwnerLeft: rapid.Bool().Draw(t, "left"),
			Subject: access.Subject{
				Workspace: "acme", Owner: "ann", Grants: access.Grants{share},
				Visibility: rapid.SampledFrom([]access.Visibility{access.Private, access.Workspace}).Draw(t,
					"visibility"),
			}}}
		got := tmpl.Access(by)
		if by.Workspace != tmpl.Workspace && got != access.None {
			t.Fatalf("another workspace has %q", got)
		}
		if by.Ceiling <= identity.Viewer && got > access.Viewer {
			t.Fatalf("a viewing credential has %q", got)
		}
		tmpl.Grants = nil
		if other := tmpl.Access(by); other > got {
			t.Fatalf("%q without the share, %q with it", other, got)
		}
		if err := tmpl.Allow(by, access.Viewer); (err == nil) != (tmpl.Access(by) >= access.Viewer) {
			t.Fatalf("Allow = %v", err)
		}
		if tmpl.DeletedAt = now; tmpl.Allow(by, access.Viewer) == nil {
			t.Fatal("a deleted template allows something")
		}
	})
}

// operations is the table of api.md, section 5: one operation per row, and the role that it requires.
var operations = []struct {
	name      string
	protected bool
	need      access.Role
	draft     bool // it is about a draft, which viewers do not see
	do        func(t *prompt.Template, v map[int]*prompt.Version, by identity.Actor) error
}{
	{"read it", false, access.Viewer, false,
		func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
			return t.Allow(by, access.Viewer)
		}},
	{"change name, description, tags and metadata", false, access.Editor, false,
		change(prompt.Changes{Name: new("x"), Description: new("x"), Tags: &[]string{"x"}})},
	{"change them though it is protected", true, access.Editor, false, change(prompt.Changes{Name: new("x")})},
	{"change its visibility", false, access.Manager, false, change(prompt.Changes{Visibility: new(access.Workspace)})},
	{"protect it", false, access.Manager, false, change(prompt.Changes{Protected: new(true)})},
	{"check its contract", false, access.Manager, false,
		change(prompt.Changes{Compatibility: new(prompt.Backward)})},
	{"lift its protection", true, access.Manager, false, change(prompt.Changes{Protected: new(false)})},
	{"transfer it", false, access.Owner, false, change(prompt.Changes{Owner: new(identity.UserID("sam"))})},
	{"delete it", false, access.Owner, false,
		func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error { return t.Delete(by, nil) }},

	{"add a version", false, access.Editor, false, addVersion()},
	{"add one though it is protected", true, access.Editor, false, addVersion()},
	{"add one with a label", false, access.Editor, false, addVersion("live")},
	{"add one with a label though it is protected", true, access.Manager, false, addVersion("live")},
	{"edit a draft", true, access.Editor, true,
		changeVersion(2, prompt.VersionChanges{Content: func(c prompt.Content) prompt.Content {
			c.Text = "x"
			return c
		}})},
	{"edit a frozen version's message", true, access.Editor, false,
		changeVersion(1, prompt.VersionChanges{CommitMessage: new("x")})},
	{"label a draft", false, access.Editor, true, changeVersion(2, prompt.VersionChanges{Labels: &[]string{"live"}})},
	{"label a draft though it is protected", true, access.Manager, true,
		changeVersion(2, prompt.VersionChanges{Labels: &[]string{"live"}})},
	{"move labels", false, access.Editor, false, changeVersion(1, prompt.VersionChanges{Labels: &[]string{"live"}})},
	{"move labels though it is protected", true, access.Manager, false,
		changeVersion(1, prompt.VersionChanges{Labels: &[]string{"live"}})},
	{"send the labels that it has", true, access.Editor, false,
		changeVersion(3, prompt.VersionChanges{Labels: &[]string{"stable", "live"}, CommitMessage: new("x")})},
	{"delete a draft", true, access.Editor, true, deleteVersion(2)},
	{"delete a frozen version", false, access.Manager, false, deleteVersion(3)},
	{"activate a frozen version", false, access.Editor, false, activate(3)},
	{"activate a draft", false, access.Editor, true, activate(2)},
	{"activate one though it is protected", true, access.Manager, false, activate(3)},

	{"share it", false, access.Manager, false,
		func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
			_, err := t.Share(by, named("new"), prompt.Grant{User: "new", Role: access.Viewer})
			return err
		}},
	{"change a share", false, access.Manager, false,
		func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
			_, err := t.ChangeShare(by, nil, named("exp"), prompt.ShareChanges{Role: new(access.Editor)})
			return err
		}},
	{"take a share away", false, access.Manager, false,
		func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
			return t.Unshare(by, nil, named("exp"))
		}},
}

func change(c prompt.Changes) func(*prompt.Template, map[int]*prompt.Version, identity.Actor) error {
	return func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
		return apply(t, by, nil, c)
	}
}

func addVersion(labels ...string) func(*prompt.Template, map[int]*prompt.Version, identity.Actor) error {
	return func(t *prompt.Template, _ map[int]*prompt.Version, by identity.Actor) error {
		_, err := t.AddVersion(by, prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Labels: labels}, nil)
		return err
	}
}

func changeVersion(n int, c prompt.VersionChanges) func(*prompt.Template, map[int]*prompt.Version,
	identity.Actor) error {
	return func(t *prompt.Template, v map[int]*prompt.Version, by identity.Actor) error {
		return t.ChangeVersion(by, nil, v[n], c, nil)
	}
}

func deleteVersion(n int) func(*prompt.Template, map[int]*prompt.Version, identity.Actor) error {
	return func(t *prompt.Template, v map[int]*prompt.Version, by identity.Actor) error {
		return t.DeleteVersion(by, nil, info(v[n]), nil)
	}
}

func activate(n int) func(*prompt.Template, map[int]*prompt.Version, identity.Actor) error {
	return func(t *prompt.Template, v map[int]*prompt.Version, by identity.Actor) error {
		return t.Activate(by, nil, info(v[n]), nil, "why")
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	callers := map[string]struct {
		by     identity.Actor
		access access.Role
	}{
		"the owner": {owner, access.Owner}, "a manager": {manager, access.Manager},
		"an editor": {editor, access.Editor}, "a viewer": {viewer, access.Viewer},
		"an admin": {admin, access.Manager}, "the workspace's owner": {boss, access.Manager},
		"the owner's viewing credential": {capped, access.Viewer},
		"whose share has expired":        {expired, access.None}, "a stranger": {stranger, access.None},
		"nobody": {nobody, access.None}, "an outsider": {outsider, access.None},
	}
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			for name, c := range callers {
				tmpl, versions := sharedTemplate()
				tmpl.Protected = op.protected
				previous, _ := sharedTemplate()
				previous.Protected = op.protected
				var want error
				switch {
				case c.access == access.None:
					want = prompt.ErrNotFound
				case op.draft && c.access < access.Editor:
					want = prompt.ErrVersionNotFound
				case c.access < op.need:
					want = prompt.ErrForbidden
				}
				err := op.do(tmpl, versions, c.by)
				if (err == nil) != (want == nil) {
					t.Errorf("%s: error = %v, want %v", name, err, want)
					continue
				}
				if want != nil {
					require.ErrorIs(t, err, want)
					unchanged(t, tmpl, previous)
				} else if op.need > access.Viewer && len(tmpl.Recorded()) == 0 {
					t.Errorf("%s: nothing was recorded", name)
				}
			}
		})
		t.Run("no one may "+op.name+" once it is deleted", func(t *testing.T) {
			for name, c := range callers {
				tmpl, versions := sharedTemplate()
				tmpl.DeletedAt = now.Add(-time.Minute)
				if err := op.do(tmpl, versions, c.by); err == nil {
					t.Errorf("%s may", name)
				} else {
					require.ErrorIs(t, err, prompt.ErrNotFound)
				}
			}
		})
	}
}

func TestSeesDrafts(t *testing.T) {
	tmpl, versions := sharedTemplate()
	foreign := &prompt.VersionInfo{ID: "ver1", Template: "another", Frozen: true}
	for name, tt := range map[string]struct {
		by   identity.Actor
		sees bool
	}{"an editor sees drafts": {editor, true}, "a viewer does not": {viewer, false},
		"a viewing credential does not": {capped, false}} {
		t.Run(name, func(t *testing.T) {
			if tmpl.SeesDrafts(tt.by) != tt.sees || tmpl.Has(tt.by, info(versions[2])) != tt.sees {
				t.Error("drafts")
			}
			if !tmpl.Has(tt.by, info(versions[1])) || tmpl.Has(tt.by, nil) || tmpl.Has(tt.by, foreign) {
				t.Error("Has: frozen ones, and neither none nor another template's")
			}
			want := tmpl.FrozenVersions
			if tt.sees {
				want = tmpl.AllVersions
			}
			assert.Equal(t, "Versions", tmpl.Versions(tt.by), want)
			latest, frozen := prompt.Ref{Latest: true}, prompt.Ref{Latest: true, Frozen: true}
			assert.Equal(t, "the latest version", tmpl.LatestFor(tt.by, latest), want.Latest)
			assert.Equal(t, "the latest frozen version", tmpl.LatestFor(tt.by, frozen), tmpl.FrozenVersions.Latest)
		})
	}
}

func TestParseAccess(t *testing.T) {
	for name, want := range map[string]access.Role{
		"viewer": access.Viewer, "editor": access.Editor, "manager": access.Manager, "owner": access.None,
		"": access.None, "Viewer": access.None, "admin": access.None,
	} {
		if got := access.Parse(name); got != want || (got != access.None && got.String() != name) {
			t.Errorf("ParseAccess(%q) = %q", name, got)
		}
	}
	if access.Owner.String() != "owner" || access.None.String() != "" {
		t.Error("names of owner and none")
	}
}

// TestRevisions calls every change with another revision than the current one.
func TestRevisions(t *testing.T) {
	const other = 99
	for name, tt := range map[string]struct {
		revision int64 // the current one
		do       func(t *prompt.Template, v map[int]*prompt.Version, match revision.Match) error
	}{
		"Change": {7, func(t *prompt.Template, _ map[int]*prompt.Version, match revision.Match) error {
			return apply(t, owner, match, prompt.Changes{Name: new("x")})
		}},
		"Delete": {7, func(t *prompt.Template, _ map[int]*prompt.Version, match revision.Match) error {
			return t.Delete(owner, match)
		}},
		"Activate": {7, func(t *prompt.Template, v map[int]*prompt.Version, match revision.Match) error {
			return t.Activate(owner, match, info(v[2]), nil, "")
		}},
		"ChangeVersion": {1, func(t *prompt.Template, v map[int]*prompt.Version, match revision.Match) error {
			return t.ChangeVersion(owner, match, v[2], prompt.VersionChanges{CommitMessage: new("x")}, nil)
		}},
		"DeleteVersion": {1, func(t *prompt.Template, v map[int]*prompt.Version, match revision.Match) error {
			return t.DeleteVersion(owner, match, info(v[2]), nil)
		}},
		"ChangeShare": {1, func(t *prompt.Template, _ map[int]*prompt.Version, match revision.Match) error {
			_, err := t.ChangeShare(owner, match, named("vic"), prompt.ShareChanges{Role: new(access.Editor)})
			return err
		}},
		"Unshare": {1, func(t *prompt.Template, _ map[int]*prompt.Version, match revision.Match) error {
			return t.Unshare(owner, match, named("vic"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			previous, _ := sharedTemplate()
			require.ErrorIs(t, tt.do(tmpl, versions, revision.Match{other}), revision.ErrMismatch)
			unchanged(t, tmpl, previous)
			require.NoError(t, tt.do(tmpl, versions, revision.Match{other, tt.revision}))
		})
	}
}

func TestOrphan(t *testing.T) {
	tmpl, _ := sharedTemplate()
	tmpl.Orphan(owner, []prompt.Use{{ID: "ctpl_1", Owner: "sam"}, {ID: "ctpl_2", Owner: "max"}})
	for i, want := range []string{"ctpl_1 sam", "ctpl_2 max"} {
		e := tmpl.Recorded()[i]
		got := fmt.Sprint(e.Subject, " ", e.Data["owner_id"])
		if got != want || e.Type != "chat_template.degraded" || e.Data["prompt_template_id"] != tmpl.ID {
			t.Errorf("event %+v, want %s", e, want)
		}
	}
}
