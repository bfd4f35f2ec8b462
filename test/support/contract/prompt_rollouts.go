package contract

import (
	"fmt"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func promptRollouts(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "rolled out"})
	one := fixture.Version(t, a.Stores, by, template.ID, "one", "live")
	two := fixture.Version(t, a.Stores, by, template.ID, "two", "next")
	start := func(label string, weight int) error {
		_, err := a.Prompts.EditVersion(ctx, by, template.ID, prompt.Ref{Number: 1},
			func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
				return p.RollOut(by, v, []*prompt.VersionInfo{&two.VersionInfo}, prompt.RolloutDraft{
					LabelMove: prompt.LabelMove{Label: label, Reason: "try"},
					Versions:  []prompt.WeightedRef{{Weight: 100 - weight}, {Weight: weight}},
				}, usedLabels)
			})
		return err
	}
	rollouts := func(t *testing.T) []prompt.Rollout {
		t.Helper()
		got, err := a.Prompts.Rollouts(ctx, by, template.ID)
		must(t, err)
		return got
	}
	move := func(ref prompt.Ref, label string) error {
		_, err := a.Prompts.EditVersion(ctx, by, template.ID, ref,
			func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
				return p.MoveLabel(by, v, prompt.LabelMove{Label: label}, usedLabels)
			})
		return err
	}

	t.Run("a rollout is kept with every slot of every version, and changed as a whole", func(t *testing.T) {
		must(t, start("live", 10))
		previous := rollouts(t)
		must(t, start("live", 35))
		must(t, start("canary", 50))
		got := rollouts(t)
		if len(got) != 2 || got[0].Label != "canary" || got[1].Seed != previous[0].Seed || got[0].Seed == got[1].Seed {
			t.Fatalf("rollouts = %+v", got)
		}
		same(t, "weights", got[1].Weights(), []prompt.Weight{{Version: one.ID, Number: 1, Percent: 65},
			{Version: two.ID, Number: 2, Percent: 35}})
		slots := map[byte]bool{}
		for _, p := range got[1].Parts {
			for _, s := range p.Slots {
				slots[s] = true
			}
		}
		same(t, "slots", len(slots), 100)
	})
	t.Run("the ledger of the label has the weights", func(t *testing.T) {
		moves, err := a.PromptLists.Activations(ctx, by.Workspace, template.ID, "live", page.Query{Limit: 1})
		must(t, err)
		same(t, "move", moves.Items, []prompt.Activation{{Label: "live", From: one.ID, FromNumber: 1, To: one.ID,
			ToNumber: 1, By: by.User, At: by.At, Reason: "try", Weights: []prompt.Weight{
				{Version: one.ID, Number: 1, Percent: 65}, {Version: two.ID, Number: 2, Percent: 35}}}})
	})
	t.Run("a rollout keeps its guard, since when it runs, and its warning", func(t *testing.T) {
		previous := rollouts(t)
		same(t, "without a guard", previous[0].Guard, prompt.Guard{})
		guarded := previous[1]
		guarded.Guard = prompt.Guard{Name: "solved", Value: "Ü \"1\"", Margin: 0.025, Lower: true}
		guarded.Since, guarded.WarnedAt = prompt.DayOf(by.At)-3, by.At
		_, err := a.Prompts.Update(ctx, by, template.ID, func(p *prompt.Template) error {
			p.ChangedRollouts = append(p.ChangedRollouts, guarded)
			return nil
		})
		must(t, err)
		same(t, "rollouts", rollouts(t), []prompt.Rollout{previous[0], guarded})
	})
	t.Run("another workspace sees no rollouts", func(t *testing.T) {
		other := fixture.NewTeam(t, a.Stores, a.Orgs[0])
		got, err := a.Prompts.Rollouts(ctx, other.Member, template.ID)
		must(t, err)
		same(t, "rollouts", len(got), 0)
	})
	t.Run("a move of the label ends its rollout, and no other one", func(t *testing.T) {
		must(t, move(prompt.Ref{Number: 2}, "live"))
		got := rollouts(t)
		if len(got) != 1 || got[0].Label != "canary" {
			t.Fatalf("rollouts = %+v", got)
		}
	})
	t.Run("of changes at once, each is kept or replaced as a whole", func(t *testing.T) {
		must(t, move(prompt.Ref{Number: 1}, "live"))
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				var err error
				if i%4 == 3 {
					err = move(prompt.Ref{Number: 1 + i/4%2}, "live")
				} else {
					err = start("live", i+1)
				}
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		moves, err := a.PromptLists.Activations(ctx, by.Workspace, template.ID, "live", page.Query{Limit: 100})
		must(t, err)
		for i, m := range moves.Items[:len(moves.Items)-1] {
			if previous := moves.Items[i+1]; m.From != previous.To {
				t.Errorf("move %d is from %s, the one before to %s", i, m.From, previous.To)
			}
		}
		var weights []prompt.Weight
		for _, r := range rollouts(t) {
			if r.Label == "live" {
				weights = r.Weights()
			}
		}
		same(t, "weights now, as in the ledger", fmt.Sprint(weights), fmt.Sprint(moves.Items[0].Weights))
	})
}
