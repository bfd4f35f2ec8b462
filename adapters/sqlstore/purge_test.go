package sqlstore_test

import (
	"crypto/sha256"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// furnishChat makes a chat template of by's with a member and an embed token.
func furnishChat(t *testing.T, s ports.Stores, by, peer identity.Actor, isDeleted bool) {
	t.Helper()
	item := fixture.Chat(t, s, by, chat.Draft{})
	fixture.ChatMember(t, s, by, item.ID, peer.User, access.Viewer)
	require.NoError(t, s.Embeds.Add(t.Context(), by, item.ID, func(c *chat.Template, actual int) (*embed.Token, error) {
		token, _, err := embed.NewToken(c, by, actual,
			embed.Changes{Name: new("site"), Origins: new([]string{"https://a.example", "https://b.example"})})
		return token, err
	}))
	if isDeleted {
		fixture.ChangeChat(t, s, by, item.ID, func(c *chat.Template) error { return c.Delete(by, nil) })
	}
}

// furnishGroup makes a group with peer, and a share of it.
func furnishGroup(t *testing.T, s ports.Stores, by, peer identity.Actor) {
	t.Helper()
	var group identity.UserID
	err := s.Groups.Add(t.Context(), by, func(w *account.Workspace, count int) (*account.Group, error) {
		g, err := w.NewGroup(by, count, account.GroupDraft{Name: "Support"})
		group = g.ID
		return g, err
	})
	if err == nil {
		_, err = s.Groups.Update(t.Context(), by, group, []identity.UserID{peer.User},
			func(w *account.Workspace, g *account.Group) error { return w.AddToGroup(by, g, peer.User) })
	}
	require.NoError(t, err)
	template := fixture.Template(t, s, by, prompt.Draft{Name: "for a group"})
	fixture.Share(t, s, by, template.ID, prompt.Grant{User: group, Role: access.Viewer})
}

// furnish makes things of every kind in by's workspace.
func furnish(t *testing.T, a ports.Stores, idempotency ports.Idempotency, by, peer identity.Actor) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"lives", "deleted"} {
		template := fixture.Template(t, a, by, prompt.Draft{Name: name})
		fixture.Version(t, a, by, template.ID, "text", "live")
		fixture.Activate(t, a, by, template.ID, prompt.Ref{Number: 1})
		fixture.Share(t, a, by, template.ID, prompt.Grant{User: peer.User, Role: access.Viewer})
		if name == "deleted" {
			fixture.Delete(t, a, fixture.Later(by, 29*24*time.Hour), template.ID)
		}
	}
	furnishGroup(t, a, by, peer)
	furnishChat(t, a, by, peer, false)
	furnishChat(t, a, fixture.Later(by, 29*24*time.Hour), peer, true)
	for _, email := range []string{"open@example.com", "withdrawn@example.com"} {
		require.NoError(t, a.Invitations.Invite(ctx, by, by.Workspace, email,
			func(w *account.Workspace, member identity.UserID, pending *account.Invitation) (*account.Invitation,
				error) {
				i, _, err := w.Invite(by, email, identity.Viewer, member, pending)
				return i, err
			}))
	}
	first, err := a.Invitations.List(ctx, by.Org, by.Workspace, page.Query{Limit: 1})
	if err == nil {
		err = a.Invitations.Update(ctx, by, by.Workspace, first.Items[0].ID,
			func(w *account.Workspace, i *account.Invitation) error { return w.Withdraw(by, nil, i) })
	}
	require.NoError(t, err)
	for _, leaves := range []bool{false, true} {
		program, k := fixture.ServiceKey(t, a, by, account.KeyDraft{Name: "program", Ceiling: identity.Member})
		if leaves {
			if _, err := a.Workspaces.Update(ctx, by, by.Workspace, []identity.UserID{program.ID},
				func(w *account.Workspace) error { return w.Remove(by, nil, program.ID, false) }); err != nil {
				t.Fatal(err)
			}
		}
		actor := by
		actor.User, actor.Role = program.ID, k.Ceiling
		if !leaves {
			fixture.Template(t, a, actor, prompt.Draft{Name: "by a program"})
		}
	}
	fixture.Connection(t, a, by)
	fixture.Source(t, a, by, fixture.SheetReading())
	pays, err := payment.NewCustomer(identity.System(by.Org, by.Workspace, "test", by.At), payment.Sandbox, "sandbox",
		"key", payment.Details{})
	if err == nil {
		_, err = a.Payments.Reserve(ctx, by, pays)
	}
	if err == nil {
		_, err = a.Payments.Update(ctx, by, "sandbox", func(c *payment.Customer) error {
			c.Mirror(by, c.Look(), payment.Seen{Wallet: &payment.Wallet{Methods: []payment.Method{{ID: "pm_1"}}},
				Invoices: &[]payment.Invoice{{ID: "in_1"}}}, nil)
			return nil
		})
	}
	require.NoError(t, err)
	require.NoError(t, a.Jobs.Enqueue(ctx, job.New(by, "test.purge", "subject", by.At)))
	_, _, err = idempotency.Once(ctx, ports.IdempotencyKey{Org: by.Org, Scope: sha256.Sum256([]byte(by.Workspace)),
		At: by.At.Add(30 * 24 * time.Hour)}, nil, func(s ports.Stores) (ports.Answer, error) {
		k, token := fixture.Key(t, s, by, account.KeyDraft{Name: "k"})
		return ports.Answer{Status: 201, Body: []byte(token.Reveal()), Reveals: string(k.ID)}, nil
	}, nil)
	require.NoError(t, err)
}

