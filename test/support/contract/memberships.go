package contract

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Memberships runs eight concurrent writers that invite, accept, withdraw, change roles, remove, leave, transfer and
// sign in under claim rules, at random, as people and as service keys. After each step the workspace must have a
// person as owner, and no one may have given or taken a role above their own at that moment. At the end the members
// must be those that follow from the audit trail.
func Memberships(t *testing.T, open Opener) {
	const writers, steps = 8, 50
	seed := rand.Uint64()
	t.Logf("seed %d", seed) // it does not determine the order of the writers
	c := newCrowd(t, open(t), 10)
	var wg sync.WaitGroup
	for n := range uint64(writers) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, n))
			for range steps {
				name, err := c.step(t, r)
				if refusedFault, ok := errors.AsType[*fault.Error](err); err != nil &&
					(!ok || (refusedFault.Kind != fault.Forbidden && refusedFault.Kind != fault.NotFound &&
						refusedFault.Kind != fault.Conflict)) {
					t.Errorf("%s: %v", name, err)
					return
				}
				if err := errors.Join(c.ownerLeft(t), c.trail.follow(t, c.Adapter)); err != nil {
					t.Errorf("after %s: %v", name, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	current := map[identity.UserID]heldRole{}
	for _, m := range fixture.Pages(t, 100, func(q page.Query) (account.MemberPage, error) {
		return c.Workspaces.Members(t.Context(), c.org, c.ws, q)
	}) {
		current[m.User] = heldRole{m.Role, m.ByHand, m.Service}
	}
	same(t, "who is what", fmt.Sprint(current), fmt.Sprint(c.trail.is))
	if n := c.trail.length; n < writers*steps/8 {
		t.Errorf("only %d things happened", n)
	}
}

// crowd is the people in and around one workspace.
type crowd struct {
	Adapter
	org    identity.OrgID
	ws     identity.WorkspaceID
	people []identity.Actor
	rules  []identity.ClaimRule
	trail  trail

	mu   sync.Mutex
	sent []letter
}

// letter is a sent invitation.
type letter struct {
	id    account.InvitationID
	to    int // index in people
	token account.Token
}

func newCrowd(t *testing.T, a Adapter, size int) *crowd {
	t.Helper()
	c := &crowd{Adapter: a, org: a.Orgs[0]}
	for i := range size {
		c.people = append(c.people, newcomer(t, a.Stores, c.org, address(i)))
	}
	w := ownSpace(t, a.Stores, c.people[0], "crowd")
	c.ws = w.ID
	for range 3 {
		c.people = append(c.people, program(t, a.Stores, c.people[0], w, identity.Owner))
	}
	for role := identity.Viewer; role <= identity.Owner; role++ {
		c.rules = append(c.rules, identity.ClaimRule{Issuer: issuer, Claim: "group", Value: role.String(),
			Workspace: w.Slug, Role: role})
	}
	c.trail = trail{ws: w.ID, is: map[identity.UserID]heldRole{}, open: map[string]identity.Role{},
		maker: map[string]identity.UserID{}, accepted: map[identity.UserID]identity.Role{}}
	must(t, c.trail.follow(t, a))
	return c
}

// program stores the user of a service key, a member of w, and returns it as an actor.
func program(t testing.TB, s ports.Stores, by identity.Actor, w *account.Workspace, role identity.Role) identity.Actor {
	t.Helper()
	by.Workspace, by.Role = w.ID, identity.Owner
	u, _ := fixture.ServiceKey(t, s, by, account.KeyDraft{Name: "program", Ceiling: role})
	return identity.Actor{Org: u.Org, User: u.ID, Service: true, Workspace: w.ID, Role: role, Ceiling: identity.Owner,
		Key: keyOf(identity.Owner), At: by.At}
}

func address(person int) string { return fmt.Sprintf("person-%d@example.com", person) }

// step performs a random operation as a random actor, and returns its name.
func (c *crowd) step(t *testing.T, r *rand.Rand) (name string, err error) {
	by := c.people[c.somebody(r, true)]
	if r.IntN(4) == 0 {
		by.Workspace, by.Ceiling = c.ws, role(r)
		by.Key = keyOf(by.Ceiling)
	}
	member, target, recipient := c.somebody(r, true), c.somebody(r, false), role(r)
	if c.people[target].Service { // it has no address
		target = 0
	}
	switch n := r.IntN(100); {
	case n < 18:
		i, token, err := tryInvite(t, c.Stores, by, c.ws, address(target), recipient)
		if err == nil {
			c.send(letter{i.ID, target, token})
		}
		return "an invitation", err
	case n < 34:
		l, ok := c.take(r)
		if !ok {
			return "nothing", nil
		}
		person := c.people[l.to]
		if r.IntN(5) == 0 {
			person = by
		}
		return "an acceptance", accept(t, c.Stores, person, l.token)
	case n < 38:
		l, ok := c.take(r)
		if !ok {
			return "nothing", nil
		}
		return "a withdrawal", withdraw(t, c.Stores, by, c.ws, l.id)
	case n < 70:
		return "a change of role", setRole(t, c.Stores, by, c.ws, c.people[member].User, recipient)
	case n < 76:
		return "a removal", removeMember(t, c.Stores, by, c.ws, c.people[member].User)
	case n < 81:
		return "leaving", removeMember(t, c.Stores, by, c.ws, by.User)
	case n < 90:
		if err := setRole(t, c.Stores, by, c.ws, c.people[member].User, identity.Owner); err != nil {
			return "a transfer", err
		}
		return "a transfer", setRole(t, c.Stores, by, c.ws, by.User, identity.Admin)
	default:
		claims := account.Claims{Issuer: issuer, Subject: address(target), Email: address(target), EmailVerified: true}
		if r.IntN(2) == 0 {
			claims.Raw = map[string]any{"group": recipient.String()}
		}
		_, err := trySignIn(t, c.Stores, c.org, account.SignIn{Claims: claims, Org: anyoneOf(c.rules...)})
		return "a sign-in", err
	}
}

// somebody chooses one of the people, mostly a current member, or mostly a non-member: otherwise most steps would be
// refused.
func (c *crowd) somebody(r *rand.Rand, member bool) int {
	n := r.IntN(len(c.people))
	for range 3 {
		if c.trail.has(c.people[n].User) == member {
			break
		}
		n = r.IntN(len(c.people))
	}
	return n
}

// role chooses a role from viewer to owner.
func role(r *rand.Rand) identity.Role { return identity.Viewer + identity.Role(r.IntN(4)) }

// keyOf names a key by its ceiling, so that it can be read from the trail.
func keyOf(ceiling identity.Role) identity.KeyID { return identity.KeyID("key_" + ceiling.String()) }

func (c *crowd) send(l letter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, l)
}

// take chooses a letter and does not remove it, so it can be used twice.
func (c *crowd) take(r *rand.Rand) (letter, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) == 0 {
		return letter{}, false
	}
	recent := min(len(c.sent), 8)
	return c.sent[len(c.sent)-1-r.IntN(recent)], true
}

// ownerLeft checks the current members.
func (c *crowd) ownerLeft(t *testing.T) error {
	members, err := c.Workspaces.Members(t.Context(), c.org, c.ws, page.Query{Limit: 100})
	if err != nil {
		return err
	}
	for _, m := range members.Items {
		if m.Role == identity.Owner && !m.Service {
			return nil
		}
	}
	return fmt.Errorf("there is no person as owner among %d members", len(members.Items))
}
