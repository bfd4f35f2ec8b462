package contract

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// PromptFolders is the suite for ports.PromptFolders, and for what shares of folders do in other stores.
func PromptFolders(t *testing.T, open Opener) {
	a := open(t)
	t.Run("shares of folders are kept", func(t *testing.T) { folderSharesKept(t, a) })
	t.Run("a template that moves", func(t *testing.T) { folderReshares(t, a) })
	t.Run("who leaves", func(t *testing.T) { folderLeaving(t, a) })
	t.Run("lists agree with Template.Access in any arrangement", func(t *testing.T) { folderWalk(t, a) })
}

// shareFolder shares a folder as an admin of team.
func shareFolder(t testing.TB, a Adapter, team *fixture.Team, path string, g prompt.Grant) prompt.FolderShare {
	t.Helper()
	var share prompt.FolderShare
	must(t, a.PromptFolders.Update(t.Context(), team.Admin, path, g.User,
		func(f *prompt.SharedFolder, target prompt.Recipient, previous *prompt.FolderShare) (err error) {
			share, err = f.Share(team.Admin, target, previous, g)
			return err
		}))
	return share
}

func unshareFolder(t testing.TB, a Adapter, team *fixture.Team, id prompt.FolderShareID) {
	t.Helper()
	must(t, a.PromptFolders.UpdateShare(t.Context(), team.Admin, id,
		func(f *prompt.SharedFolder, s prompt.FolderShare) error { return f.Unshare(team.Admin, nil, s) }))
}

func folderSharesKept(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	peer := team.Peer.User
	shares := map[string]prompt.FolderShare{}
	for path, role := range map[string]access.Role{"Ärger": access.Editor, "Ärger/Öl": access.Manager,
		"Ärger2": access.Viewer, "a_b": access.Viewer, "axb": access.Viewer} {
		shares[path] = shareFolder(t, a, team, path, prompt.Grant{User: peer, Role: role})
	}
	shareFolder(t, a, other, "Ärger", prompt.Grant{User: other.Member.User, Role: access.Viewer})

	t.Run("the shares of a folder are its own and those of the folders above it", func(t *testing.T) {
		for path, want := range map[string]int{"": 5, "ärger": 1, "ÄRGER/öl": 2, "Ärger/Öl/x": 2, "Ärger2": 1, "a_b": 1,
			"none": 0} {
			for _, limit := range []int{1, 100} {
				found := fixture.Pages(t, limit, func(q page.Query) (prompt.FolderSharePage, error) {
					return a.PromptFolders.Shares(ctx, team.Workspace.ID, path, q)
				})
				same(t, path, len(found), want)
			}
		}
	})
	t.Run("a share is found in its workspace only, with its folder", func(t *testing.T) {
		f, s, err := a.PromptFolders.Share(ctx, team.Peer, shares["Ärger/Öl"].ID)
		must(t, err)
		u, _, err := a.Users.Get(ctx, team.Org, peer)
		must(t, err)
		want := shares["Ärger/Öl"]
		want.Name, want.Email = u.Name, u.Email
		same(t, "the share", s, want)
		if f.Path != "Ärger/Öl" || f.Shares != 5 || f.Access(team.Peer) != access.Manager {
			t.Errorf("the folder is %+v", f)
		}
		_, _, err = a.PromptFolders.Share(ctx, other.Member, want.ID)
		wantErr(t, err, prompt.ErrFolderShareNotFound)
		wantErr(t, a.PromptFolders.UpdateShare(ctx, other.Admin, want.ID, nil), prompt.ErrFolderShareNotFound)
	})
	t.Run("a folder has what was granted on it and on those above, for the caller", func(t *testing.T) {
		for path, want := range map[string]access.Role{"ärger": access.Editor, "Ärger/x": access.Editor,
			"ärger/öl/x": access.Manager, "Ärgerx": access.None, "axbc": access.None, "top": access.None} {
			f, err := a.PromptFolders.Folder(ctx, team.Peer, path)
			must(t, err)
			same(t, path, f.Access(team.Peer), want)
			f, err = a.PromptFolders.Folder(ctx, team.Member, path)
			must(t, err)
			same(t, path+" for another", f.Access(team.Member), access.None)
		}
	})
	t.Run("nothing is stored after an error", func(t *testing.T) {
		wantErr(t, a.PromptFolders.Update(ctx, team.Admin, "boom", peer,
			func(f *prompt.SharedFolder, target prompt.Recipient, previous *prompt.FolderShare) error {
				_, err := f.Share(team.Admin, target, previous, prompt.Grant{User: peer, Role: access.Viewer})
				must(t, err)
				return errBoom
			}), errBoom)
		found, err := a.PromptFolders.Shares(ctx, team.Workspace.ID, "boom", page.Query{Limit: 10})
		must(t, err)
		same(t, "shares", len(found.Items), 0)
	})
	t.Run("a share that has expired is replaced, whatever the case of the folder", func(t *testing.T) {
		first := shareFolder(t, a, team, "Short",
			prompt.Grant{User: peer, Role: access.Viewer, ExpiresAt: fixture.At.Add(time.Hour)})
		by := fixture.Later(team.Admin, time.Hour)
		var second prompt.FolderShare
		must(t, a.PromptFolders.Update(ctx, by, "SHORT", peer,
			func(f *prompt.SharedFolder, target prompt.Recipient, previous *prompt.FolderShare) (err error) {
				if previous == nil || previous.ID != first.ID || !target.InWorkspace || f.Shares != 6 {
					t.Errorf("it had %+v, %+v, %d", previous, target, f.Shares)
				}
				second, err = f.Share(by, target, previous, prompt.Grant{User: peer, Role: access.Editor})
				return err
			}))
		found, err := a.PromptFolders.Shares(ctx, team.Workspace.ID, "short", page.Query{Limit: 10})
		must(t, err)
		if len(found.Items) != 1 || found.Items[0].ID != second.ID || found.Items[0].Role != access.Editor {
			t.Errorf("the shares are %+v", found.Items)
		}
	})
	t.Run("who is in no workspace or another one is no member", func(t *testing.T) {
		for _, user := range []identity.UserID{"", "usr_none", other.Member.User, team.Gone.User} {
			must(t, a.PromptFolders.Update(ctx, team.Admin, "x", user,
				func(_ *prompt.SharedFolder, target prompt.Recipient, previous *prompt.FolderShare) error {
					if target.InWorkspace || previous != nil {
						t.Errorf("%q is %+v, with %+v", user, target, previous)
					}
					return nil
				}))
		}
	})
	t.Run("each change is an event", func(t *testing.T) {
		s := shares["a_b"]
		must(t, a.PromptFolders.UpdateShare(ctx, team.Admin, s.ID,
			func(f *prompt.SharedFolder, s prompt.FolderShare) error {
				_, err := f.ChangeShare(team.Admin, nil, s, prompt.ShareChanges{Role: new(access.Manager)})
				return err
			}))
		unshareFolder(t, a, team, s.ID)
		same(t, "the events", kinds(eventsOn(t, a.Stores, team.Workspace.ID, string(s.ID))),
			[]string{"folder_share.deleted", "folder_share.updated", "folder_share.created"})
	})
}

