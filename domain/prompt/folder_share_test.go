package prompt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// folder returns a folder that max manages by a share of the folder above it, and eve edits.
func folder() *prompt.SharedFolder {
	return &prompt.SharedFolder{Path: "support/eu", Shares: 4, Resource: access.Resource{Subject: access.Subject{
		Workspace: "acme", Visibility: access.Private, Grants: access.Grants{
			{User: "max", By: access.ByFolder, Folder: "support", Role: access.Manager},
			{User: "eve", By: access.ByFolder, Folder: "support", Role: access.Editor},
		}}}}
}

func folderShare(user identity.UserID, role access.Role) prompt.FolderShare {
	return prompt.FolderShare{ID: "pfsh_1", Folder: "support/eu",
		Share: prompt.Share{User: user, Role: role, Revision: 3}}
}

func folderEvents(f *prompt.SharedFolder) (types []string) {
	for _, e := range f.Recorded() {
		types = append(types, e.Type)
	}
	return types
}

func TestShareFolder(t *testing.T) {
	grant := prompt.Grant{User: "sam", Role: access.Editor}
	old := folderShare("sam", access.Viewer)
	expiredShare := old
	expiredShare.ExpiresAt = now
	readOnly := with(admin, func(a *identity.Actor) { a.Ceiling = identity.Viewer })
	for _, tt := range []struct {
		name string
		by   identity.Actor
		path string
		to   identity.UserID
		had  *prompt.FolderShare
		of   int
		g    prompt.Grant
		want error
	}{
		{"a manager of the folder above it may", manager, "", "sam", nil, 4, grant, nil},
		{"an admin may", admin, "", "sam", nil, 4, grant, nil},
		{"an editor may not", editor, "", "sam", nil, 4, grant, prompt.ErrFolderForbidden},
		{"a stranger may not", stranger, "", "sam", nil, 4, grant, prompt.ErrFolderForbidden},
		{"a credential for reading may not", readOnly, "", "sam", nil, 4, grant, prompt.ErrFolderForbidden},
		{"no one gives more than they have", manager, "", "sam", nil, 4,
			prompt.Grant{User: "sam", Role: access.Owner}, identity.ErrRoleCeiling},
		{"who is no member gets none", manager, "", "out", nil, 4, prompt.Grant{User: "out", Role: access.Viewer},
			prompt.ErrUserNotInWorkspace},
		{"no one gets two", manager, "", "sam", &old, 4, grant, prompt.ErrAlreadyShared},
		{"an expired one is replaced", manager, "", "sam", &expiredShare, prompt.MaxFolderShares, grant, nil},
		{"the 500th is the last", manager, "", "sam", nil, prompt.MaxFolderShares - 1, grant, nil},
		{"the 501st is one too many", manager, "", "sam", nil, prompt.MaxFolderShares, grant, prompt.ErrShareLimit},
		{"the root is no folder", admin, "-", "sam", nil, 4, grant, fault.ErrInvalid},
		{"a path with an empty part", admin, "a//b", "sam", nil, 4, grant, fault.ErrInvalid},
		{"a path that no template fits below", admin, strings.Repeat("x", 254), "sam", nil, 4, grant, fault.ErrInvalid},
		{"neither user nor address", admin, "", "sam", nil, 4, prompt.Grant{Role: access.Viewer}, fault.ErrInvalid},
		{"an end that was", admin, "", "sam", nil, 4,
			prompt.Grant{User: "sam", Role: access.Viewer, ExpiresAt: now}, fault.ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := folder()
			f.Shares = tt.of
			if tt.path != "" {
				f.Path = strings.TrimSuffix(tt.path, "-")
			}
			got, err := f.Share(tt.by, named(tt.to), tt.had, tt.g)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if len(f.Changed)+len(f.Recorded()) > 0 {
					t.Errorf("it recorded %+v", f.Changed)
				}
				return
			}
			if !slices.Equal(f.Changed, []prompt.FolderShare{got}) || got.Role != access.Editor || got.User != "sam" ||
				got.Folder != f.Path || got.GrantedBy != tt.by.User || got.Revision != 1 ||
				!slices.Equal(folderEvents(f), []string{"folder_share.created"}) {
				t.Errorf("it is %+v, to save %+v, %q", got, f.Changed, folderEvents(f))
			}
		})
	}
}

