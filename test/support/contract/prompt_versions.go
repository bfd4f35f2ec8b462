package contract

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func promptVersions(t *testing.T, a Adapter) {
	ctx := t.Context()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by := team.Member
	read := func(t *testing.T, by identity.Actor, id prompt.ID, ref prompt.Ref) *prompt.Version {
		t.Helper()
		_, v, err := a.Prompts.GetVersion(ctx, by, id, ref)
		must(t, err)
		return v
	}

	reading := func(t *testing.T, by identity.Actor, id prompt.ID) *prompt.Reading {
		t.Helper()
		full, err := a.Prompts.Get(ctx, by, id)
		must(t, err)
		return full.Reading()
	}

	t.Run("a version is read back with every field", func(t *testing.T) {
		temperature, tokens := 0.7, 100
		for name, tt := range map[string]struct {
			of      prompt.Type
			content prompt.Content
		}{
			"chat": {prompt.Chat, prompt.Content{
				Messages: []prompt.Message{{Role: "system", Content: "Be {{mood}} – äöü 🎉"},
					{Role: "user", Name: "ann", Parts: []prompt.Part{{Type: "text", Text: "See {{mood}}",
						Members: map[string]json.RawMessage{"cache_control": json.RawMessage(`{"a":1.0}`)}},
						{Type: "file", Members: map[string]json.RawMessage{"file": json.RawMessage(`{"x":"\u0000"}`)}}}},
					{Role: "assistant", NoContent: true, ToolCalls: json.RawMessage(`[{"id":"c1"}]`)},
					{Role: "tool", Content: "42", ToolCallID: "c1"},
					{Placeholder: "history", Required: true}},
				Variables: []prompt.Variable{{Name: "mood", Type: "string", Required: true,
					Default: json.RawMessage(`"kind"`), Enum: []any{"kind", "curt"}, Description: "how",
					Sensitive: true}, {Name: "history", Type: "array"}},
				Model: &prompt.ModelConfig{Provider: "p", ModelName: "m", Temperature: &temperature, MaxTokens: &tokens,
					StopSequences: []string{"\n"},
					ExtraParams:   map[string]any{"seed": json.Number("12345678901234567890")}},
				Tools:          json.RawMessage(`[{"name": "search"}]`),
				ResponseFormat: json.RawMessage(`{"type": "json_object"}`),
			}},
			"text": {prompt.Text, prompt.Content{Text: "plain 'text' with \"quotes\"\r\n\t{{not_a_tag}}",
				Format: prompt.Verbatim}},
		} {
			template := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "whole " + name, Type: tt.of})
			want := fixture.VersionOf(t, a.Stores, by, template.ID,
				prompt.VersionDraft{Content: tt.content, VariablesDeclared: tt.content.Variables != nil,
					Labels: []string{"live", "a"}, CommitMessage: "first"})
			got := read(t, by, template.ID, prompt.Ref{ID: want.ID})
			same(t, name, got, want)
			if got.CreatedAt != fixture.At || got.UpdatedAt != fixture.At || got.ContentHash != got.Content.Hash() {
				t.Errorf("%s: times %v, %v; hash %s of %s", name, got.CreatedAt, got.UpdatedAt, got.ContentHash,
					got.Content.Hash())
			}
		}
	})

	newTemplate := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "many", Visibility: access.Workspace})
	one := fixture.Version(t, a.Stores, by, newTemplate.ID, "one", "live")
	two := fixture.Version(t, a.Stores, by, newTemplate.ID, "two")
	fixture.Activate(t, a.Stores, by, newTemplate.ID, prompt.Ref{Number: 2})
	three := fixture.Version(t, a.Stores, by, newTemplate.ID, "three")

	t.Run("a reference finds its version", func(t *testing.T) {
		for _, tt := range []struct {
			by   identity.Actor
			ref  prompt.Ref
			want prompt.VersionID
		}{
			{by, prompt.Ref{ID: one.ID}, one.ID},
			{by, prompt.Ref{Number: 2}, two.ID},
			{by, prompt.Ref{Label: "live"}, one.ID},
			{by, prompt.Ref{Active: true}, two.ID},
			{by, prompt.Ref{Latest: true}, three.ID},
			{team.Viewer, prompt.Ref{Latest: true}, two.ID}, // the latest that a viewer can see
			{team.Viewer, prompt.Ref{Number: 3}, three.ID},  // the domain decides what a viewer can see
			{by, prompt.Ref{}, ""},
			{by, prompt.Ref{ID: "pver_00000000000000000000000000"}, ""},
			{by, prompt.Ref{Number: 4}, ""},
			{by, prompt.Ref{Label: "LIVE"}, ""},
			{by, prompt.Ref{Label: "absent"}, ""},
		} {
			name := fmt.Sprintf("%+v", tt.ref)
			got, v, err := a.Prompts.GetVersion(ctx, tt.by, newTemplate.ID, tt.ref)
			must(t, err)
			if v == nil != (tt.want == "") || (v != nil && v.ID != tt.want) {
				t.Errorf("%s: GetVersion = %+v", name, v)
			}
			same(t, name, got, reading(t, tt.by, newTemplate.ID))
			sameTemplate, sameVersion, err := a.Prompts.GetVersionByName(ctx, tt.by, "MANY", tt.ref)
			must(t, err)
			same(t, name+" by name", sameTemplate, got)
			same(t, name+" by name", sameVersion, v)
			lockedTemplate, info, err := a.Prompts.Lock(ctx, tt.by, newTemplate.ID, tt.ref)
			must(t, err)
			full, err := a.Prompts.Get(ctx, tt.by, newTemplate.ID)
			must(t, err)
			same(t, name+": the template that Lock returns", lockedTemplate, full)
			if v == nil != (info == nil) {
				t.Fatalf("%s: Lock returns %+v", name, info)
			}
			_, err = a.Prompts.UpdateVersion(ctx, tt.by, newTemplate.ID, tt.ref,
				func(p *prompt.Template, got *prompt.VersionInfo) error {
					same(t, name+": UpdateVersion's template", p, full)
					same(t, name+": UpdateVersion's version", got, info)
					return nil
				})
			must(t, err)
			_, err = a.Prompts.EditVersion(ctx, tt.by, newTemplate.ID, tt.ref,
				func(p *prompt.Template, got *prompt.Version, usedLabels prompt.Labels) error {
					same(t, name+": EditVersion's template", p, full)
					same(t, name+": EditVersion's version", got, v)
					same(t, name+": labels", usedLabels,
						prompt.Labels{"live": {Version: one.ID, Number: 1, By: one.CreatedBy}})
					return nil
				})
			must(t, err)
			if v != nil {
				same(t, name+": version", info, &v.VersionInfo)
			}
		}
	})
	t.Run("GetVersion returns a deleted template's deletion time and owner", func(t *testing.T) {
		goneTemplate := fixture.Template(t, a.Stores, team.Gone, prompt.Draft{Name: "gone"})
		v := fixture.Version(t, a.Stores, team.Gone, goneTemplate.ID, "text")
		fixture.Delete(t, a.Stores, team.Gone, goneTemplate.ID)
		for _, ref := range []prompt.Ref{{ID: v.ID}, {Latest: true}, {Active: true}} {
			got, _, err := a.Prompts.GetVersion(ctx, team.Owner, goneTemplate.ID, ref)
			must(t, err)
			same(t, "template", got, reading(t, team.Owner, goneTemplate.ID))
			assert.Equal(t, "deleted at", got.DeletedAt, fixture.At)
		}
	})
	t.Run("no version of a template that the caller cannot see is returned", func(t *testing.T) {
		hidden := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "hidden"})
		v := fixture.Version(t, a.Stores, by, hidden.ID, "text", "live")
		for _, ref := range []prompt.Ref{{ID: v.ID}, {Number: 1}, {Label: "live"}, {Latest: true}} {
			for _, byName := range []bool{false, true} {
				read := func(by identity.Actor) (*prompt.Reading, *prompt.Version, error) {
					if byName {
						return a.Prompts.GetVersionByName(ctx, by, "hidden", ref)
					}
					return a.Prompts.GetVersion(ctx, by, hidden.ID, ref)
				}
				if got, v, err := read(team.Peer); err != nil || got.ID != hidden.ID || v != nil {
					t.Errorf("%+v: a stranger gets %+v, %+v, %v", ref, got, v, err)
				}
				if _, v, err := read(by); err != nil || v == nil {
					t.Errorf("%+v: the owner gets %+v, %v", ref, v, err)
				}
			}
		}
	})
	t.Run("another template's version is not found", func(t *testing.T) {
		other := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "other"})
		if v := read(t, by, other.ID, prompt.Ref{ID: one.ID}); v != nil {
			t.Fatalf("found %+v", v)
		}
		if v := read(t, by, other.ID, prompt.Ref{Latest: true}); v != nil {
			t.Fatalf("the latest of none = %+v", v)
		}
	})
	t.Run("a template counts its versions and its drafts", func(t *testing.T) {
		got, err := a.Prompts.Get(ctx, by, newTemplate.ID)
		must(t, err)
		same(t, "all", got.AllVersions, prompt.Summary{Count: 3, Latest: three.ID, LatestNumber: 3})
		same(t, "frozen", got.FrozenVersions, prompt.Summary{Count: 2, Latest: two.ID, LatestNumber: 2})
	})
	t.Run("a changed version is stored", func(t *testing.T) {
		laterActor := fixture.Later(by, time.Second)
		var want prompt.Version
		_, err := a.Prompts.EditVersion(ctx, laterActor, newTemplate.ID, prompt.Ref{Number: 3},
			func(p *prompt.Template, v *prompt.Version, usedLabels prompt.Labels) error {
				err := p.ChangeVersion(laterActor, nil, v, prompt.VersionChanges{
					Content:        func(c prompt.Content) prompt.Content { c.Text = "drei {{x}}"; return c },
					InferVariables: true, CommitMessage: new("in German"),
				}, usedLabels)
				want = *v
				return err
			})
		must(t, err)
		got := read(t, by, newTemplate.ID, prompt.Ref{Number: 3})
		same(t, "version", got, &want)
		if got.Content.Text != "drei {{x}}" || got.Revision != 2 || got.UpdatedAt != laterActor.At {
			t.Fatalf("got %+v", got)
		}
	})
	t.Run("an activation is one pointer, one ledger entry and one event", func(t *testing.T) {
		actor := fixture.Later(by, time.Minute)
		_, err := a.Prompts.UpdateVersion(ctx, actor, newTemplate.ID, prompt.Ref{Number: 3},
			func(p *prompt.Template, v *prompt.VersionInfo) error {
				return p.Activate(actor, nil, v, nil, "better")
			})
		must(t, err)
		k := keptOf(t, a.Stores, by, newTemplate.ID)
		same(t, "pointer", k.Template.Active, prompt.Active{Version: three.ID, Number: 3, At: actor.At, By: by.User})
		same(t, "ledger", k.Ledger, []prompt.Activation{
			{From: two.ID, FromNumber: 2, To: three.ID, ToNumber: 3, By: by.User, At: actor.At, Reason: "better"},
			{To: two.ID, ToNumber: 2, By: by.User, At: fixture.At},
		})
		if k.Events[0].Type != "prompt_template.activated" || k.Versions[0].FirstActivatedAt != actor.At ||
			!k.Versions[0].Frozen {
			t.Fatalf("event = %+v, version = %+v", k.Events[0], k.Versions[0])
		}
	})
	t.Run("a version that is activated as it is added is the active one, with a ledger entry", func(t *testing.T) {
		position := fixture.Template(t, a.Stores, by, prompt.Draft{Name: "at once"})
		v := fixture.VersionOf(t, a.Stores, by, position.ID, prompt.VersionDraft{Content: prompt.Content{Text: "x"},
			Labels: []string{"live"}, Activate: true, Reason: "new"})
		same(t, "version", read(t, by, position.ID, prompt.Ref{Active: true}), v)
		k := keptOf(t, a.Stores, by, position.ID)
		same(t, "pointer", k.Template.Active, prompt.Active{Version: v.ID, Number: 1, At: by.At, By: by.User})
		same(t, "ledger", k.Ledger, []prompt.Activation{{To: v.ID, ToNumber: 1, By: by.User, At: by.At, Reason: "new"}})
	})
	t.Run("a deleted version keeps its number and its ledger entry", func(t *testing.T) {
		_, err := a.Prompts.UpdateVersion(ctx, by, newTemplate.ID, prompt.Ref{Number: 2},
			func(p *prompt.Template, v *prompt.VersionInfo) error {
				return p.DeleteVersion(by, nil, v, nil)
			})
		must(t, err)
		last := fixture.Version(t, a.Stores, by, newTemplate.ID, "four")
		_, err = a.Prompts.UpdateVersion(ctx, by, newTemplate.ID, prompt.Ref{Latest: true},
			func(p *prompt.Template, v *prompt.VersionInfo) error {
				return p.DeleteVersion(by, nil, v, nil)
			})
		must(t, err)
		if next := fixture.Version(t, a.Stores, by, newTemplate.ID, "five"); last.Number != 4 || next.Number != 5 {
			t.Fatalf("numbers %d, then %d; want 4, 5", last.Number, next.Number)
		}
		k := keptOf(t, a.Stores, by, newTemplate.ID)
		if len(k.Versions) != 3 || len(k.Ledger) != 2 || read(t, by, newTemplate.ID, prompt.Ref{Number: 2}) != nil {
			t.Fatalf("%d versions, %d lines", len(k.Versions), len(k.Ledger))
		}
		same(t, "count", k.Template.AllVersions.Count, 3)
		same(t, "number in the ledger", k.Ledger[0].FromNumber, 2)
	})
}
