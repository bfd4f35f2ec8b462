package contract

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// promptRaces changes one template concurrently.
func promptRaces(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	all := func(n int, do func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				assert.NoError(t, do(i))
			})
		}
		wg.Wait()
	}

	t.Run("concurrent changes are all kept", func(t *testing.T) {
		item := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "changed"})
		all(20, func(int) error {
			_, err := a.Prompts.Update(ctx, by, item.ID, func(p *prompt.Template) error {
				return p.Change(by, nil, prompt.Changes{Description: new(p.Description + "!")}, prompt.Recipient{})
			})
			return err
		})
		if got, err := a.Prompts.Get(ctx, by, item.ID); err != nil || len(got.Description) != 20 || got.Revision != 21 {
			t.Fatalf("description = %q, revision %d, %v", got.Description, got.Revision, err)
		}
	})
	t.Run("concurrent versions get distinct numbers", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "numbered"})
		all(20, func(i int) error {
			return a.Prompts.AddVersion(ctx, by, template.ID,
				func(p *prompt.Template, usage prompt.Labels) (*prompt.Version, error) {
					return p.AddVersion(by, prompt.VersionDraft{Content: prompt.Content{Text: fmt.Sprint(i)}}, usage)
				})
		})
		for i, v := range keptOf(t, a.Stores, by, template.ID).Versions {
			if v.Number != 20-i {
				t.Fatalf("version %d has number %d", 20-i, v.Number)
			}
		}
	})
	t.Run("concurrent activations leave one pointer and one chain of ledger entries", func(t *testing.T) {
		const n = 32
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "activated"})
		for i := range n {
			fixture.Version(t, a.Stores, by, template.ID, fmt.Sprint(i))
		}
		all(n, func(i int) error {
			_, err := a.Prompts.UpdateVersion(ctx, by, template.ID, prompt.Ref{Number: i + 1},
				func(p *prompt.Template, v *prompt.VersionInfo) error {
					return p.Activate(by, nil, v, nil, "")
				})
			return err
		})
		k := keptOf(t, a.Stores, by, template.ID)
		if len(k.Ledger) != n || k.Template.Active.Version != k.Ledger[0].To || k.Template.Revision != n+1 {
			t.Fatalf("%d lines, active %s, last line to %s, revision %d", len(k.Ledger), k.Template.Active.Version,
				k.Ledger[0].To, k.Template.Revision)
		}
		seen := map[prompt.VersionID]bool{}
		for i, line := range k.Ledger {
			var previous prompt.VersionID
			if i+1 < n {
				previous = k.Ledger[i+1].To
			}
			if line.From != previous || seen[line.To] {
				t.Fatalf("line %d goes from %q to %q, after %q", n-i, line.From, line.To, previous)
			}
			seen[line.To] = true
		}
		events := 0
		for _, kind := range kinds(k.Events) {
			if kind == "prompt_template.activated" {
				events++
			}
		}
		require.Equal(t, "events", events, n)
	})
	t.Run("32 concurrent moves leave a label on one version, with a chain of ledger entries", func(t *testing.T) {
		const n = 32
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "labelled"})
		for i := range n {
			fixture.Version(t, a.Stores, by, template.ID, fmt.Sprint(i))
		}
		all(n, func(i int) error {
			_, err := a.Prompts.EditVersion(ctx, by, template.ID, prompt.Ref{Number: i + 1},
				func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
					return p.MoveLabel(by, v, prompt.LabelMove{Label: "live"}, usedLabels)
				})
			return err
		})
		var versions []prompt.VersionID
		for _, v := range keptOf(t, a.Stores, by, template.ID).Versions {
			if len(v.Labels) > 0 {
				versions = append(versions, v.ID)
			}
		}
		moves, err := a.PromptLists.Activations(ctx, by.Workspace, template.ID, "live", page.Query{Limit: 100})
		must(t, err)
		if len(moves.Items) != n || len(versions) != 1 || moves.Items[0].To != versions[0] {
			t.Fatalf("%d moves, the last to %s, and %q have the label", len(moves.Items), moves.Items[0].To, versions)
		}
		for i, move := range moves.Items[:n-1] {
			if move.From != moves.Items[i+1].To {
				t.Fatalf("move %d begins at %q, and the one before ends at %q", n-i, move.From, moves.Items[i+1].To)
			}
		}
	})
	t.Run("of many concurrent templates with one name one is stored", func(t *testing.T) {
		var mu sync.Mutex
		won := 0
		all(16, func(int) error {
			template, err := prompt.New(by, prompt.Draft{Name: "contended"})
			if err != nil {
				return err
			}
			if err = a.Prompts.Add(ctx, template); errors.Is(err, prompt.ErrNameTaken) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			won++
			return err
		})
		require.Equal(t, "got the name", won, 1)
	})
	t.Run("a lock waits for changes, and changes wait for it", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "locked"})
		fixture.Version(t, a.Stores, by, template.ID, "one")
		previous := keptOf(t, a.Stores, by, template.ID)
		lockSerialises(t, a, by, func(tx ports.Stores) error {
			_, _, err := tx.Prompts.Lock(ctx, by, template.ID, prompt.Ref{Number: 1})
			return err
		}, func(tx ports.Stores) error {
			_, err := tx.Prompts.UpdateVersion(ctx, by, template.ID, prompt.Ref{Number: 1},
				func(*prompt.Template, *prompt.VersionInfo) error { return nil })
			return err
		})
		same(t, "the template, which was only locked", keptOf(t, a.Stores, by, template.ID), previous)
	})
	t.Run("a waiting change sees that a share was removed meanwhile", func(t *testing.T) {
		template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "unshared"})
		fixture.Share(t, a.Stores, by, template.ID, prompt.Grant{User: team.Peer.User, Role: access.Editor})
		var changedErrs <-chan error
		_, err := a.Prompts.UpdateFor(ctx, by, template.ID, team.Peer.User,
			func(p *prompt.Template, peer prompt.Recipient) error {
				changedErrs = a.beside(t, func() error {
					_, err := a.Prompts.Update(ctx, team.Peer, template.ID, func(p *prompt.Template) error {
						return p.Change(team.Peer, nil, prompt.Changes{Description: new("too late")},
							prompt.Recipient{})
					})
					return err
				})
				return p.Unshare(by, nil, peer)
			})
		must(t, err)
		wantErr(t, <-changedErrs, prompt.ErrNotFound)
		if k := keptOf(t, a.Stores, by, template.ID); len(k.Shares) != 0 || k.Template.Description != "" {
			t.Fatalf("shares = %+v, description %q", k.Shares, k.Template.Description)
		}
	})
}
