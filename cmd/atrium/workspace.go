package main

import "github.com/atrium-hq/atrium/cmd/atrium/internal/node"

type workspaceCommand struct {
	Restore workspaceRestoreCommand `cmd:"" help:"Restore a deleted workspace, within 30 days."`
}

// Help implements kong.HelpProvider.
func (workspaceCommand) Help() string { return "Example:\n  atrium workspace restore research" }

type workspaceRestoreCommand struct {
	Workspace string `arg:"" help:"Slug or id of the workspace."`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
}

// Help implements kong.HelpProvider.
func (workspaceRestoreCommand) Help() string {
	return `Its members, prompts and keys are restored with it.

Example:
  atrium workspace restore research`
}

// Run implements the command.
func (w *workspaceRestoreCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, w.Org)
		if err != nil {
			return err
		}
		ws, err := app.Services.Accounts.RestoreWorkspace(p.ctx, by, w.Workspace)
		if err != nil {
			return err
		}
		if len(ws.Recorded()) == 0 {
			return p.print(false, nil, "Workspace %s (%s) is not deleted; nothing was done.\n", ws.Slug, ws.ID)
		}
		return p.print(false, nil, "Workspace %s (%s) is restored.\n", ws.Slug, ws.ID)
	})
}
