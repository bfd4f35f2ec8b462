package contract

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/accounts"
	"github.com/atrium-hq/atrium/application/sessions"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// PeopleWalk has eight writers at once invite, join, group, share with, disable, enable, provision by a directory,
// leave, transfer and erase people of three workspaces. At the end each workspace has an owner, no one has a role above
// that of who granted it, no disabled or erased person has a credential that works, only members are in groups and
// shares, and nothing names an erased person.
func PeopleWalk(t *testing.T, open Opener) {
	a := open(t)
	w := &peopleWalk{T: t, a: a, at: time.Now().UTC().Truncate(time.Microsecond), people: map[string]*walkedPerson{}}
	w.org = &identity.Org{ID: a.Orgs[0], AcceptURL: "https://app.example/{token}", SCIM: &identity.SCIM{}}
	w.directory = accounts.NewDirectory(a.Atomic, a.DirectoryStores, a.Workspaces, nil, nil, nil)
	w.groups = accounts.NewGroups(a.Groups)
	w.service = accounts.NewService(a.Atomic, a.AccountStores, accounts.Deps{
		Events: a.Events, Notes: a.Notes(), GatewayAccount: func(identity.OrgID) string { return "" },
		Mails: &accounts.InvitationMailer{}, Quotas: noQuotas, OpenSession: sessions.OpenForJoined,
	})
	w.system = identity.System(w.org.ID, "", "walk", w.at)
	for range 3 {
		team := fixture.NewTeam(t, a.Stores, w.org.ID)
		w.spaces = append(w.spaces, team.Workspace.ID)
		w.org.ClaimRules = append(w.org.ClaimRules, identity.ClaimRule{Issuer: identity.SCIMIssuer, Claim: "groups",
			Value: "Walkers", Workspace: team.Workspace.Slug, Role: identity.Member})
		template := fixture.Template(t, a.Stores, team.Owner, prompt.Draft{Name: "shared"})
		w.templates = append(w.templates, sharedTemplate{team.Owner, template.ID})
		for _, by := range []identity.Actor{team.Owner, team.Admin, team.Member, team.Peer, team.Viewer} {
			u, _, err := a.Users.Get(t.Context(), w.org.ID, by.User)
			must(t, err)
			w.know(u, team.Workspace.ID, by.Role)
		}
	}
	walkers, err := w.directory.AddGroup(t.Context(), w.system, w.org, "Walkers", "", nil)
	must(t, err)
	w.listed = walkers.ID
	seed, steps := proof.Seed(t), proof.Sample(40, 1500)
	var writers sync.WaitGroup
	for n := range uint64(8) {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(seed, n))
			for range steps {
				w.step(r)
			}
		})
	}
	writers.Wait()
	w.check()
}

type peopleWalk struct {
	*testing.T
	a       Adapter
	service *accounts.Service
	org     *identity.Org
	system  identity.Actor
	at      time.Time
	spaces  []identity.WorkspaceID

	groups    *accounts.Groups
	directory *accounts.Directory
	listed    account.DirectoryGroupID // its people become members of every workspace
	templates []sharedTemplate

	mu     sync.Mutex
	count  int
	people map[string]*walkedPerson // by user id
	ids    []string                 // of people, in the order of their joining
	ended  []*walkedPerson          // erased
}

// walkedPerson is a person of the walk.
type walkedPerson struct {
	id          identity.UserID
	name, email string
	roles       map[identity.WorkspaceID]identity.Role
	most        map[identity.WorkspaceID]identity.Role // that others gave them since, by groups and transfers
	keys        []*account.Key
}

// highest returns the most that a person can have in a workspace.
func (w *peopleWalk) highest(user identity.UserID, ws identity.WorkspaceID) identity.Role {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.people[string(user)]
	if p == nil {
		return identity.NoRole
	}
	return max(p.roles[ws], p.most[ws])
}

// give notes that somebody who may give a role is about to give it to a person.
func (w *peopleWalk) give(user identity.UserID, ws identity.WorkspaceID, role identity.Role) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.people[string(user)]; p != nil {
		p.most[ws] = max(p.most[ws], role)
	}
}

