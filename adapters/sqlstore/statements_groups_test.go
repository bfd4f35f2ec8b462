package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestReadsLookForGroupsOnlyOfThoseWhoAreInOne counts the statements of the reads that happen most often. Those of a
// caller who is in no group name no table of groups. Those of others are as many, and no part of their plans examines
// more rows than they need.
func TestReadsLookForGroupsOnlyOfThoseWhoAreInOne(t *testing.T) {
	const people = 2000
	databases.OnEach(t, func(t *testing.T, url string) {
		db, message := databases.Watched(t, url)
		orgs, err := db.EnsureOrgs(t.Context(), []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team, other := fixture.NewTeam(t, s, orgs["one"]), fixture.NewTeam(t, s, orgs["one"])
		template := fixture.Template(t, s, team.Member, prompt.Draft{})
		fixture.Version(t, s, team.Member, template.ID, "one")
		fixture.Activate(t, s, team.Member, template.ID, prompt.Ref{Number: 1})
		_, token := fixture.Key(t, s, team.Peer, account.KeyDraft{Name: "k"})
		group := func(in *fixture.Team, users ...identity.UserID) identity.UserID {
			var id identity.UserID
			err := s.Groups.Add(t.Context(), in.Admin, func(w *account.Workspace, n int) (*account.Group, error) {
				g, err := w.NewGroup(in.Admin, n, account.GroupDraft{Name: fmt.Sprint("group ", n)})
				id = g.ID
				return g, err
			})
			if err == nil {
				_, err = s.Groups.Update(t.Context(), in.Admin, id, users,
					func(w *account.Workspace, g *account.Group) (err error) {
						for _, user := range users {
							if err = w.AddToGroup(in.Admin, g, user); err != nil {
								break
							}
						}
						return err
					})
			}
			require.NoError(t, err)
			return id
		}
		inspect := databases.Raw(t, url)
		addMembers(t, inspect, other, people)
		if _, err := inspect.ExecContext(t.Context(), fmt.Sprintf(`
			INSERT INTO group_people (group_id, workspace_id, user_id, created_at)
			SELECT '%s', workspace_id, user_id, 0 FROM memberships WHERE workspace_id = '%s'`,
			group(other), other.Workspace.ID)); err != nil {
			t.Fatal(err)
		}
		read := func(t *testing.T, by identity.Actor, want access.Role) (queries []string) {
			t.Helper()
			message.Take()
			p, err := s.Keys.Principal(t.Context(), team.Org, token.Hash())
			if err != nil || p.Membership.Grouped != by.Grouped {
				t.Fatalf("the caller is grouped: %v, %v", p.Membership.Grouped, err)
			}
			got, v, err := s.Prompts.GetVersion(t.Context(), by, template.ID, prompt.Ref{Active: true})
			if err != nil || (v != nil) != (want > access.None) || got.CanEdit(by) != (want >= access.Editor) {
				t.Fatalf("%+v, %+v, %v", got, v, err)
			}
			if _, err := s.PromptLists.Visible(t.Context(), by, prompt.Filter{Query: "x"},
				page.Query{Limit: 20}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ChatLists.Visible(t.Context(), by, chat.Filter{Query: "x"},
				page.Query{Limit: 20}); err != nil {
				t.Fatal(err)
			}
			for _, one := range message.Take() {
				queries = append(queries, one.Query)
				var plan, problem string
				if db.Engine() == "postgres" {
					plan, problem = explainPostgres(t, inspect, one, people/10)
				} else {
					plan, problem = explainSQLite(t, inspect, one)
				}
				if problem != "" {
					t.Errorf("%s\n%s\n%s", problem, plan, one.Query)
				}
			}
			return queries
		}
		by := team.Peer
		rest := read(t, by, access.None)
		for _, query := range rest {
			// What the owner of a chat may read of its prompt (gp) depends on the groups of that owner.
			if strings.Contains(query, "group_people p ") || strings.Contains(query, "user_groups") ||
				(strings.Contains(query, "prompt_folder_shares") && !strings.Contains(query, "prompt_lost")) {
				t.Errorf("a caller without groups looks for them: %s", query)
			}
		}
		g := group(team, by.User)
		fixture.Share(t, s, team.Member, template.ID, prompt.Grant{User: g, Role: access.Editor})
		by.Grouped = true
		extra := read(t, by, access.Editor)
		// The version is read once it can be seen, each of the two lists has one more branch to bound, and that of
		// prompts looks for folders.
		if len(extra) != len(rest)+4 {
			t.Errorf("%d statements, without groups %d:\n%s", len(extra), len(rest), strings.Join(extra, "\n"))
		}
		grant := prompt.Grant{User: g, Role: access.Manager}
		err = s.PromptFolders.Update(t.Context(), team.Admin, "folder", g, func(f *prompt.SharedFolder,
			target prompt.Recipient, previous *prompt.FolderShare) error {
			_, err := f.Share(team.Admin, target, previous, grant)
			return err
		})
		require.NoError(t, err)
		// one more branch, and the version is known
		if folders := read(t, by, access.Editor); len(folders) != len(extra) {
			t.Errorf("%d statements, without folders %d:\n%s", len(folders), len(extra), strings.Join(folders, "\n"))
		}
	})
}
