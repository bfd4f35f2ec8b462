package prompt

import (
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// FolderSharePrefix begins the ids of shares of folders.
const FolderSharePrefix = "pfsh"

// MaxFolderShares is a workspace's maximum number of folder shares. Each read of a template examines all that the
// reader has.
const MaxFolderShares = 500

// FolderShareID identifies a folder share.
type FolderShareID string

// FolderShare is the role of one user or group on every template in a folder and its subfolders, now and later. It
// belongs to the path: moving a template into the folder shares it.
type FolderShare struct {
	ID     FolderShareID
	Folder string // as it was spelled when it was shared; case is ignored
	Share
}

// FolderSharePage is one page of shares of folders.
type FolderSharePage = page.Of[FolderShare]

// SharedFolder is a folder as rules about its shares need it. It has no owner: admins of the workspace manage every
// folder, and so do those who have the manager role on it or on a folder above it.
type SharedFolder struct {
	access.Resource // Grants has what by was granted on the folder and those above it

	Path    string
	Shares  int           // of all folders in the workspace
	Changed []FolderShare // for the store to save; one without a role is deleted
}

var folderKind = access.Kind{Noun: "folder", NotFound: ErrFolderForbidden, Forbidden: ErrFolderForbidden}

// Allow returns ErrFolderForbidden unless by manages the folder.
func (f *SharedFolder) Allow(by identity.Actor) error {
	return f.Require(by, &folderKind, access.Manager)
}

// Share gives a user a role. recipient is the member that the grant resolves to, or empty; existing is
// their share of
// the same folder, or nil.
func (f *SharedFolder) Share(by identity.Actor, recipient Recipient, existing *FolderShare, g Grant) (FolderShare,
	error) {
	if err := f.Allow(by); err != nil {
		return FolderShare{}, err
	}
	if err := fault.Join(checkFolder(f.Path), g.check(by)); err != nil {
		return FolderShare{}, err
	}
	switch {
	case !recipient.InWorkspace:
		return FolderShare{}, ErrUserNotInWorkspace
	case g.Role > f.Access(by):
		return FolderShare{}, identity.ErrRoleCeiling
	case existing != nil && existing.Live(by.At): // an expired share is replaced
		return FolderShare{}, ErrAlreadyShared.Because("The folder is already shared with that user.")
	case existing == nil && f.Shares >= MaxFolderShares:
		return FolderShare{}, ErrShareLimit.Because("A workspace can have at most 500 shares of folders.")
	}
	s := FolderShare{ID: FolderShareID(id.New(FolderSharePrefix)), Folder: f.Path, Share: g.share(by, recipient)}
	f.Changed = append(f.Changed, s)
	f.Record(by, "folder_share.created", string(s.ID),
		map[string]any{"folder": s.Folder, "user_id": s.User, "role": s.Role.String()})
	return s, nil
}

// ChangeShare changes s, a share of f.
func (f *SharedFolder) ChangeShare(by identity.Actor, match revision.Match, s FolderShare,
	c ShareChanges) (FolderShare, error) {
	if !f.Shows(by, s) {
		return s, ErrFolderShareNotFound
	}
	if err := f.Allow(by); err != nil {
		return s, err
	}
	if err := match.Check(s.Revision); err != nil {
		return s, err
	}
	changes, err := s.change(by, f.Access(by), c)
	if err != nil || len(changes) == 0 {
		return s, err
	}
	f.Changed = append(f.Changed, s)
	changes["folder"], changes["user_id"] = s.Folder, s.User
	f.Record(by, "folder_share.updated", string(s.ID), changes)
	return s, nil
}

// Unshare removes s, a share of f. Requires the manager role on the folder; every user may remove their own.
func (f *SharedFolder) Unshare(by identity.Actor, match revision.Match, s FolderShare) error {
	if !f.Shows(by, s) {
		return ErrFolderShareNotFound
	}
	if s.User != by.User || by.ReadOnly() {
		if err := f.Allow(by); err != nil {
			return err
		}
	}
	if err := match.Check(s.Revision); err != nil {
		return err
	}
	s.Role = access.None
	f.Changed = append(f.Changed, s)
	f.Record(by, "folder_share.deleted", string(s.ID), map[string]any{"folder": s.Folder, "user_id": s.User})
	return nil
}

// Shows reports whether by may know of s, a share of f: who manages the folder, and the user that s is for.
func (f *SharedFolder) Shows(by identity.Actor, s FolderShare) bool {
	return s.User == by.User || f.Access(by) >= access.Manager
}

// FolderPath returns a folder's path as it is stored: without a slash at the end, and with the normal form of its
// letters.
func FolderPath(path string) string { return strings.TrimSuffix(naming.Normal(path), "/") }

// FolderOf returns the folder that a template is in; empty if it is at the top.
func FolderOf(name string) string { return name[:max(strings.LastIndex(name, "/"), 0)] }

func checkFolder(path string) error {
	switch {
	case path == "":
		return fault.InField("/folder", "too_short", "Must not be empty.")
	case utf8.RuneCountInString(path) > 253: // of the 255 of a name, one at least is below the folder
		return fault.InField("/folder", "too_long", "Must have at most 253 characters.")
	case !validName(path):
		return fault.InField("/folder", "invalid_format", naming.Refusal+" Between slashes, no part is empty, or "+
			"begins or ends with a space.")
	}
	return nil
}

// AllowReshare returns nil if by may rename t into a folder that is shared with other people. That changes who has
// access, so it requires the manager role.
func (t *Template) AllowReshare(by identity.Actor) error {
	if err := t.Allow(by, access.Editor); err != nil || t.Access(by) >= access.Manager {
		return err
	}
	return ErrForbidden.Because("The folders are shared with different people: moving the prompt template " +
		"from one to the other requires the manager role on it.")
}
