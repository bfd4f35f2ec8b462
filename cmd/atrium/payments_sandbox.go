package main

import (
	"context"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/payment"
)

// inSandbox calls act with an org's sandbox. What the sandbox refuses is a wrong argument.
func (p *process) inSandbox(slug string, act func(context.Context, *stripesim.Simulator) error) error {
	return p.withCore(func(app *node.Core) error {
		org, err := orgNamed(app, slug)
		if err != nil {
			return err
		}
		s, err := app.External.Gateways.Sandbox(org.ID)
		if err == nil {
			err = act(p.ctx, s)
		}
		if err != nil {
			return usageError{err}
		}
		return nil
	})
}

type paymentSandboxRefundCommand struct {
	Invoice string `arg:"" help:"Id of the invoice."`
	Amount  int64  `help:"How much, in the smallest unit of the currency. Default: what is left."`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Print JSON: invoice_id."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxRefundCommand) Help() string {
	return `Does what a person does in the gateway's dashboard. Invoices that were paid with the test cards for
asynchronous refunds are refunded, or the refund fails, an hour later.

Example:
  atrium payments sandbox refund in_1a2b3c --amount 500`
}

// Run implements the command.
func (c *paymentSandboxRefundCommand) Run(p *process) error {
	if err := p.inSandbox(c.Org, func(ctx context.Context, s *stripesim.Simulator) error {
		return s.Refund(ctx, payment.InvoiceID(c.Invoice), c.Amount)
	}); err != nil {
		return err
	}
	return p.print(c.JSON, map[string]any{"invoice_id": c.Invoice}, "Invoice %s is refunded.\n", c.Invoice)
}

type paymentSandboxCreditCommand struct {
	Invoice string `arg:"" help:"Id of the invoice."`
	Amount  int64  `required:"" help:"How much, in the smallest unit of the currency."`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Print JSON: invoice_id."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxCreditCommand) Help() string {
	return `A credit note for an open invoice reduces what is to be paid. For a paid one, the amount becomes a credit of
the workspace, which is deducted from its next invoices.

Example:
  atrium payments sandbox credit in_1a2b3c --amount 500`
}

// Run implements the command.
func (c *paymentSandboxCreditCommand) Run(p *process) error {
	if err := p.inSandbox(c.Org, func(ctx context.Context, s *stripesim.Simulator) error {
		return s.Credit(ctx, payment.InvoiceID(c.Invoice), c.Amount)
	}); err != nil {
		return err
	}
	return p.print(c.JSON, map[string]any{"invoice_id": c.Invoice}, "Invoice %s has a credit note.\n", c.Invoice)
}

type paymentSandboxDisputeCommand struct {
	ID      string `arg:"" help:"Id of an invoice, or of a dispute that is to be closed."`
	Inquiry bool   `help:"Open an inquiry: no money is taken back."`
	Close   string `help:"Close the dispute. A lost inquiry becomes a dispute." enum:"won,lost," default:""`
	Org     string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON    bool   `name:"json" help:"Print JSON: dispute_id."`
}

// Help implements kong.HelpProvider.
func (paymentSandboxDisputeCommand) Help() string {
	return `Does what a payer's bank does. There are also test cards whose payments are disputed at once, such as
4000 0000 0000 0259.

Examples:
  atrium payments sandbox dispute in_1a2b3c
  atrium payments sandbox dispute du_4d5e6f --close won`
}

// Run implements the command.
func (c *paymentSandboxDisputeCommand) Run(p *process) error {
	id, verb := c.ID, "open"
	if c.Close != "" {
		verb = "closed"
	}
	if err := p.inSandbox(c.Org, func(ctx context.Context, s *stripesim.Simulator) (err error) {
		if c.Close != "" {
			return s.CloseDispute(ctx, c.ID, c.Close == "won")
		}
		id, err = s.Dispute(ctx, payment.InvoiceID(c.ID), c.Inquiry)
		return err
	}); err != nil {
		return err
	}
	return p.print(c.JSON, map[string]any{"dispute_id": id}, "Dispute %s is %s.\n", id, verb)
}
