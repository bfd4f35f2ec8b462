package sqlstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/databases"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestALostReferenceIsNotedOnceForBothOwners(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		db := open(t, url, databases.Keyring(t))
		ids, err := db.EnsureOrgs(ctx, []string{"one"})
		require.NoError(t, err)
		s := db.Stores()
		team := fixture.NewTeam(t, s, ids["one"])
		by, peer := team.Member, team.Peer
		target := fixture.Template(t, s, by, prompt.Draft{Name: "read", Visibility: access.Workspace})
		v := fixture.Version(t, s, by, target.ID, "text", "live")
		fixture.Activate(t, s, by, target.ID, prompt.Ref{ID: v.ID})
		refer := func(ref string) *chat.Template {
			return fixture.Chat(t, s, peer, chat.Draft{Content: chat.Content{Prompt: chat.Prompt{Template: target.ID,
				Ref: ref}}})
		}
		talk, other := refer("live"), refer("active")
		fixture.ChangeChat(t, s, peer, other.ID, func(c *chat.Template) error {
			return c.Change(peer, nil, chat.Changes{Prompt: &chat.Prompt{}}, chat.Facts{Registry: fixture.Registry(t)})
		})
		including := map[prompt.IncludeMode]*prompt.Template{}
		for _, mode := range []prompt.IncludeMode{prompt.Pinned, prompt.Floating} {
			holder := fixture.Template(t, s, peer, prompt.Draft{Name: string(mode), IncludeMode: mode})
			v := fixture.Version(t, s, peer, holder.ID, "{{> read}}", "production")
			v.Includes = []prompt.Include{{Name: "read", Ref: "active", Template: target.ID}}
			require.NoError(t, s.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				return tx.Prompts.SetIncludes(ctx, peer, v)
			}))
			including[mode] = holder
		}
		see := func(v access.Visibility) {
			t.Helper()
			if _, err := s.Prompts.Update(ctx, by, target.ID, func(p *prompt.Template) error {
				return p.Change(by, nil, prompt.Changes{Visibility: &v}, prompt.Recipient{})
			}); err != nil {
				t.Fatal(err)
			}
		}
		note := func(delay time.Duration) {
			t.Helper()
			system := identity.System("", "", "test", fixture.At.Add(delay))
			require.NoError(t, prompts.NewStore(db.DB).NoteReferences(ctx, system))
		}
		report := func(occasion string, times int) {
			t.Helper()
			for subject, want := range map[string][]string{
				string(talk.ID):                       {"chat_template.degraded " + string(target.ID)},
				string(other.ID):                      nil, // it refers to the prompt no more
				string(including[prompt.Pinned].ID):   nil,
				string(including[prompt.Floating].ID): {"prompt_template.degraded " + string(target.ID)},
				string(target.ID): {"prompt_template.reader_lost " + string(talk.ID),
					"prompt_template.reader_lost " + string(including[prompt.Floating].ID)},
			} {
				var got []string
				for _, e := range fixture.Events(t, s, team.Workspace.ID, event.Filter{Subject: subject}, 100) {
					switch e.Type {
					case "chat_template.degraded", "prompt_template.degraded":
						got = append(got, fmt.Sprint(e.Type, " ", e.Data["prompt_template_id"]))
					case "prompt_template.reader_lost":
						got = append(got, fmt.Sprint(e.Type, " ", e.Data["used_by"]))
					default:
						continue
					}
					if e.Data["owner_id"] != string(peer.User) || e.Actor != "" || e.Org != team.Org {
						t.Errorf("%s: the event is %+v", occasion, e)
					}
				}
				all := slices.Repeat(want, times)
				slices.Sort(all)
				slices.Sort(got)
				if !slices.Equal(got, all) {
					t.Errorf("%s, %s has %q, want %q", occasion, subject, got, all)
				}
			}
		}
		note(0)
		report("with the right", 0)
		see(access.Private)
		note(time.Second)
		note(2 * time.Second)
		report("without it", 1)
		system := identity.System(team.Org, team.Workspace.ID, "test", fixture.At.Add(2*time.Second))
		lost := prompt.Reference{Holder: string(talk.ID), Template: target.ID, Ref: "live"}
		require.NoError(t, sqlstore.NoteLost(ctx, db, system, lost, peer.User))
		report("after another node that had read the same loss", 1)
		usageOf := func(refs ...string) (ids []string) {
			t.Helper()
			uses, err := s.ChatLists.Uses(ctx, team.Workspace.ID, target.ID, refs, 10)
			require.NoError(t, err)
			for _, u := range uses {
				ids = append(ids, u.ID)
			}
			return ids
		}
		if got := usageOf(string(v.ID), "v1"); !slices.Equal(got, []string{string(talk.ID)}) {
			t.Errorf("the version at which a chat stays is used by %q", got)
		}
		see(access.Workspace)
		note(3 * time.Second)
		if got := usageOf(string(v.ID), "v1"); got != nil {
			t.Errorf("a version that no chat stays at is used by %q", got)
		}
		report("with the right again", 1)
		see(access.Private)
		note(4 * time.Second)
		report("without it again", 2)
	})
}

