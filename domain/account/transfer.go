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
// role and Actor.SteppedUp. ErrTransferRefused if to is by or a program.
func (w *Workspace) Transfer(by identity.Actor, at revision.Match, to identity.UserID) (Member, error) {
	if err := w.Allow(by, identity.Owner); err != nil {
		return Member{}, err
	}
	if err := by.SteppedUp(); err != nil {
		return Member{}, err
	}
	next, ok := w.Members[to]
	if !ok {
		return Member{}, ErrMemberNotFound
	}
	if err := at.Check(w.Revision); err != nil {
		return Member{}, err
	}
	if to == by.User || next.Service {
		return Member{}, ErrTransferRefused
	}
	for _, m := range []struct {
		Member
		to identity.Role
	}{{next, identity.Owner}, {w.Members[by.User], identity.Admin}} {
		if m.Role == m.to && m.ByHand == m.to {
			continue
		}
		w.record(by, "member.updated",
			map[string]any{"user_id": m.User, "role": event.Change{From: m.Role.String(), To: m.to.String()}})
		w.set(m.User, m.to, m.to, by.At)
	}
	w.touch(by)
	w.record(by, "workspace.transferred", map[string]any{"from": by.User, "to": to})
	return w.Members[to], nil
}
