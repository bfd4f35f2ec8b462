package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/application/chats"
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// chatService returns the use cases on stores, without mail and quotas.
func chatService(s ports.Stores, r chats.Registries) *chats.Service {
	return chats.NewService(s.Atomic, s.ChatStores, chats.Deps{
		Users: s.Users, Prompts: s.Prompts, Registries: r, Quotas: noQuotas,
	})
}

// chatRaces changes one template concurrently. The domain may refuse changes, but the store must not fail.
func chatRaces(t *testing.T, a Adapter) {
	ctx := t.Context()
	all := func(n int, do func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if err := do(i); err != nil {
					if _, isRefused := errors.AsType[*fault.Error](err); !isRefused {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}

	t.Run("role changes, leaves and transfers keep one owner and lose nobody who stayed", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		newItem := fixture.Chat(t, a.Stores, team.Member, chat.Draft{})
		people := []identity.Actor{team.Member, team.Peer, team.Viewer, team.Admin}
		for _, p := range people[1:] {
			fixture.ChatMember(t, a.Stores, team.Member, newItem.ID, p.User, access.Manager)
		}
		var mu sync.Mutex
		rest := map[identity.UserID]bool{}
		all(32, func(i int) error {
			by, other := people[i%4], people[(i/4+i+1)%4].User
			switch i % 3 {
			case 0: // the current owner transfers it
				_, err := a.Chats.UpdateFor(ctx, by, newItem.ID, []identity.UserID{other},
					func(c *chat.Template, p []chat.Party) error {
						return c.Change(by, nil, chat.Changes{Owner: &other},
							chat.Facts{Registry: fixture.Registry(t), Owner: p[0]})
					})
				return err
			case 1:
				_, err := a.Chats.UpdateFor(ctx, by, newItem.ID, []identity.UserID{other},
					func(c *chat.Template, p []chat.Party) error {
						_, err := c.ChangeMember(by, nil, p[0], access.Viewer+access.Role(i%3))
						return err
					})
				return err
			}
			_, err := a.Chats.UpdateFor(ctx, by, newItem.ID, []identity.UserID{by.User},
				func(c *chat.Template, p []chat.Party) error {
					_, err := c.Remove(by, nil, p[0])
					return err
				})
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				rest[by.User] = true
			}
			return err
		})
		members, owners := membersOf(t, a.Stores, team.Workspace.ID, newItem.ID), 0
		for _, m := range members {
			if m.Role == access.Owner {
				owners++
			}
		}
		if owners != 1 {
			t.Fatalf("%d owners: %+v", owners, members)
		}
		for _, p := range people { // a user who left may have got it again
			if _, ok := members[p.User]; !ok && !rest[p.User] {
				t.Errorf("%s is lost: %+v", p.User, members)
			}
		}
		if got, err := a.Chats.Get(ctx, team.Owner, newItem.ID); err != nil || members[got.Owner].Role != access.Owner {
			t.Fatalf("owner = %s, %v", got.Owner, err)
		}
	})
	t.Run("of 16 concurrent attachments of a workflow one succeeds", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by, registry := team.Member, fixture.Registry(t)
		template := fixture.Chat(t, a.Stores, by, chat.Draft{})
		var mu sync.Mutex
		won := 0
		all(16, func(int) error {
			var isAttached bool
			_, err := a.Chats.Update(ctx, by, template.ID, func(c *chat.Template) (err error) {
				_, isAttached, err = c.Attach(by, "digest", registry)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			if isAttached {
				won++
			}
			return err
		})
		if got, err := a.Chats.Get(ctx, by, template.ID); err != nil || won != 1 || len(got.Workflows) != 1 ||
			got.Revision != 2 {
			t.Fatalf("%d attached it: %+v, revision %d, %v", won, got.Workflows, got.Revision, err)
		}
	})
	t.Run("a waiting change sees that a membership was removed meanwhile", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by := team.Member
		item := fixture.Chat(t, a.Stores, by, chat.Draft{})
		fixture.ChatMember(t, a.Stores, by, item.ID, team.Peer.User, access.Editor)
		var changedErrs <-chan error
		fixture.ChangeChatFor(t, a.Stores, by, item.ID, team.Peer.User, func(c *chat.Template, peer chat.Party) error {
			changedErrs = a.beside(t, func() error {
				_, err := a.Chats.Update(ctx, team.Peer, item.ID, func(c *chat.Template) error {
					return c.Change(team.Peer, nil, chat.Changes{Greeting: new("too late")},
						chat.Facts{Registry: fixture.Registry(t)})
				})
				return err
			})
			_, err := c.Remove(by, nil, peer)
			return err
		})
		wantErr(t, <-changedErrs, chat.ErrNotFound)
	})
	t.Run("concurrent changes are all kept", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by := team.Member
		template := fixture.Chat(t, a.Stores, by, chat.Draft{})
		all(20, func(i int) error {
			_, err := a.Chats.Update(ctx, by, template.ID, func(c *chat.Template) error {
				return c.Change(by, nil, chat.Changes{Greeting: new(c.Greeting + fmt.Sprint(i%10))},
					chat.Facts{Registry: fixture.Registry(t)})
			})
			return err
		})
		if got, err := a.Chats.Get(ctx, by, template.ID); err != nil || len(got.Greeting) != 20 || got.Revision != 21 {
			t.Fatalf("greeting = %q, revision %d, %v", got.Greeting, got.Revision, err)
		}
	})
	t.Run("no chat begins to use a prompt that is being deleted", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by, registry := team.Member, fixture.Registry(t)
		registries := func(identity.OrgID) *chat.Registry { return registry }
		using := chatService(a.Stores, registries)
		deleting := prompts.NewService(a.Atomic, a.PromptStores, a.Users, noQuotas)
		for i := range 8 {
			p := fixture.Template(t, a.Stores, by, prompt.Draft{Name: fmt.Sprint("used ", i)})
			fixture.Version(t, a.Stores, by, p.ID, "one", "live")
			actions := make([]error, 4)
			all(len(actions), func(i int) error {
				switch i {
				case 0:
					actions[i] = deleting.Delete(ctx, by, p.ID, nil, false)
				case 1:
					actions[i] = deleting.DeleteVersion(ctx, by, p.ID, prompt.Ref{Number: 1}, nil)
				default:
					_, actions[i] = using.Create(ctx, by,
						chat.Draft{
							Content: chat.Content{Name: "uses it",
								Prompt: chat.Prompt{Template: p.ID, Ref: []string{"live", "v1"}[i-2]}}})
				}
				return actions[i]
			})
			found, err := a.ChatLists.Visible(ctx, by, chat.Filter{Prompt: p.ID}, page.Query{Limit: 5})
			must(t, err)
			for _, c := range found.Items {
				if c.PromptGone || actions[0] == nil || actions[1] == nil {
					t.Fatalf("%s is in use and deleted: %v", p.ID, actions)
				}
			}
			if isNew := actions[2] == nil || actions[3] == nil; isNew == (actions[0] == nil || actions[1] == nil) {
				t.Fatalf("neither or both: %v", actions)
			}
		}
	})
	t.Run("adding a prompt waits for its deletion, and the deletion waits for an addition", func(t *testing.T) {
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by, registry := team.Member, fixture.Registry(t)
		registries := func(identity.OrgID) *chat.Registry { return registry }
		using := chatService(a.Stores, registries)
		deleting := prompts.NewService(a.Atomic, a.PromptStores, a.Users, noQuotas)
		p := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "contended"})
		fixture.Version(t, a.Stores, by, p.ID, "one", "live")
		draft := chat.Draft{Content: chat.Content{Name: "uses it", Prompt: chat.Prompt{Template: p.ID, Ref: "live"}}}
		use := func() error { _, err := using.Create(ctx, by, draft); return err }
		// first runs in a transaction that is open while second starts.
		runBoth := func(first func(tx ports.Stores) error, second func() error) (err error) {
			t.Helper()
			var result <-chan error
			must(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				if err := first(tx); err != nil {
					return err
				}
				result = a.beside(t, second)
				return nil
			}))
			return <-result
		}
		wantErr(t, runBoth(func(tx ports.Stores) error {
			_, err := chatService(tx, registries).Create(ctx, by, draft)
			return err
		}, func() error { return deleting.Delete(ctx, by, p.ID, nil, false) }), prompt.ErrInUse)
		found, err := a.ChatLists.Visible(ctx, by, chat.Filter{Prompt: p.ID}, page.Query{Limit: 1})
		must(t, err)
		must(t, using.Delete(ctx, by, found.Items[0].ID, nil))
		wantErr(t, runBoth(func(tx ports.Stores) error {
			return prompts.NewService(tx.Atomic, tx.PromptStores, tx.Users, noQuotas).Delete(ctx,
				by, p.ID, nil, false)
		}, use), chat.ErrPromptUnavailable)
	})
}