func folderReshares(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	shareFolder(t, a, team, "Shared_1", prompt.Grant{User: team.Peer.User, Role: access.Viewer})
	shareFolder(t, a, team, "short",
		prompt.Grant{User: team.Peer.User, Role: access.Viewer, ExpiresAt: fixture.At.Add(time.Second)})
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"x", "y", false}, {"x", "shared_1/x", true}, {"SHARED_1/x", "x", true}, {"shared_1/x", "Shared_1/deep/y", false},
		{"x", "sharedX1/x", false}, {"x", "shared_1x/y", false}, {"x", "shared_1", false}, {"x", "short/x", true},
	} {
		got, err := a.PromptFolders.Reshares(t.Context(), team.Member, tt.before, tt.after)
		must(t, err)
		same(t, tt.before+" to "+tt.after, got, tt.want)
	}
	late := fixture.Later(team.Member, time.Second)
	got, err := a.PromptFolders.Reshares(t.Context(), late, "x", "short/x")
	must(t, err)
	same(t, "into a share that has expired", got, false)
}

func folderLeaving(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	_, key := fixture.Key(t, a.Stores, team.Peer, account.KeyDraft{Name: "k"})
	check := func(t *testing.T, want bool) {
		t.Helper()
		same(t, "grouped", isGrouped(t, a, team.Peer, key.Hash()), want)
	}
	check(t, false)
	group := addGroup(t, a, team, team.Peer.User)
	share := shareFolder(t, a, team, "x", prompt.Grant{User: team.Peer.User, Role: access.Viewer})
	byGroup := shareFolder(t, a, team, "x", prompt.Grant{User: group, Role: access.Editor})
	f, err := a.PromptFolders.Folder(ctx, team.Peer, "x")
	must(t, err)
	same(t, "role by the group", f.Access(team.Peer), access.Editor)
	must(t, editGroup(t, a, team, group, func(w *account.Workspace, g *account.Group) error {
		return w.DeleteGroup(team.Admin, nil, g)
	}))
	_, _, err = a.PromptFolders.Share(ctx, team.Admin, byGroup.ID)
	wantErr(t, err, prompt.ErrFolderShareNotFound)
	check(t, true) // by the share
	unshareFolder(t, a, team, share.ID)
	check(t, false)
	share = shareFolder(t, a, team, "x", prompt.Grant{User: team.Peer.User, Role: access.Viewer})
	check(t, true)
	_, err = a.Workspaces.Update(ctx, team.Admin, team.Workspace.ID, []identity.UserID{team.Peer.User},
		func(w *account.Workspace) error { return w.Remove(team.Admin, nil, team.Peer.User, false) })
	must(t, err)
	_, _, err = a.PromptFolders.Share(ctx, team.Admin, share.ID)
	wantErr(t, err, prompt.ErrFolderShareNotFound)
}
