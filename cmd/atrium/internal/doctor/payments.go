package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// abandonedSubscriptions reports subscriptions at accounts that an org no longer uses. Atrium no longer asks a gateway
// about them, and the gateway may still charge them.
func abandonedSubscriptions(
	ctx context.Context, app *node.Core, org identity.OrgID, account string,
) ([]Finding, error) {
	counts, err := app.DB.Stores().Payments.LiveElsewhere(ctx, org, account)
	var findings []Finding
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		f := Passed("subscriptions", "%d lived at the account %s when the org left it: end them there, if the "+
			"account still charges", counts[kind], kind)
		f.Warning = kind != stripesim.Account
		findings = append(findings, f)
	}
	return findings, err
}

// unknownPlan reports a subscription whose price belongs to no plan.
func unknownPlan(
	ctx context.Context, app *node.Core, ws identity.WorkspaceID, account string,
) ([]Finding, error) {
	c, err := app.DB.Stores().Payments.Customer(ctx, ws, account)
	if errors.Is(err, payment.ErrNoCustomer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := c.LiveSubscription()
	if s == nil || !s.Item.Unrecognized {
		return nil, nil
	}
	f := Passed("subscriptions", "%s: the plan of %s is unknown, and it has the limits of none: its price at the "+
		"gateway (%s) belongs to no plan, or to several", ws, s.ID, s.Item.Prices)
	f.Warning = true
	return []Finding{f}, nil
}

// Payments checks the plans, the events and the mirror of the payment gateway of by's org.
func Payments(ctx context.Context, app *node.Core, by identity.Actor) ([]Finding, error) {
	t := app.External.Gateways.Terms(by.Org)
	findings, err := abandonedSubscriptions(ctx, app, by.Org, t.Account)
	if err != nil {
		return nil, err
	}
	if t.Gateway == nil {
		return append(findings, Passed("gateway", "none: the org takes no payments")), nil
	}
	findings = append(findings, Passed("gateway", "%s, account %s, %s", t.Kind, t.Account,
		node.Count(len(t.Plans), "plan")))
	for _, err := range app.External.Gateways.Unsure() {
		findings = append(findings, Failed("plans", err))
	}
	pending, dead, oldest, err := app.DB.Stores().Inbox.Backlog(ctx, by.Org)
	if err != nil {
		return nil, err
	}
	inbox := Passed("events", "%d waiting, %d dead", pending, dead)
	inbox.Warning = dead > 0 || (!oldest.IsZero() && time.Since(oldest) > time.Hour)
	findings = append(findings, inbox)
	pauses, err := app.Services.Payments.Paused(ctx, by)
	if err != nil {
		return nil, err
	}
	for _, ws := range pauses {
		f := Passed("cards", "payments of %s are paused after too many declined cards; atrium payments resume ends "+
			"the pause", ws)
		f.Warning = true
		findings = append(findings, f)
	}
	duplicates, err := app.Services.Payments.Duplicates(ctx, by)
	if err != nil {
		return nil, err
	}
	for _, ws := range slices.Sorted(maps.Keys(duplicates)) {
		f := Passed("subscriptions", "%s has more than one subscription, and each is charged; the surplus ones are: %v",
			ws, duplicates[ws])
		f.Warning = true
		findings = append(findings, f)
	}
	customers, differ := 0, 0
	for q := (page.Query{Limit: 100}); ; {
		page, err := app.Services.Payments.Customers(ctx, by, q)
		if err != nil {
			return nil, err
		}
		for _, ws := range page.Items {
			customers++
			different, err := app.Services.Payments.Differences(ctx, identity.System(by.Org, ws, "doctor", time.Now()))
			if err != nil {
				findings = append(findings, Failed("mirror", fmt.Errorf("%s: %w", ws, err)))
			}
			unknown, err := unknownPlan(ctx, app, ws, t.Account)
			if err != nil {
				return nil, err
			}
			findings = append(findings, unknown...)
			for _, e := range different {
				differ++
				findings = append(findings, Finding{Check: "mirror", OK: true, Warning: true,
					Note: fmt.Sprintf("%s: %s %s %v", ws, e.Type, e.Subject, e.Data)})
			}
		}
		if q.After = page.Next; q.After == "" {
			return append(findings, Passed("mirror", "%s, %s", node.Count(customers, "customer"),
				node.Count(differ, "difference"))), nil
		}
	}
}
