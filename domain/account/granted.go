package account

import (
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Granted holds the roles that claim rules and groups gave in a workspace, in addition to roles granted by hand.
// The key is the issuer whose tokens the rules read, or the id of the group. A token of one issuer changes only that
// issuer's entry.
type Granted map[string]identity.Role

// byGroups returns the entries of groups, or nil.
func (g Granted) byGroups() Granted {
	var grants Granted
	for key, role := range g {
		if identity.UserID(key).IsGroup() {
			grants = grants.merge(Granted{key: role})
		}
	}
	return grants
}

// merge returns g with the entries of other.
func (g Granted) merge(other Granted) Granted {
	if len(other) == 0 {
		return g
	}
	sum := Granted{}
	maps.Copy(sum, g)
	maps.Copy(sum, other)
	return sum
}

// highest returns the highest role in g, or byHand if that is higher.
func (g Granted) highest(byHand identity.Role) identity.Role {
	for _, role := range g {
		byHand = max(byHand, role)
	}
	return byHand
}

// settled returns the roles given by rules in a workspace after a token of issuer that grants granted.
// Entries of other issuers stay as far as a current rule can still give them. They never raise the role
// above present, the role before this token, because an admin may have lowered it by hand.
func (g Granted) settled(
	issuer string, role, byHand, present identity.Role, slug string, rules []identity.ClaimRule,
) Granted {
	next := Granted{}
	for other, role := range g {
		if role = min(role, present, highestByRules(rules, other, slug)); other != issuer && role > byHand {
			next[other] = role
		}
	}
	if role > byHand {
		next[issuer] = role
	}
	if len(next) == 0 {
		return nil
	}
	return next
}

// highestByRules returns the highest role that the rules for issuer can give in a workspace.
func highestByRules(rules []identity.ClaimRule, issuer, slug string) identity.Role {
	role := identity.NoRole
	for _, r := range rules {
		if r.Issuer == issuer && r.Workspace == slug {
			role = max(role, r.Role)
		}
	}
	return role
}

// SettleGranted updates a membership to what rules grant to a token of issuer (NoRole for nothing). The role becomes
// the highest of that, the role granted by hand, and the roles that rules of other issuers gave. rules are the org's.
// The last owner stays owner. user is a person: a service key's user cannot sign in.
func (w *Workspace) SettleGranted(
	by identity.Actor, user identity.UserID, issuer string, tokenRole identity.Role, rules []identity.ClaimRule,
) {
	m, member := w.Members[user]
	next := m.Granted.settled(issuer, tokenRole, m.ByHand, m.Role, w.Slug, rules)
	stays := next.highest(m.ByHand) != identity.NoRole // a group keeps no one in the workspace
	next = next.merge(m.Granted.byGroups())
	role := next.highest(m.ByHand)
	data := map[string]any{"user_id": user, "role": role.String()}
	if len(next) > 0 {
		data["granted_by"] = slices.Sorted(maps.Keys(next))
	}
	switch {
	case stays && m.Role == role && maps.Equal(m.Granted, next), role != identity.Owner && w.lastOwner(m),
		!w.DeletedAt.IsZero(), !stays && !member:
		return
	case !stays:
		w.endMembership(by, m, false)
		return
	}
	w.set(by, user, standing{role, m.ByHand, next}, keysEnd).describe(data)
	if !member {
		w.record(by, "member.added", data)
		return
	}
	if delete(data, "role"); role != m.Role {
		data["role"] = event.Change{From: m.Role.String(), To: role.String()}
	}
	w.record(by, "member.updated", data)
}

// operatorBy returns the issuers whose rules make u an operator after a token of issuer, sorted.
func (u *User) operatorBy(issuer string, isGranted bool, rules []identity.ClaimRule) []string {
	next := map[string]bool{issuer: isGranted}
	for _, other := range u.OperatorBy {
		if other != issuer && u.Operator {
			next[other] = slices.ContainsFunc(rules,
				func(r identity.ClaimRule) bool { return r.Issuer == other && r.Operator })
		}
	}
	maps.DeleteFunc(next, func(_ string, isIn bool) bool { return !isIn })
	return slices.Sorted(maps.Keys(next))
}