func TestChangeFolderShare(t *testing.T) {
	end := now.Add(time.Hour)
	for _, tt := range []struct {
		name string
		by   identity.Actor
		at   revision.Match
		c    prompt.ShareChanges
		want error
	}{
		{"a manager changes role and end", manager, revision.Match{3},
			prompt.ShareChanges{Role: new(access.Manager), ExpiresAt: &end}, nil},
		{"another revision", manager, revision.Match{2}, prompt.ShareChanges{}, revision.ErrMismatch},
		{"the user may not", stranger, nil, prompt.ShareChanges{Role: new(access.Manager)}, prompt.ErrFolderForbidden},
		{"others are told nothing", viewer, nil, prompt.ShareChanges{}, prompt.ErrFolderShareNotFound},
		{"no one gives more than they have", manager, nil, prompt.ShareChanges{Role: new(access.Owner)},
			identity.ErrRoleCeiling},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := folder()
			got, err := f.ChangeShare(tt.by, tt.at, folderShare("sam", access.Viewer), tt.c)
			require.ErrorIs(t, err, tt.want)
			if tt.want != nil {
				if len(f.Changed) > 0 {
					t.Errorf("it recorded %+v", f.Changed)
				}
				return
			}
			if got.Role != access.Manager || got.ExpiresAt != end || got.Revision != 4 ||
				!slices.Equal(f.Changed, []prompt.FolderShare{got}) {
				t.Errorf("it is %+v, to save %+v", got, f.Changed)
			}
			data := f.Recorded()[0].Data
			if data["folder"] != "support/eu" || data["role"] != (event.Change{From: "viewer", To: "manager"}) {
				t.Errorf("the event says %v", data)
			}
		})
	}
	f := folder()
	got, err := f.ChangeShare(manager, nil, folderShare("sam", access.Viewer),
		prompt.ShareChanges{Role: new(access.Viewer)})
	if err != nil || got.Revision != 3 || len(f.Changed) > 0 {
		t.Errorf("what changes nothing is %+v, %v", got, err)
	}
}

func TestUnshareFolder(t *testing.T) {
	readOnly := with(stranger, func(a *identity.Actor) { a.Ceiling = identity.Viewer })
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"a manager ends it":                 {manager, revision.Match{3}, nil},
		"everyone ends their own":           {stranger, nil, nil},
		"not with a credential for reading": {readOnly, nil, prompt.ErrFolderForbidden},
		"others are told nothing":           {editor, nil, prompt.ErrFolderShareNotFound},
		"another revision":                  {manager, revision.Match{2}, revision.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder()
			err := f.Unshare(tt.by, tt.at, folderShare("sam", access.Viewer))
			require.ErrorIs(t, err, tt.want)
			if hasEnded := len(f.Changed) == 1 && f.Changed[0].Role == access.None; hasEnded != (tt.want == nil) {
				t.Errorf("to save %+v", f.Changed)
			}
		})
	}
}

func TestAllowReshare(t *testing.T) {
	for by, want := range map[*identity.Actor]error{&owner: nil, &manager: nil, &editor: prompt.ErrForbidden,
		&viewer: prompt.ErrForbidden, &stranger: prompt.ErrNotFound} {
		tmpl, _ := sharedTemplate()
		if err := tmpl.AllowReshare(*by); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", by.User, err, want)
		}
	}
}

func TestFolderPaths(t *testing.T) {
	for name, want := range map[string]string{"a/b/c": "a/b", "a": "", "a/b": "a"} {
		if got := prompt.FolderOf(name); got != want {
			t.Errorf("FolderOf(%q) = %q", name, got)
		}
	}
	assert.Equal(t, "FolderPath", prompt.FolderPath("A\u0308/b/"), "Ä/b")
}