func (w *peopleWalk) know(u *account.User, in identity.WorkspaceID, role identity.Role) {
	p := &walkedPerson{id: u.ID, name: u.Name, email: u.Email, roles: map[identity.WorkspaceID]identity.Role{in: role},
		most: map[identity.WorkspaceID]identity.Role{}}
	by := identity.Actor{
		Org: w.org.ID, User: u.ID, Workspace: in, Role: role, Ceiling: identity.Owner, At: w.at,
	}
	if k, _, err := fixture.TryKey(w.T, w.a.Stores, by, account.KeyDraft{Name: "key of " + u.Name}); err == nil {
		p.keys = append(p.keys, k)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.people[string(u.ID)] = p
	w.ids = append(w.ids, string(u.ID))
}

// pick returns a person, a workspace of theirs, and the actor that the person is there.
func (w *peopleWalk) pick(r *rand.Rand) (*walkedPerson, identity.Actor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.people[w.ids[r.IntN(len(w.ids))]]
	by := identity.Actor{Org: w.org.ID, User: p.id, Ceiling: identity.Owner, At: w.at}
	for ws, role := range p.roles {
		by.Workspace, by.Role = ws, role
	}
	return p, by
}

func (w *peopleWalk) step(r *rand.Rand) {
	ctx := w.Context()
	p, by := w.pick(r)
	var err error
	switch n := r.IntN(100); {
	case n < 25:
		err = w.inviteAndJoin(ctx, r, by)
	case n < 35:
		err = w.group(ctx, r, by)
	case n < 42:
		err = w.share(ctx, r, p)
	case n < 48:
		err = w.transfer(ctx, r, by)
	case n < 60:
		err = w.provision(ctx, r)
	case n < 68:
		_, err = w.service.RemoveMember(ctx, by, by.Workspace, p.id, nil, false) // leaves
	case n < 77:
		_, err = w.service.DisablePerson(ctx, w.system, p.id, "", false)
	case n < 87:
		err = w.service.EnablePerson(ctx, w.system, p.id, "")
	case n < 94:
		if _, err = w.service.ErasePerson(ctx, w.system, p.id); err == nil {
			err = w.service.CompleteErasure(ctx, w.system, p.id)
			w.mu.Lock()
			w.ended = append(w.ended, p)
			w.mu.Unlock()
		}
	default:
		_, err = w.service.SearchPeople(ctx, w.system, p.name, "", page.Query{Limit: 5})
	}
	if f := new(fault.Error); err != nil && !errors.As(err, &f) {
		w.Errorf("an unexpected error: %v", err)
	}
}

// inviteAndJoin has a person invite someone new, who joins.
func (w *peopleWalk) inviteAndJoin(ctx context.Context, r *rand.Rand, by identity.Actor) error {
	w.mu.Lock()
	w.count++
	name, email := fmt.Sprintf("Walker Zq%dx", w.count), fmt.Sprintf("walker.%d@walk.example", w.count)
	w.mu.Unlock()
	role := identity.Viewer + identity.Role(r.IntN(4))
	i, err := w.service.Invite(ctx, by, w.org, by.Workspace, email, role)
	if err != nil {
		return err
	}
	if role > w.highest(by.User, by.Workspace) {
		w.Errorf("%s invited %s", by.Role.WithArticle(), role.WithArticle())
	}
	joinedOpened, err := w.service.Join(ctx, w.system, w.org, i.Token.Reveal(), name, "walk")
	if err != nil {
		return err
	}
	w.know(&joinedOpened.User, by.Workspace, role)
	return nil
}

func (w *peopleWalk) check() {
	ctx := w.Context()
	for _, ws := range w.spaces {
		members := fixture.Pages(w.T, 100, func(q page.Query) (account.MemberPage, error) {
			return w.a.Workspaces.Members(ctx, w.org.ID, ws, q)
		})
		if !slices.ContainsFunc(members, func(m account.Member) bool { return m.Role == identity.Owner }) {
			w.Errorf("the workspace %s has no owner", ws)
		}
		for _, m := range members {
			if m.Role > w.highest(m.User, ws) {
				w.Errorf("%s is %s", m.User, m.Role)
			}
		}
	}
	other := w.a.Second() // without what this process remembers
	for _, p := range w.people {
		u, _, err := w.a.Users.Get(ctx, w.org.ID, p.id)
		must(w.T, err)
		for _, k := range p.keys {
			person, err := other.Keys.Principal(ctx, w.org.ID, k.Hash)
			must(w.T, err)
			if !u.Enabled() && person.Live(identity.KeyPolicy{}, w.at) {
				w.Errorf("a key of %s works, who is %s", p.id, u.Status())
			}
		}
	}
	w.checkGrantees()
	w.checkErased()
}

// checkErased looks for the names and addresses of erased people.
func (w *peopleWalk) checkErased() {
	ctx := w.Context()
	if len(w.ended) == 0 {
		w.Error("no one was erased")
	}
	var trail strings.Builder
	for _, ws := range append([]identity.WorkspaceID{""}, w.spaces...) {
		for _, e := range fixture.Events(w.T, w.a.Stores, ws, event.Filter{}, 100) {
			fmt.Fprintln(&trail, e.Data)
		}
	}
	for _, p := range w.ended {
		u, memberships, err := w.a.Users.Get(ctx, w.org.ID, p.id)
		must(w.T, err)
		if !u.Erased() || u.Name != "" || u.Email != "" || len(memberships) > 0 {
			w.Errorf("%+v, a member of %v", u, memberships)
		}
		if u, _, err := w.a.Users.FindByEmail(ctx, w.org.ID, p.email); !errors.Is(err, account.ErrUserNotFound) {
			w.Errorf("the address of %s: %+v %v", p.id, u, err)
		}
		if strings.HasPrefix(p.name, "Walker") && strings.Contains(trail.String(), p.name) {
			w.Errorf("the trail names %s", p.name)
		}
	}
}
