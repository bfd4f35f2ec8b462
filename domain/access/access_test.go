package access_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAccess(t *testing.T) {
	actor := func(user identity.UserID, role, ceiling identity.Role) identity.Actor {
		return identity.Actor{User: user, Workspace: "acme", Role: role, Ceiling: ceiling}
	}
	ann, bob := actor("ann", identity.Member, identity.Owner), actor("bob", identity.Member, identity.Owner)
	admin, boss := actor("ada", identity.Admin, identity.Owner), actor("bo", identity.Owner, identity.Owner)
	elsewhere := actor("ann", identity.Owner, identity.Owner)
	elsewhere.Workspace = "other"
	private := access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "ann", Visibility: access.Private}}
	view, rest := private, private
	view.Visibility, rest.OwnerLeft = access.Workspace, true

	for name, tt := range map[string]struct {
		of      access.Resource
		by      identity.Actor
		granted access.Role
		want    access.Role
	}{
		"who made it owns it":                                 {private, ann, access.None, access.Owner},
		"whatever else was granted to them":                   {private, ann, access.Viewer, access.Owner},
		"others have what was granted":                        {private, bob, access.Editor, access.Editor},
		"and nothing without":                                 {private, bob, access.None, access.None},
		"but may view what the workspace may":                 {view, bob, access.None, access.Viewer},
		"which takes nothing from what was granted":           {view, bob, access.Manager, access.Manager},
		"an admin of the workspace manages":                   {private, admin, access.Viewer, access.Manager},
		"so does its owner":                                   {private, boss, access.None, access.Manager},
		"who stands in where the owner has left":              {rest, boss, access.None, access.Owner},
		"an admin does not":                                   {rest, admin, access.None, access.Manager},
		"a credential for viewing makes a viewer of an owner": {private, actor("ann", identity.Owner, identity.Viewer), access.None, access.Viewer},
		"and no stranger": {private, actor("bob", identity.Member, identity.Viewer),
			access.None, access.None},
		"a credential without a ceiling gives nothing": {view, actor("ann", identity.Owner, identity.NoRole),
			access.Manager, access.None},
		"who has no role in the workspace has none here": {view, actor("ann", identity.NoRole, identity.Owner),
			access.Manager, access.None},
		"another workspace's owner has none": {view, elsewhere, access.Manager, access.None},
		"nor has an anonymous caller":        {access.Resource{}, identity.Actor{}, access.Manager, access.None},
	} {
		t.Run(name, func(t *testing.T) {
			tt.of.Grants.Set(access.Grant{User: tt.by.User, Role: tt.granted})
			assert.Equal(t, "Access", tt.of.Access(tt.by), tt.want)
			if tt.of.CanView(tt.by) != (tt.want >= access.Viewer) ||
				tt.of.CanEdit(tt.by) != (tt.want >= access.Editor) {
				t.Errorf("CanView = %v, CanEdit = %v for %q", tt.of.CanView(tt.by), tt.of.CanEdit(tt.by), tt.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]access.Role{
		"viewer": access.Viewer, "editor": access.Editor, "manager": access.Manager,
		"owner": access.None, "": access.None, "Viewer": access.None, "admin": access.None,
	} {
		if got := access.Parse(text); got != want {
			t.Errorf("Parse(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	ann := identity.Actor{User: "ann", Workspace: "acme", Role: identity.Member, Ceiling: identity.Owner}
	admin, owner := ann, ann
	admin.Role, owner.User = identity.Admin, "bob"
	byFolder := access.Grant{User: "ann", By: access.ByFolder, Folder: "support", Role: access.Editor}
	byGroup := access.Grant{User: "ann", By: access.ByGroup, Role: access.Editor}
	for name, tt := range map[string]struct {
		by      identity.Actor
		granted access.Grants
		want    access.Reason
	}{
		"what one owns": {owner, access.Grants{{User: "bob", By: access.ByFolder, Role: access.Manager}},
			access.Reason{Role: access.Owner, By: access.ByOwnership}},
		"what the workspace sees": {ann, nil, access.Reason{Role: access.Viewer, By: access.ByVisibility}},
		"a share gives as much as the folder, and comes first": {ann,
			access.Grants{{User: "ann", Role: access.Editor}, byFolder}, access.Reason{Role: access.Editor}},
		"a folder gives more than a share": {ann, access.Grants{{User: "ann", Role: access.Viewer}, byFolder},
			access.Reason{Role: access.Editor, By: access.ByFolder, Folder: "support"}},
		"a group":              {ann, access.Grants{byGroup}, access.Reason{Role: access.Editor, By: access.ByGroup}},
		"the role of an admin": {admin, access.Grants{byFolder}, access.Reason{Role: access.Manager, By: access.ByWorkspace}},
	} {
		t.Run(name, func(t *testing.T) {
			r := access.Resource{Subject: access.Subject{Workspace: "acme", Owner: "bob", Visibility: access.Workspace,
				Grants: tt.granted}}
			assert.Equal(t, "the reason", r.Reason(tt.by), tt.want)
		})
	}
	grants := access.Grants{byFolder, byGroup}
	grants.Set(access.Grant{User: "ann", Role: access.Viewer})
	if len(grants) != 3 {
		t.Errorf("a share replaced what groups or folders give: %+v", grants)
	}
}
