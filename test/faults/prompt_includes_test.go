package faults

import (
	"slices"

	"github.com/atrium-hq/atrium/application/prompts"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func init() { promptCases = slices.Concat(promptCases, includeCases, folderCases) }

// onInclude prepares a call on a template whose second version, a draft, includes the active version of another one,
// which includes a third.
func onInclude(call func(e *env, id prompt.ID) error) func(*env) func() error {
	return func(e *env) func() error {
		newValue := includedPrompts(e)
		return func() error { return call(e, newValue) }
	}
}

func includedPrompts(e *env) prompt.ID {
	by := e.team.Member
	add := func(name string, texts ...string) prompt.ID {
		template := fixture.Template(e.t, e.stores, by, prompt.Draft{Name: name})
		for i, text := range texts {
			d := prompt.VersionDraft{Content: prompt.Content{Text: text}, Activate: i == 0}
			if _, _, err := e.prompts.AddVersion(e.ctx, by, template.ID, d); err != nil {
				e.t.Fatal(err)
			}
		}
		return template.ID
	}
	add("third", "words")
	add("other", "A {{> third}}")
	return add("Greeting", "one", "two {{> other}}")
}

var includeCases = []useCase{
	{name: "AddVersion, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.AddVersion(e.ctx, e.team.Member, id,
			prompt.VersionDraft{Content: prompt.Content{Text: "{{> other}} {{> third}}"}, Activate: true})
		return err
	})},
	{name: "ChangeVersion, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.ChangeVersion(e.ctx, e.team.Member, id, two, nil, prompt.VersionChanges{
			Content: func(c prompt.Content) prompt.Content { c.Text = "{{> third}}"; return c },
			Labels:  &[]string{"live"},
		})
		return err
	})},
	{name: "ActivateVersion, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.ActivateVersion(e.ctx, e.team.Member, id, two, nil, prompt.Activating{})
		return err
	})},
	{name: "MoveLabel, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, _, err := e.prompts.MoveLabel(e.ctx, e.team.Member, id, two, prompt.LabelMove{Label: "live"})
		return err
	})},
	{name: "Resolve, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Resolve(e.ctx, e.team.Member, []prompts.Wanted{{ID: id, Ref: two}, {Name: "other",
			Ref: one}})
		return err
	})},
	{name: "Render, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, _, err := e.prompts.Render(e.ctx, e.team.Member, id, two, "", nil, prompt.Strict)
		return err
	})},
	{name: "Compare, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, err := e.prompts.Compare(e.ctx, e.team.Member, id, one, two)
		return err
	})},
	{name: "Copy, with includes", prepare: onInclude(func(e *env, id prompt.ID) error {
		_, _, err := e.prompts.Copy(e.ctx, e.team.Member, id, prompt.Copying{})
		return err
	})},
	{name: "Delete, beside includes", prepare: func(e *env) func() error {
		includedPrompts(e)
		third := fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{Name: "fourth"})
		fixture.Version(e.t, e.stores, e.team.Member, third.ID, "text", "live")
		return func() error { return e.prompts.Delete(e.ctx, e.team.Member, third.ID, nil, false) }
	}},
}

// onFolder prepares a call on a share of a folder.
func onFolder(call func(e *env, id prompt.FolderShareID) error) func(*env) func() error {
	return func(e *env) func() error {
		share, err := e.prompts.ShareFolder(e.ctx, e.team.Admin, "here",
			prompt.Grant{User: e.team.Peer.User, Role: access.Viewer})
		require.NoError(e.t, err)
		return func() error { return call(e, share.ID) }
	}
}

var folderCases = []useCase{
	{name: "ChangeShares", prepare: onPrompt(func(e *env, id prompt.ID) error {
		_, err := e.prompts.ChangeShares(e.ctx, e.team.Member, id, []prompt.Grant{
			{Email: "viewer@" + e.team.Workspace.Slug + ".example", Role: access.Viewer}, {User: e.team.Peer.User}})
		return err
	})},
	{name: "FolderShares", prepare: onFolder(func(e *env, _ prompt.FolderShareID) error {
		_, err := e.prompts.FolderShares(e.ctx, e.team.Admin, "here", ten)
		return err
	})},
	{name: "InheritedShares", prepare: func(e *env) func() error {
		template := fixture.Template(e.t, e.stores, e.team.Member, prompt.Draft{Name: "here/x"})
		return func() error { _, err := e.prompts.InheritedShares(e.ctx, e.team.Member, template.ID, ten); return err }
	}},
	{name: "FolderShare", prepare: onFolder(func(e *env, id prompt.FolderShareID) error {
		_, err := e.prompts.FolderShare(e.ctx, e.team.Admin, id)
		return err
	})},
	{name: "ShareFolder", prepare: onFolder(func(e *env, _ prompt.FolderShareID) error {
		_, err := e.prompts.ShareFolder(e.ctx, e.team.Admin, "there",
			prompt.Grant{User: e.team.Peer.User, Role: access.Viewer})
		return err
	})},
	{name: "ChangeFolderShare", prepare: onFolder(func(e *env, id prompt.FolderShareID) error {
		_, err := e.prompts.ChangeFolderShare(e.ctx, e.team.Admin, id, nil,
			prompt.ShareChanges{Role: new(access.Manager)})
		return err
	})},
	{name: "UnshareFolder", prepare: onFolder(func(e *env, id prompt.FolderShareID) error {
		return e.prompts.UnshareFolder(e.ctx, e.team.Admin, id, nil)
	})},
}
