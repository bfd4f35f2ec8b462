package account

import (
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// ErrTransferRefused is returned for a new owner that a workspace cannot be transferred to.
var ErrTransferRefused = &fault.Error{
	Kind: fault.Conflict, Code: "transfer_refused",
	Detail: "The new owner must be a person who is a member of the workspace, and not you.",
}

// Transfer makes a member the owner of w and by an admin, so that w always has an owner. It returns the new owner's
// membership. Other owners stay owners. Claim rules can raise by's role again with the next token. Requires the owner
// role and Actor.SteppedUp. Service keys that by created with the owner role end, unless keep is set.
// ErrTransferRefused if to is by or a program.
func (w *Workspace) Transfer(
	by identity.Actor, match revision.Match, user identity.UserID, keep KeepServiceKeys,
) (Member, error) {
	if err := w.Allow(by, identity.Owner); err != nil {
		return Member{}, err
	}
	if err := by.SteppedUp(); err != nil {
		return Member{}, err
	}
	next, ok := w.Members[user]
	if !ok {
		return Member{}, ErrMemberNotFound
	}
	if err := match.Check(w.Revision); err != nil {
		return Member{}, err
	}
	if user == by.User || next.Service {
		return Member{}, ErrTransferRefused
	}
	if next.Role < identity.Owner && w.madeBy(by.User, user) {
		return Member{}, errRaisesMaker
	}
	for _, m := range []struct {
		Member
		to identity.Role
	}{{next, identity.Owner}, {w.Members[by.User], identity.Admin}} {
		if m.Role == m.to && m.ByHand == m.to {
			continue
		}
		data := map[string]any{"user_id": m.User, "role": event.Change{From: m.Role.String(), To: m.to.String()}}
		w.set(by, m.User, standing{role: m.to, byHand: m.to}, keep.fate()).describe(data)
		w.record(by, "member.updated", data)
	}
	w.touch(by)
	w.record(by, "workspace.transferred", map[string]any{"from": by.User, "to": user})
	return w.Members[user], nil
}
