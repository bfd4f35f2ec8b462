package chat

import (
	"errors"
	"strconv"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// MemberAction is what a change of several members did with one of them.
type MemberAction string

// All actions.
const (
	MemberAdded     MemberAction = "added"
	MemberUpdated   MemberAction = "updated"
	MemberRemoved   MemberAction = "removed"
	MemberUnchanged MemberAction = "unchanged"
)

// MemberChanged is the outcome of one grant. A removed member has the role that it had.
type MemberChanged struct {
	Member Member
	Action MemberAction
}

// ChangeMembers adds members, gives them other roles, and removes those whose grant has the role None. The parties are
// the targets of the grants, in their order. Requires the manager role, even of members who only remove themselves. If
// one grant is refused, nothing changes: the error names all that are, at /changes/{index}.
func (t *Template) ChangeMembers(by identity.Actor, parties []Party, grants []Grant) ([]MemberChanged, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return nil, err
	}
	out := make([]MemberChanged, len(grants))
	var errs fault.Fields
	seen, members := map[identity.UserID]bool{}, 0
	// Removals come first, so that a full template can have its members replaced.
	for _, removals := range []bool{true, false} {
		for i, g := range grants {
			party := parties[i]
			if (g.Role == access.None) != removals {
				continue
			}
			if seen[party.User] {
				errs.Add(changeAt(i), "duplicate_item", "Must name each member once.")
				continue
			}
			seen[party.User] = true
			party.Members += members
			var err error
			out[i], err = t.changeMember(by, party, g.Role)
			if f, ok := errors.AsType[*fault.Error](err); ok {
				errs.Add(changeAt(i), f.Code, f.Detail)
			}
			switch out[i].Action {
			case MemberAdded:
				members++
			case MemberRemoved:
				members--
			}
		}
	}
	return out, errs.Err()
}

// CheckGrants returns an error that names every grant without exactly one of User and Email.
func CheckGrants(grants []Grant) error {
	errs := make([]error, len(grants))
	for i, g := range grants {
		errs[i] = fault.PrefixPointers(changeAt(i), g.check())
	}
	return fault.Join(errs...)
}

// UnknownMember is the error of the i-th grant, whose address no member of the workspace has.
func UnknownMember(i int) error {
	return fault.InField(changeAt(i)+"/email", ErrUserNotInWorkspace.Code,
		"No member of this workspace has this address. Invite people from outside one at a time.")
}

func changeAt(i int) string { return "/changes/" + strconv.Itoa(i) }

// changeMember gives to a role, or none.
func (t *Template) changeMember(by identity.Actor, party Party, role access.Role) (MemberChanged, error) {
	switch {
	case party.User == t.Owner:
		return MemberChanged{}, ErrOwnerStays
	case party.Member == nil && role == access.None:
		return MemberChanged{Member{User: party.User}, MemberUnchanged}, nil
	case party.Member == nil:
		m, err := t.add(by, party, role)
		return MemberChanged{m, MemberAdded}, err
	case role == access.None:
		t.remove(by, party)
		return MemberChanged{*party.Member, MemberRemoved}, nil
	case role == party.Member.Role:
		return MemberChanged{*party.Member, MemberUnchanged}, nil
	}
	return MemberChanged{t.update(by, *party.Member, role), MemberUpdated}, nil
}