func TestSweepPurgesWorkspaces(t *testing.T) {
	const day = 24 * time.Hour
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, rows := adapter(t, url), databases.Raw(t, url)
		db := open(t, url, databases.Keyring(t))
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		system := identity.System(team.Org, "", "test", fixture.At)
		claims := account.Claims{Issuer: "https://issuer.example", Subject: "s", Email: "owner@" + team.Workspace.Slug +
			".example", EmailVerified: true}
		org := &identity.Org{Issuers: []identity.Issuer{{URL: claims.Issuer, TrustEmail: true}}}
		if _, err := a.Users.SignIn(ctx, team.Org, account.SignIn{Claims: claims, Org: org},
			func(s *account.SignIn) error { return s.Settle(system) }); err != nil {
			t.Fatal(err)
		}
		// Four workspaces with the same things in them: one lives, and the others were deleted one after another.
		ownActors := map[string]identity.Actor{}
		pair := &account.User{ID: "usr_both", Org: team.Org, Service: true, CreatedAt: fixture.At,
			UpdatedAt: fixture.At}
		require.NoError(t, a.Users.Add(ctx, pair))
		for i, name := range []string{"lives", "first", "second", "restored"} {
			w, err := account.NewWorkspace(team.Owner, nil, name, "")
			if err == nil {
				if name == "lives" || name == "first" {
					w.Members[pair.ID] = account.Member{User: pair.ID, Service: true, Role: identity.Member,
						ByHand: identity.Member, Revision: 1, CreatedAt: fixture.At, UpdatedAt: fixture.At}
				}
				err = a.Workspaces.Add(ctx, w)
			}
			require.NoError(t, err)
			by, peer := team.Owner, team.Peer
			by.Workspace = w.ID
			if _, err := a.Workspaces.Update(ctx, by, w.ID, nil, func(w *account.Workspace) error {
				w.SettleGranted(system, peer.User, "https://issuer.example", identity.Member, nil)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			furnish(t, a.Stores, a.Idempotency, by, peer)
			ownActors[name] = by
			if name == "lives" {
				continue
			}
			if _, err := a.Workspaces.Update(ctx, by, w.ID, nil, func(w *account.Workspace) error {
				return w.Delete(fixture.Later(by, time.Duration(i)*time.Second), nil)
			}); err != nil {
				t.Fatal(err)
			}
		}
		reply := fixture.Later(system, day)
		if _, err := a.Workspaces.Update(ctx, reply, ownActors["restored"].Workspace, nil,
			func(w *account.Workspace) error { return w.Restore(reply) }); err != nil {
			t.Fatal(err)
		}
		things := map[string]int{
			"workspaces": 1, "workspace_usage": 1, "memberships": 3, "invitations": 2, "api_keys": 3, "users": 3,
			"user_groups": 1, "group_people": 1,
			"prompt_templates": 4, "prompt_shares": 3, "prompt_versions": 2, "prompt_labels": 2,
			"prompt_activations": 2, "prompt_label_moves": 2,
			"chat_templates": 2, "chat_members": 2, "chat_embed_tokens": 2, "chat_embed_origins": 4,
			"jobs": 1, "connections": 1, "connection_credentials": 1, "sources": 1, "source_memory": 1,
			"payment_customers": 1, "payment_methods": 1, "payment_invoices": 1,
		}
		first := maps.Clone(things) // and the membership of a program that is a member elsewhere too
		first["memberships"]++
		for _, step := range []struct {
			name    string
			now     time.Time
			removed map[string]int
		}{
			{"one that can be restored for the last time stays", fixture.At.Add(30*day + time.Hour + time.Second), nil},
			{"one that cannot goes with all that is in it, and nothing else",
				fixture.At.Add(30*day + time.Hour + time.Second + time.Microsecond), first},
			{"so does the next, a second later", fixture.At.Add(30*day + time.Hour + 3*time.Second), things},
		} {
			t.Run(step.name, func(t *testing.T) {
				want := counts(t, rows)
				for table, n := range step.removed {
					want[table] -= n
				}
				for range 2 { // the second time there is nothing left to do
					require.NoError(t, db.Sweep(ctx, step.now, 400*day))
					if got := counts(t, rows); !maps.Equal(got, want) {
						t.Fatalf("rows (-want +got):\n%s", cmp.Diff(want, got))
					}
				}
			})
		}
		for name, want := range map[string]error{"lives": nil, "restored": nil, "first": identity.ErrWorkspaceNotFound,
			"second": identity.ErrWorkspaceNotFound} {
			t.Run(name+" is or is not there", func(t *testing.T) {
				if _, err := a.Workspaces.Get(ctx, ownActors[name], ownActors[name].Workspace); !errors.Is(err, want) {
					t.Errorf("error = %v, want %v", err, want)
				}
				templates, err := a.PromptLists.Visible(ctx, ownActors[name], prompt.Filter{}, page.Query{Limit: 9})
				if err != nil || (len(templates.Items) > 0) != (want == nil) {
					t.Errorf("%d templates, %v", len(templates.Items), err)
				}
				keys, err := a.Keys.List(ctx, ownActors[name].Workspace, "", fixture.At, page.Query{Limit: 9})
				if err != nil || (len(keys.Items) > 0) != (want == nil) {
					t.Errorf("%d keys, %v", len(keys.Items), err)
				}
			})
		}
		t.Run("the slug is free again, the trail stays", func(t *testing.T) {
			w, err := account.NewWorkspace(team.Owner, nil, "first", "")
			if err == nil {
				err = a.Workspaces.Add(ctx, w)
			}
			assert.NoError(t, err)
			first := ownActors["first"].Workspace
			events, err := a.Events.List(ctx, first, event.Filter{Subject: string(first)}, page.Query{Limit: 9})
			if err != nil || len(events.Items) != 4 {
				t.Errorf("%d events, %v", len(events.Items), err)
			}
		})
	})
}
