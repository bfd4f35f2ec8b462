package faults

import (
	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

var ten = page.Query{Limit: 10}

// onPrompt prepares a call on a template with two versions, the first of which is active, and a share.
func onPrompt(call func(e *env, id prompt.ID) error) func(*env) func() error {
	return func(e *env) func() error {
		by := e.team.Member
		template := fixture.Template(e.t, e.stores, by, prompt.Draft{})
		fixture.Version(e.t, e.stores, by, template.ID, "one", "live")
		fixture.Version(e.t, e.stores, by, template.ID, "two")
		fixture.Activate(e.t, e.stores, by, template.ID, prompt.Ref{Number: 1})
		fixture.Share(e.t, e.stores, by, template.ID, prompt.Grant{User: e.team.Peer.User, Role: access.Viewer})
		return func() error { return call(e, template.ID) }
	}
}

var one, two = prompt.Ref{Number: 1}, prompt.Ref{Number: 2}

var promptCases = []useCase{
	{name: "List", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		_, err := e.prompts.List(e.ctx, e.team.Member, prompt.Filter{}, ten)
		return err
	})},
	{name: "Folders", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		_, _, err := e.prompts.Folders(e.ctx, e.team.Member, "")
		return err
	})},
	{name: "Tags", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		_, _, err := e.prompts.Tags(e.ctx, e.team.Member)
		return err
	})},
	{name: "MoveFolder", prepare: func(e *env) func() error {
		fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{Name: "here/x"})
		return func() error {
			_, err := e.prompts.MoveFolder(e.ctx, e.team.Member, "here", "there")
			return err
		}
	}},
	{name: "Copy", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.Copy(e.ctx, e.team.Member, id, prompt.Copying{})
		return err
	})},
	{name: "Create", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		_, err := e.prompts.Create(e.ctx, e.team.Member, prompt.Draft{Name: "new"}, nil)
		return err
	})},
	{name: "Get", prepare: onPrompt(func(e *env, id prompt.ID) error { _, err := e.prompts.Get(e.ctx, e.team.Member, id); return err })},
	{name: "Change", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Change(e.ctx, e.team.Member, id, nil, prompt.Changes{Name: new("other")})
		return err
	})},
	{name: "Change, with a new owner", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Change(e.ctx, e.team.Member, id, nil, prompt.Changes{Owner: &e.team.Peer.User})
		return err
	})},
	{name: "Delete", prepare: onPrompt(func(e *env, id prompt.ID) error { return e.prompts.Delete(e.ctx, e.team.Member, id, nil, true) })},
	{name: "Restore", prepare: func(e *env) func() error {
		template := fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{})
		fixture.Delete(e.t, e.stores, e.team.Member, template.ID)
		return func() error { _, err := e.prompts.Restore(e.ctx, e.team.Member, template.ID); return err }
	}},
	{name: "Versions", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.Versions(e.ctx, e.team.Member, id, ten)
		return err
	})},
	{name: "AddVersion", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.AddVersion(e.ctx, e.team.Member, id,
			prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Labels: []string{"live"}})
		return err
	})},
	{name: "AddVersion, with a base", prepare: func(e *env) func() error {
		template := fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{})
		base := fixture.Version(e.t, e.stores, e.team.Member, template.ID, "base")
		return func() error {
			_, _, err := e.prompts.AddVersion(e.ctx, e.team.Member, template.ID,
				prompt.VersionDraft{Content: prompt.Content{Text: "x"}, Base: base.ID})
			return err
		}
	}},
	{name: "Version", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.Version(e.ctx, e.team.Member, id, prompt.Ref{Latest: true})
		return err
	})},
	{name: "ChangeVersion", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.ChangeVersion(e.ctx, e.team.Member, id, two, nil, prompt.VersionChanges{
			Content: func(c prompt.Content) prompt.Content { c.Text = "longer than it was"; return c },
			Labels:  &[]string{"live"},
		})
		return err
	})},
	{name: "DeleteVersion", prepare: onPrompt(func(e *env, id prompt.ID) error { return e.prompts.DeleteVersion(e.ctx, e.team.Member, id, two, nil) })},
	{name: "ActivateVersion", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.ActivateVersion(e.ctx, e.team.Member, id, two, nil, prompt.Activating{Reason: "why"})
		return err
	})},
	{name: "Activations", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Activations(e.ctx, e.team.Member, id, "live", ten)
		return err
	})},
	{name: "MoveLabel", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, _, err := e.prompts.MoveLabel(e.ctx, e.team.Member, id, two, prompt.LabelMove{Label: "moved"})
		return err
	})},
	{name: "RollOut", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.RollOut(e.ctx, e.team.Member, id, prompt.RolloutDraft{
			LabelMove: prompt.LabelMove{Label: "moved"}, Versions: []prompt.WeightedRef{{Ref: one, Weight: 90},
				{Ref: two, Weight: 10}}})
		return err
	})},
	{name: "Export", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		return e.prompts.Export(e.ctx, e.team.Member, "", prompt.Ref{Latest: true},
			func(*prompt.Template, *prompt.Reading, *prompt.Version) error { return nil })
	})},
	{name: "Import", prepare: onPrompt(func(e *env, _ prompt.ID) error {
		draft := func(name, text string) prompt.Imported {
			return prompt.Imported{Draft: prompt.Draft{Name: name, Type: prompt.Text, Visibility: access.Private},
				Versions: []prompt.VersionDraft{{Content: prompt.Content{Text: text}, Activate: true}}}
		}
		_, err := e.prompts.Import(e.ctx, e.team.Member, []prompt.Imported{draft("Greeting", "Hello {{> imported}}"),
			draft("imported", "text")}, prompt.Importing{})
		return err
	})},
	{name: "Rollouts", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Rollouts(e.ctx, e.team.Member, id)
		return err
	})},
	{name: "Render, by key", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, _, err := e.prompts.Render(e.ctx, e.team.Member, id, prompt.Ref{Label: "live"}, "key", nil, prompt.Strict)
		return err
	})},
	{name: "RemoveLabel", prepare: func(e *env) func() error {
		template := fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{})
		fixture.Version(e.t, e.stores, e.team.Member, template.ID, "text", "live")
		return func() error {
			return e.prompts.RemoveLabel(e.ctx, e.team.Member, template.ID, nil, prompt.LabelMove{Label: "live"})
		}
	}},
	{name: "Render", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, _, _, err := e.prompts.Render(e.ctx, e.team.Member, id, one, "", nil, prompt.Strict)
		return err
	})},
	{name: "Compare", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Compare(e.ctx, e.team.Member, id, one, two)
		return err
	})},
	{name: "Resolve", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Resolve(e.ctx, e.team.Member,
			[]prompts.Wanted{{ID: id, Ref: two}, {Name: "Greeting", Ref: one}})
		return err
	})},
	{name: "Shares", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Shares(e.ctx, e.team.Member, id, ten)
		return err
	})},
	{name: "ShareWith", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.ShareWith(e.ctx, e.team.Member, id, e.team.Peer.User)
		return err
	})},
	{name: "Share", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Share(e.ctx, e.team.Member, id,
			prompt.Grant{Email: "viewer@" + e.team.Workspace.Slug + ".example", Role: access.Viewer})
		return err
	})},
	{name: "ChangeShare", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.ChangeShare(e.ctx, e.team.Member, id, e.team.Peer.User, nil,
			prompt.ShareChanges{Role: new(access.Editor)})
		return err
	})},
	{name: "Unshare", prepare: onPrompt(func(e *env, id prompt.ID) error {
		return e.prompts.Unshare(e.ctx, e.team.Member, id, e.team.Peer.User, nil)
	})},
}