// TestTheMigrationKeepsWhatReferencesName runs the insert of the migration 0192 on chats and prompts without
// references.
func TestTheMigrationKeepsWhatReferencesName(t *testing.T) {
	databases.OnEach(t, func(t *testing.T, url string) {
		ctx := t.Context()
		a, rows := adapter(t, url), databases.Raw(t, url)
		team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		by := team.Member
		target := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "read"})
		var releases []prompt.VersionID
		for _, text := range []string{"one", "two", "three"} {
			v := fixture.Version(t, a.Stores, by, target.ID, text, "live")
			fixture.Activate(t, a.Stores, by, target.ID, prompt.Ref{ID: v.ID})
			releases = append(releases, v.ID)
		}
		// The latest frozen, the active and the previous version are three.
		fixture.Activate(t, a.Stores, by, target.ID, prompt.Ref{ID: releases[0]})
		fixture.Activate(t, a.Stores, by, target.ID, prompt.Ref{ID: releases[1]})
		draft := fixture.Version(t, a.Stores, by, target.ID, "a draft")
		for _, ref := range []string{"active", "latest", "previous", "live", "v1", "v4", string(draft.ID), "nothing"} {
			c := fixture.Chat(t, a.Stores, by, chat.Draft{Status: chat.StatusPublished,
				Content: chat.Content{Prompt: chat.Prompt{Template: target.ID, Ref: ref}}})
			if ref == "v1" { // only the published version refers to it then
				fixture.ChangeChat(t, a.Stores, by, c.ID, func(c *chat.Template) error {
					return c.Change(by, nil, chat.Changes{Prompt: &chat.Prompt{}},
						chat.Facts{Registry: fixture.Registry(t)})
				})
			}
		}
		holder := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "including"})
		for _, labels := range [][]string{{"released"}, nil} {
			v := fixture.Version(t, a.Stores, by, holder.ID, "{{> read}}", labels...)
			v.Includes = []prompt.Include{{Name: "read", Ref: "active", Template: target.ID}}
			if labels == nil {
				v.Includes[0].Ref = "live"
			}
			require.NoError(t, a.Atomic.Atomically(ctx, func(tx ports.Stores) error {
				return tx.Prompts.SetIncludes(ctx, by, v)
			}))
		}
		read := func() string {
			t.Helper()
			var all string
			if err := rows.QueryRowContext(ctx, `SELECT COALESCE(string_agg(line, ' ' ORDER BY line), '') FROM (
				SELECT holder_id || '/' || prompt_id || '/' || ref || '/' || workspace_id || '/' || version_id || '/' ||
				lost_at AS line FROM prompt_references) r`).Scan(&all); err != nil {
				t.Fatal(err)
			}
			return all
		}
		want := read()
		if _, err := rows.ExecContext(ctx, `DELETE FROM prompt_references`); err != nil {
			t.Fatal(err)
		}
		engine := map[bool]string{true: "sqlite", false: "postgres"}[strings.HasPrefix(url, "sqlite:")]
		text, err := os.ReadFile(filepath.Join("migrations", engine, "0192_prompt_references.sql"))
		require.NoError(t, err)
		_, fill, _ := strings.Cut(string(text), "-- What existing references name now.")
		fill, _, _ = strings.Cut(fill, "CREATE TRIGGER")
		if _, err := rows.ExecContext(ctx, fill); err != nil {
			t.Fatal(err)
		}
		if got := read(); strings.Count(want, " ") != 8 || got != want {
			t.Errorf("it has\n%s\nwant\n%s", got, want)
		}
	})
}
