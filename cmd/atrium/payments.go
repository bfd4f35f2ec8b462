package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/doctor"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

type paymentsCommand struct {
	Events  paymentEventsCommand  `cmd:"" help:"Show and replay events of gateways."`
	Resume  paymentResumeCommand  `cmd:"" help:"End the pause of a workspace's payments."`
	Sandbox paymentSandboxCommand `cmd:"" help:"Advance the sandbox's clock, and make its calls fail."`
}

// Help implements kong.HelpProvider.
func (paymentsCommand) Help() string {
	return `Examples:
  atrium payments events list --state dead
  atrium payments resume research
  atrium payments sandbox advance 30d`
}

type paymentEventsCommand struct {
	List   paymentEventsListCommand   `cmd:"" help:"List events, newest first."`
	Replay paymentEventsReplayCommand `cmd:"" help:"Process an event again."`
}

// Help implements kong.HelpProvider.
func (paymentEventsCommand) Help() string { return "Example:\n  atrium payments events list" }

type paymentEventsListCommand struct {
	State string `help:"Only in this state: received, done, ignored, dead." enum:"received,done,ignored,dead," default:""`
	Limit int    `help:"How many events to list, 1 to 1000." default:"50"`
	Org   string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON  bool   `name:"json" help:"Print a JSON array of events."`
}

// Help implements kong.HelpProvider.
func (paymentEventsListCommand) Help() string {
	return `Dead events failed for about twenty minutes: find the reason, then replay them.

Example:
  atrium payments events list --state dead`
}

// Run implements the command.
func (l *paymentEventsListCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, l.Org)
		if err != nil {
			return err
		}
		all, err := app.Services.Payments.Events(p.ctx, by, payment.EventState(l.State),
			page.Query{Limit: min(max(l.Limit, 1), 1000)})
		if err != nil {
			return err
		}
		return list(p, l.JSON, []string{"RECEIVED", "STATE", "TYPE", "ID", "FAILURE"}, all.Items,
			func(e payment.Event) (any, []string) {
				return map[string]any{
					"id": e.ID, "account": e.Account, "type": e.Type, "state": e.State, "customer": e.Customer,
					"workspace_id": e.Workspace, "attempts": e.Attempts, "failure": e.Failure,
					"received_at": e.ReceivedAt,
				}, []string{e.ReceivedAt.Format(time.RFC3339), string(e.State), e.Type, e.ID, e.Failure}
			})
	})
}

type paymentEventsReplayCommand struct {
	ID      string `arg:"" help:"Id of the event."`
	Account string `help:"Account at the gateway, as list --json shows it. Default: the current one." placeholder:"NAME"`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Print JSON: id, type, queued."`
}

// Help implements kong.HelpProvider.
func (paymentEventsReplayCommand) Help() string {
	return `Queues the event again. A server processes it, with current data from the gateway.

Example:
  atrium payments events replay evt_1NG8Du2eZvKYlo2CUI79vXWy`
}

// Run implements the command.
func (r *paymentEventsReplayCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, r.Org)
		if err != nil {
			return err
		}
		account := r.Account
		if account == "" {
			account = app.External.Gateways.Terms(by.Org).Account
		}
		e, err := app.Services.Payments.Replay(p.ctx, by, account, r.ID)
		if err != nil {
			return err
		}
		return p.print(r.JSON, map[string]any{"id": e.ID, "type": e.Type, "queued": true},
			"%s (%s) is queued.\n", e.ID, e.Type)
	})
}

type paymentResumeCommand struct {
	Workspace string `arg:"" help:"Slug or id of the workspace."`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: workspace_id, slug, resumed."`
}

// Help implements kong.HelpProvider.
func (paymentResumeCommand) Help() string {
	return `Payments of a workspace pause when too many cards were declined within 24 hours, because someone
may be testing stolen cards. atrium doctor payments lists the workspaces. Resuming takes effect on every node at
once.

Example:
  atrium payments resume research`
}

// Run implements the command.
func (r *paymentResumeCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, r.Org)
		if err != nil {
			return err
		}
		ws, err := app.DB.Stores().Workspaces.Find(p.ctx, by.Org, r.Workspace)
		if err != nil {
			return err
		}
		hasResumed, err := app.Services.Payments.Resume(p.ctx, identity.System(by.Org, ws.ID, "atrium payments resume",
			time.Now()))
		if err != nil {
			return err
		}
		out := map[string]any{"workspace_id": ws.ID, "slug": ws.Slug, "resumed": hasResumed}
		if !hasResumed {
			return p.print(r.JSON, out, "Payments of workspace %s (%s) are not paused; nothing was done.\n",
				ws.Slug, ws.ID)
		}
		return p.print(r.JSON, out, "Payments of workspace %s (%s) are resumed.\n", ws.Slug, ws.ID)
	})
}

