package contract

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// trail reads a workspace's events in order, and checks each against the state at its time.
type trail struct {
	ws identity.WorkspaceID

	mu       sync.Mutex
	last     string // the latest event that was read
	length   int
	is       map[identity.UserID]heldRole
	open     map[string]identity.Role          // the roles of open invitations, by id
	maker    map[string]identity.UserID        // the creator of each open invitation
	accepted map[identity.UserID]identity.Role // the role of an accepted invitation, until its member is added
}

// heldRole is a user's role, and the part of it that was given by hand.
type heldRole struct {
	role, byHand identity.Role
	program      bool
}

func (tr *trail) has(user identity.UserID) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	_, ok := tr.is[user]
	return ok
}

// follow reads the new events. Changes of one workspace are serialised by its lock, so no event can appear before one
// that was already read.
func (tr *trail) follow(t *testing.T, a Adapter) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var fresh []event.Event
	for q := (page.Query{Limit: 20}); ; {
		found, err := a.Events.List(t.Context(), tr.ws, event.Filter{}, q)
		if err != nil {
			return err
		}
		knownCount := slices.IndexFunc(found.Items, func(e event.Event) bool { return e.ID <= tr.last })
		if knownCount >= 0 {
			fresh = append(fresh, found.Items[:knownCount]...)
			break
		}
		fresh = append(fresh, found.Items...)
		if q.After = found.Next; q.After == "" {
			break
		}
	}
	for _, e := range slices.Backward(fixture.Decoded(t, fresh)) {
		if err := tr.apply(e); err != nil {
			return fmt.Errorf("%s by %q, %v: %w", e.Type, e.Actor, e.Data, err)
		}
		tr.last = e.ID
		tr.length++
	}
	return nil
}

// apply checks an event against the rules, and then applies it.
func (tr *trail) apply(e event.Event) error {
	user, role := identity.UserID(text(e.Data["user_id"])), identity.ParseRole(text(e.Data["role"]))
	switch e.Type {
	case "workspace.created":
		tr.is[e.Actor] = heldRole{role: identity.Owner, byHand: identity.Owner}
	case "user.linked", "api_key.created", "api_key.revoked":
	case "user.created":
		if err := tr.may(e, role); err != nil {
			return err
		}
		tr.is[identity.UserID(e.Subject)] = heldRole{role, role, true}
	case "invitation.created", "invitation.renewed":
		if err := tr.may(e, max(role, tr.open[e.Subject])); err != nil {
			return err
		}
		tr.open[e.Subject], tr.maker[e.Subject] = role, e.Actor
	case "invitation.withdrawn":
		if err := tr.may(e, tr.open[e.Subject]); err != nil {
			return err
		}
		delete(tr.open, e.Subject)
	case "invitation.accepted":
		if role != tr.open[e.Subject] || user != e.Actor || e.Key != "" {
			return fmt.Errorf("it granted %q", tr.open[e.Subject])
		}
		if existing := tr.is[tr.maker[e.Subject]].role; existing < max(role, identity.Admin) {
			return fmt.Errorf("who invited is but %q", existing)
		}
		delete(tr.open, e.Subject)
		tr.accepted[user] = role
	case "member.added":
		if previous, ok := tr.is[user]; ok {
			return fmt.Errorf("they are %q already", previous.role)
		}
		if e.Actor != "" && role != tr.accepted[user] {
			return fmt.Errorf("they accepted %q", tr.accepted[user])
		}
		delete(tr.accepted, user)
		tr.is[user] = heldRole{role: role, byHand: byHand(e, role, identity.NoRole)}
	case "member.updated":
		change, _ := e.Data["role"].(map[string]any)
		from, to := identity.ParseRole(text(change["from"])), identity.ParseRole(text(change["to"]))
		if err := tr.change(e, user, from, to); err != nil {
			return err
		}
		tr.is[user] = heldRole{to, byHand(e, to, tr.is[user].byHand), tr.is[user].program}
	case "member.removed":
		if err := tr.change(e, user, role, identity.NoRole); err != nil {
			return err
		}
		delete(tr.is, user)
	default:
		return fmt.Errorf("nobody does that here")
	}
	for _, s := range tr.is {
		if s.role == identity.Owner && !s.program {
			return nil
		}
	}
	return fmt.Errorf("it left no person as owner")
}

// change checks that the actor of the event was allowed to change user's role. Claim rules can, but they lower no role
// that was given by hand. A member can leave, with a credential that has no lower ceiling than their role. An admin
// can change roles up to their own.
func (tr *trail) change(e event.Event, user identity.UserID, from, to identity.Role) error {
	previous := tr.is[user]
	switch {
	case from != previous.role || (from == to && byHand(e, to, previous.byHand) == previous.byHand):
		return fmt.Errorf("they are %q", previous.role)
	case e.Actor == "" && to < previous.byHand:
		return fmt.Errorf("%q was given by hand", previous.byHand)
	case e.Actor == "", e.Actor == user && to == identity.NoRole && from <= ceilingOf(e.Key) &&
		e.Key != keyOf(identity.Viewer):
		return nil
	}
	return tr.may(e, max(from, to))
}

// byHand returns the part of the event's role that was given by hand; before is the part before the event.
func byHand(e event.Event, role, previous identity.Role) identity.Role {
	if e.Actor == "" {
		return previous
	}
	return role
}

// may returns an error if the actor of e may not manage role.
func (tr *trail) may(e event.Event, role identity.Role) error {
	existing := min(tr.is[e.Actor].role, ceilingOf(e.Key))
	if existing < identity.Admin || role > existing {
		return fmt.Errorf("they have but %q", existing)
	}
	return nil
}

// ceilingOf returns the ceiling of a key named by keyOf. No key means the highest ceiling.
func ceilingOf(key identity.KeyID) identity.Role {
	for ceiling := identity.Viewer; ceiling <= identity.Owner; ceiling++ {
		if key == keyOf(ceiling) {
			return ceiling
		}
	}
	return identity.Owner
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
