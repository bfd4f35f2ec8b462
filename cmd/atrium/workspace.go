package main

import (
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
)

type workspaceCommand struct {
	List    workspaceListCommand    `cmd:"" help:"List the workspaces of an org."`
	Restore workspaceRestoreCommand `cmd:"" help:"Restore a deleted workspace, within 30 days."`
}

// Help implements kong.HelpProvider.
func (workspaceCommand) Help() string {
	return "Examples:\n  atrium workspace list\n  atrium workspace restore research"
}

type workspaceRestoreCommand struct {
	Workspace string `arg:"" help:"Slug or id of the workspace."`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: workspace_id, slug, restored."`
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
		isRestored := len(ws.Recorded()) > 0
		out := map[string]any{"workspace_id": ws.ID, "slug": ws.Slug, "restored": isRestored}
		if !isRestored {
			return p.print(w.JSON, out, "Workspace %s (%s) is not deleted; nothing was done.\n", ws.Slug, ws.ID)
		}
		return p.print(w.JSON, out, "Workspace %s (%s) is restored.\n", ws.Slug, ws.ID)
	})
}