type paymentSandboxCommand struct {
	Advance paymentSandboxAdvanceCommand `cmd:"" help:"Advance the clocks of all workspaces in the sandbox."`
	Provoke paymentSandboxProvokeCommand `cmd:"" help:"Make the next calls to the sandbox fail."`
	Refund  paymentSandboxRefundCommand  `cmd:"" help:"Refund an invoice in the sandbox."`
	Credit  paymentSandboxCreditCommand  `cmd:"" help:"Make a credit note for an invoice in the sandbox."`
	Dispute paymentSandboxDisputeCommand `cmd:"" help:"Open or close a dispute in the sandbox."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxCommand) Help() string { return "Example:\n  atrium payments sandbox advance 30d" }

type paymentSandboxAdvanceCommand struct {
	By   duration `arg:"" help:"How far to advance, such as 12h or 30d."`
	Org  string   `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON bool     `name:"json" help:"Print JSON: now, customers."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxAdvanceCommand) Help() string {
	return `Advances the clocks of all workspaces. Renewals, ends of trials and retries up to the new time happen,
and their events are delivered. Clocks cannot go back. POST /api/payments/sandbox/clock advances one
workspace.

Example:
  atrium payments sandbox advance 30d`
}

// Run implements the command.
func (a *paymentSandboxAdvanceCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, a.Org)
		if err != nil {
			return err
		}
		s, err := app.External.Gateways.Sandbox(org.ID)
		if err != nil {
			return usageError{err}
		}
		now, customers, err := s.AdvanceAll(p.ctx, time.Duration(a.By))
		if err != nil {
			return err
		}
		return p.print(a.JSON, map[string]any{"now": now, "customers": customers},
			"It is %s in the sandbox, which has %s.\n",
			now.Format(time.RFC3339), node.Count(customers, "customer"))
	})
}

type paymentSandboxProvokeCommand struct {
	Trouble   []string `arg:"" optional:"" help:"Result of each of the next calls. Without any, all calls succeed again."`
	Call      string   `help:"Only of these calls, such as \"set default\". All others succeed." placeholder:"NAME"`
	Duplicate bool     `help:"From now on, deliver each event twice."`
	Reorder   bool     `help:"From now on, deliver events in reverse order."`
	Org       string   `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool     `name:"json" help:"Print JSON: calls."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxProvokeCommand) Help() string {
	return `Simulates failures of a gateway, to test your application. The results of calls are ok, timeout,
timeout_after, error, error_after, error_kept, rate_limited, denied (as by a key without rights), reset and
garbage. A call that fails with a kind that ends in _after has taken effect; a call that only reads does not
fail with it unless it is named. With --call, the failures wait for calls of that name: wallet reads a
customer's payment methods, subscriptions and invoices read those.

Examples:
  atrium payments sandbox provoke timeout_after timeout_after timeout_after
  atrium payments sandbox provoke --call subscribe error_kept
  atrium payments sandbox provoke --duplicate --reorder`
}

// Run implements the command.
func (v *paymentSandboxProvokeCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, v.Org)
		if err != nil {
			return err
		}
		s, err := app.External.Gateways.Sandbox(org.ID)
		if err != nil {
			return usageError{err}
		}
		var troubles []stripesim.Fault
		for _, t := range v.Trouble {
			kind, ok := stripesim.ParseFault(t)
			if !ok {
				return usageError{fmt.Errorf("unknown failure %q", t)}
			}
			troubles = append(troubles, kind)
		}
		if v.Call != "" && !slices.Contains(stripesim.Calls(), v.Call) {
			calls := strings.Join(stripesim.Calls(), ", ")
			return usageError{fmt.Errorf("unknown call %q: it is one of %s", v.Call, calls)}
		}
		script := stripesim.Script{Troubles: troubles, Call: v.Call, Duplicate: v.Duplicate, Reorder: v.Reorder}
		if err := s.Provoke(p.ctx, script); err != nil {
			return err
		}
		return p.print(v.JSON, map[string]any{"calls": len(troubles)},
			"Scripted in the sandbox: the next %s.\n", node.Count(len(troubles), "call"))
	})
}

type doctorPaymentsCommand struct {
	Org  string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON bool   `name:"json" help:"Print JSON: checks, each with check, ok, warning, note."`
}

// Help implements kong.HelpProvider.
func (doctorPaymentsCommand) Help() string {
	return `Looks up the prices of the plans, and compares Atrium's mirror with the gateway for each workspace that is a
customer. It changes nothing: a server corrects differences automatically, once a day and with each event.

Example:
  atrium doctor payments --config /etc/atrium.yaml`
}

// Run implements the command.
func (d *doctorPaymentsCommand) Run(p *process) error {
	return p.withCore(func(app *node.Core) error {
		by, err := inOrg(app, d.Org)
		if err != nil {
			return err
		}
		findings, err := doctor.Payments(p.ctx, app, by)
		if err != nil {
			return err
		}
		return p.report(findings, d.JSON)
	})
}
