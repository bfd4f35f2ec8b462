package account

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// ErrLastOperator is returned when an org's only operator disables their own account.
var ErrLastOperator = &fault.Error{
	Kind: fault.Conflict, Code: "last_operator", Detail: "You are the only operator of this organisation who is not " +
		"disabled. Appoint another one first.",
}

// Access is a person's account for an operator to disable or enable.
type Access struct {
	User      *User
	Operators []identity.UserID // people of the org who are operators and not disabled

	// MemberOf names the workspaces that the person is a member of, including deleted ones. Powers holds what the
	// person made in each, and Lost what became of it.
	MemberOf []identity.WorkspaceID
	Powers   map[identity.WorkspaceID]Powers
	Lost     Loss

	// OnlyOwnerOf are the workspaces, without deleted ones, whose other owners are disabled or programs, if there are
	// any.
	OnlyOwnerOf []OwnedWorkspace
}

// OwnedWorkspace is a workspace that a person owns.
type OwnedWorkspace struct {
	ID   identity.WorkspaceID
	Slug string
}

// Disable closes the account: none of the person's API keys and sign-ins works until Enable. The service keys that the
// person created end permanently, unless keep is set. Requires an operator with a credential of the full ceiling and
// Actor.SteppedUp, or the system. ErrUserNotFound for a service key's user, and for an erased person. Disabling again
// changes nothing, except for the keys that Suspend suspended: they end, or work again if keep is set.
func (a *Access) Disable(by identity.Actor, reason string, keep KeepServiceKeys) error {
	return a.disable(by, reason, keep.fate())
}

// Suspend is Disable by the org's directory, for a while: the service keys that the person created work again after
// Enable, unless keys says otherwise. ErrDirectoryLastOperator if no operator would be left.
func (a *Access) Suspend(by identity.Actor, reason string, keys identity.SuspendedKeys) error {
	if err := a.MaySuspend(); err != nil {
		return err
	}
	fates := map[identity.SuspendedKeys]fate{
		identity.SuspendServiceKeys: keysWait, identity.KeepServiceKeys: keysStay, identity.RevokeServiceKeys: keysEnd,
	}
	return a.disable(by, reason, fates[keys])
}

// MaySuspend returns ErrDirectoryLastOperator if the person is the org's only operator.
func (a *Access) MaySuspend() error {
	if slices.Equal(a.Operators, []identity.UserID{a.User.ID}) {
		return ErrDirectoryLastOperator
	}
	return nil
}

// disable disables the user. f decides what becomes of the keys that they lose. Disabling again changes only the keys.
func (a *Access) disable(by identity.Actor, reason string, f fate) error {
	if err := a.mayChange(by, reason); err != nil {
		return err
	}
	switch {
	case !a.User.Enabled() && (f == keysWait || !a.hasSuspended(by.At)):
		return nil
	case by.User == a.User.ID && len(a.Operators) == 1:
		return ErrLastOperator
	}
	if err := by.SteppedUp(); err != nil {
		return err
	}
	if a.User.Enabled() {
		a.User.DisabledAt = by.At
		for _, w := range a.OnlyOwnerOf {
			in := by
			in.Workspace = w.ID
			a.User.Record(in, "workspace.owner_lost", string(w.ID),
				map[string]any{"slug": w.Slug, "user_id": a.User.ID})
		}
	}
	a.record(by, "user.disabled", reason, func(ws identity.WorkspaceID, data map[string]any) {
		by.Workspace = ws
		lost := a.Powers[ws].loss(a.User.ID, identity.NoRole, f, by.At)
		lost.apply(by)
		lost.describe(data)
		a.Lost = a.Lost.plus(lost)
	})
	return nil
}

// hasSuspended reports whether keys wait for the account to be enabled.
func (a *Access) hasSuspended(now time.Time) bool {
	for _, p := range a.Powers {
		if slices.ContainsFunc(p.Keys, func(k *Key) bool { return !k.SuspendedAt.IsZero() && !k.ended(now) }) {
			return true
		}
	}
	return false
}

// Enable reopens a disabled account, and the service keys that Suspend suspended. It requires the same caller as
// Disable. Keys that Disable ended stay ended.
func (a *Access) Enable(by identity.Actor, reason string) error {
	if err := a.mayChange(by, reason); err != nil {
		return err
	}
	if a.User.Enabled() {
		return nil
	}
	a.User.DisabledAt = time.Time{}
	a.record(by, "user.enabled", reason, func(ws identity.WorkspaceID, data map[string]any) {
		by.Workspace = ws
		var keys []*Key
		for _, k := range a.Powers[ws].Keys {
			if !k.SuspendedAt.IsZero() && !k.ended(by.At) {
				k.resume(by)
				keys = append(keys, k)
			}
		}
		if len(keys) > 0 {
			data["service_keys_resumed"] = keyIDs(keys)
		}
	})
	return nil
}

// errNotOperator is returned to callers who may not disable or enable accounts.
var errNotOperator = identity.ErrForbidden.Because("Requires an operator of the organisation, signed in or with an " +
	"API key whose ceiling is owner.")

// MayChangeAccess returns an error unless by may disable and enable accounts, so that other callers
// cannot find out which accounts exist.
func MayChangeAccess(by identity.Actor) error {
	if by.User != "" && (!by.Operator || by.Ceiling < identity.Owner) {
		return errNotOperator
	}
	return nil
}

// mayChange returns an error unless by may change the account.
func (a *Access) mayChange(by identity.Actor, reason string) error {
	switch {
	case MayChangeAccess(by) != nil, by.User != "" && !slices.Contains(a.Operators, by.User):
		return errNotOperator
	case by.Org != a.User.Org || a.User.Service || a.User.Erased():
		return ErrUserNotFound
	case utf8.RuneCountInString(reason) > 200 || naming.Deceptive(reason):
		return fault.InField("/reason", "invalid_format", "Must have at most 200 characters. "+naming.Refusal)
	}
	return nil
}

// record adds an event to the trail of each workspace of the person, or, without one, to the trail
// of no workspace.
func (a *Access) record(by identity.Actor, kind, reason string, extend func(identity.WorkspaceID, map[string]any)) {
	a.User.Revision++
	a.User.UpdatedAt = by.At
	in := a.MemberOf
	if len(in) == 0 {
		in = []identity.WorkspaceID{""}
	}
	for _, by.Workspace = range in {
		data := map[string]any{}
		if reason != "" {
			data["reason"] = reason
		}
		extend(by.Workspace, data)
		a.User.Record(by, kind, string(a.User.ID), data)
	}
}
