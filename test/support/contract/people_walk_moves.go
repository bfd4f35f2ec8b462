package contract

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// sharedTemplate is a template that its owner shares.
type sharedTemplate struct {
	owner identity.Actor
	id    prompt.ID
}

// group has a person make a group with a role, and put somebody into it, or take somebody out of a group.
func (w *peopleWalk) group(ctx context.Context, r *rand.Rand, by identity.Actor) error {
	target, _ := w.pick(r)
	found, err := w.groups.List(ctx, by, page.Query{Limit: 10})
	if err != nil {
		return err
	}
	if r.IntN(3) == 0 && len(found.Items) > 0 {
		g := found.Items[r.IntN(len(found.Items))]
		if r.IntN(4) == 0 {
			return w.groups.Delete(ctx, by, g.ID, nil)
		}
		_, err := w.groups.Edit(ctx, by, g.ID, nil, nil, []identity.UserID{target.id})
		return err
	}
	role := identity.NoRole + identity.Role(r.IntN(4))
	g, err := w.groups.Create(ctx, by, account.GroupDraft{Name: id.New("g"), Role: role})
	if err != nil {
		return err
	}
	if role > w.highest(by.User, by.Workspace) {
		w.Errorf("%s made a group with %s", by.Role.WithArticle(), role.WithArticle())
	}
	w.give(target.id, by.Workspace, role) // before it can be used to give more
	_, err = w.groups.Edit(ctx, by, g.ID, nil, []identity.UserID{target.id}, nil)
	return err
}

// share shares a template with a person, who may not be a member.
func (w *peopleWalk) share(ctx context.Context, r *rand.Rand, p *walkedPerson) error {
	t := w.templates[r.IntN(len(w.templates))]
	_, err := w.a.Prompts.UpdateFor(ctx, t.owner, t.id, p.id, func(p *prompt.Template, target prompt.Recipient) error {
		_, err := p.Share(t.owner, target, prompt.Grant{User: target.User, Role: access.Editor})
		return err
	})
	return err
}

// transfer has a person make another one the owner of a workspace.
func (w *peopleWalk) transfer(ctx context.Context, r *rand.Rand, by identity.Actor) error {
	target, _ := w.pick(r)
	if w.highest(by.User, by.Workspace) == identity.Owner {
		w.give(target.id, by.Workspace, identity.Owner)
	}
	_, _, err := w.service.TransferWorkspace(ctx, by, by.Workspace, nil, target.id, false)
	return err
}

// provision has the directory add somebody, change who is in its group, or patch a person.
func (w *peopleWalk) provision(ctx context.Context, r *rand.Rand) error {
	list, _, err := w.directory.Users(ctx, w.system, account.DirectoryQuery{Limit: 20})
	if err != nil {
		return err
	}
	switch n := r.IntN(4); {
	case n == 0 || len(list) == 0:
		w.mu.Lock()
		w.count++
		name, email := fmt.Sprintf("Walker Zq%dx", w.count), fmt.Sprintf("walker.%d@walk.example", w.count)
		w.mu.Unlock()
		u, err := w.directory.AddUser(ctx, w.system, w.org,
			account.DirectoryPerson{UserName: email, Formatted: name, Email: email, Active: true})
		if err != nil {
			return err
		}
		w.know(&account.User{ID: u.ID, Name: name, Email: email}, w.spaces[0], identity.NoRole)
		for _, ws := range w.spaces {
			w.give(u.ID, ws, identity.Member)
		}
		return nil
	case n == 1:
		one := list[r.IntN(len(list))].ID
		_, err := w.directory.ChangeGroup(ctx, w.system, w.org, w.listed, func(g *account.DirectoryGroup) error {
			people := append(g.People, one)
			if len(g.People) > 5 {
				people = g.People[1:]
			}
			return g.Change(w.system, g.Name, g.ExternalID, people)
		})
		return err
	default:
		_, err := w.directory.ChangeUser(ctx, w.system, w.org, list[r.IntN(len(list))].ID,
			func(u *account.DirectoryUser) (account.DirectoryPerson, error) {
				p := u.DirectoryPerson
				p.Active = n == 2
				return p, nil
			})
		return err
	}
}

// checkGrantees looks for groups and shares of people who are no members.
func (w *peopleWalk) checkGrantees() {
	ctx := w.Context()
	for i, ws := range w.spaces {
		isMember := map[identity.UserID]bool{}
		for _, m := range fixture.Pages(w.T, 100, func(q page.Query) (account.MemberPage, error) {
			return w.a.Workspaces.Members(ctx, w.org.ID, ws, q)
		}) {
			isMember[m.User] = true
		}
		for _, g := range fixture.Pages(w.T, 100, func(q page.Query) (account.GroupPage, error) {
			return w.a.Groups.List(ctx, ws, q)
		}) {
			for _, user := range peopleIn(w.T, w.a, ws, g.ID) {
				if !isMember[user] {
					w.Errorf("%s is in a group of %s, and no member", user, ws)
				}
			}
		}
		for _, s := range fixture.Pages(w.T, 100, func(q page.Query) (prompt.SharePage, error) {
			return w.a.PromptLists.Shares(ctx, ws, w.templates[i].id, q)
		}) {
			if !isMember[s.User] {
				w.Errorf("%s has a share in %s, and is no member", s.User, ws)
			}
		}
	}
}
