package main

import (
	"errors"
	"fmt"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

type eventsCommand struct {
	Verify eventsVerifyCommand `cmd:"" help:"Check that no event was changed, deleted, moved or inserted."`
	Tail   eventsTailCommand   `cmd:"" group:"server" help:"Print the events of a server as they happen."`
	Export eventsExportCommand `cmd:"" group:"server" help:"Write the events of a server to a file or a bucket."`
}

// Help implements kong.HelpProvider.
func (eventsCommand) Help() string { return "Examples:\n  atrium events verify\n  atrium events tail" }

type eventsVerifyCommand struct {
	Workspace string `help:"Id or slug of one workspace; default: all." placeholder:"SLUG"`
	Org       string `help:"Slug of the org of the workspace, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print a JSON array of reports, one for each chain."`
}

// Help implements kong.HelpProvider.
func (eventsVerifyCommand) Help() string {
	return `Walks the chain of events of each workspace and verifies the signature of every event. Works
while the server runs, and changes nothing. Exits with 1 if a chain is broken.

It prints the number and the hash of each chain's last event. Keep them elsewhere: they also reveal whether someone
restored an older copy of the database.

Examples:
  atrium events verify
  atrium events verify --workspace research --json`
}

// Run implements the command.
func (v *eventsVerifyCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		var ws identity.WorkspaceID
		if v.Workspace != "" {
			by, err := inOrg(app, v.Org)
			if err != nil {
				return err
			}
			found, err := app.DB.Stores().Workspaces.Find(p.ctx, by.Org, v.Workspace)
			if err != nil {
				return err
			}
			ws = found.ID
		}
		reports := []event.Report{}
		err := app.DB.Events().VerifyChains(p.ctx, ws, v.progress(p), func(r event.Report) error {
			reports = append(reports, r)
			switch {
			case v.JSON:
				return nil
			case p.atTerminal():
				return printBreaks(p, r)
			}
			return printReport(p, r)
		})
		broken, rows := 0, make([][]string, len(reports))
		for i, r := range reports {
			rows[i] = reportRow(r)
			if r.Broken > 0 {
				broken++
			}
		}
		switch {
		case err != nil:
		case v.JSON:
			err = p.json(reports)
		case p.atTerminal():
			err = p.table([]string{"WORKSPACE", "VERIFIED", "LAST", "HASH", "WAITING", "UNSIGNED", "BREAKS"}, rows)
		}
		if err != nil {
			return err
		}
		if broken > 0 {
			return fmt.Errorf("%d of %d chains are broken", broken, len(reports))
		}
		if !v.JSON {
			return p.print(false, nil, "%s verified, none is broken.\n", node.Count(len(reports), "chain"))
		}
		return nil
	})
}

// progressAfter is how many events are checked between two lines about the progress.
const progressAfter = 100_000

// progress returns what counts the events that are checked, and tells a person at a terminal now and then.
func (v *eventsVerifyCommand) progress(p *process) func() {
	count := 0
	return func() {
		if count++; count%progressAfter == 0 && p.atTerminal() && !v.JSON {
			_, _ = fmt.Fprintf(p.stderr, "%d events checked\n", count)
		}
	}
}

// printReport prints the report on one chain.
func printReport(p *process, r event.Report) error {
	return errors.Join(
		p.print(false, nil, "%s: %d verified up to %d %s, %d redacted, %d not linked yet, %d without a signature, "+
			"%s\n", chainName(r), r.Verified, r.Seq, r.Hash, r.Redacted, r.Waiting, r.Unsigned,
			node.Count(r.Broken, "break")),
		printBreaks(p, r))
}

// printBreaks prints where a chain is broken.
func printBreaks(p *process, r event.Report) error {
	var errs []error
	for _, b := range r.Breaks {
		errs = append(errs, p.print(false, nil, "  at %d %s: %s\n", b.Seq, b.Event, b.Reason))
	}
	return errors.Join(errs...)
}

func chainName(r event.Report) string {
	if r.Workspace == "" {
		return "no workspace of " + string(r.Org)
	}
	return string(r.Workspace)
}

func reportRow(r event.Report) []string {
	return []string{chainName(r), fmt.Sprint(r.Verified), fmt.Sprint(r.Seq), fmt.Sprint(r.Hash), fmt.Sprint(r.Waiting),
		fmt.Sprint(r.Unsigned), fmt.Sprint(r.Broken)}
}
