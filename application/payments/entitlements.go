package payments

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// mirrored returns the customer of by's workspace as it is stored, nil if not found, and the time at the gateway.
// It calls no gateway.
func (s *Service) mirrored(ctx context.Context, by identity.Actor, t Terms) (*payment.Customer, time.Time, error) {
	if t.Gateway == nil {
		return nil, by.At, nil
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil {
		return nil, by.At, ignoring(err)
	}
	now, err := t.now(ctx, by, c)
	return c, now, err
}

// Entitlements returns the limits and the usage of by's workspace. Like Subscription, it reads the gateway within the
// patience of reads if the mirror is older than payment.Fresh: an event of the gateway may have been lost.
func (s *Service) Entitlements(ctx context.Context, by identity.Actor) (*payment.Entitlements, error) {
	if err := payment.MaySee(by); err != nil {
		return nil, err
	}
	t, c, now := s.deps.Terms(by.Org), (*payment.Customer)(nil), by.At
	if t.Gateway != nil {
		r, _, err := s.readMirror(ctx, by, t, subscriptions)
		if err != nil {
			return nil, err
		}
		if c = r.customer; c != nil {
			if now, err = t.now(ctx, by, c); err != nil {
				return nil, err
			}
		}
	}
	usage, err := s.usage.Amounts(ctx, by.Workspace, by.At)
	if err != nil {
		return nil, err
	}
	if c != nil && c.MayCheckOut(now) && len(t.CreditPacks) > 0 { // the payer may have bought one there
		if _, _, err := s.readMirror(ctx, by, t, invoices); err != nil {
			return nil, err
		}
	}
	reports, err := s.reported(ctx, by, t, c, now)
	if err != nil {
		return nil, err
	}
	g := t.grant(c, now)
	limits := t.Plans.Limits(s.deps.Quotas(by.Org), g)
	return t.Plans.Entitlements(c, g, now, t.Grace, limits, usage, reports), nil
}

// reported returns what the application has reported of each feature in its period, with the credit packs.
func (s *Service) reported(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, now time.Time,
) (map[string]payment.Tally, error) {
	packs, err := s.credit(ctx, by, t, c, now)
	if err != nil {
		return nil, err
	}
	reports, sums := map[string]payment.Tally{}, map[time.Time]map[string]payment.Tally{} // by the period's start
	for feature := range t.Plans.Reportable() {
		start := t.Plans.PeriodOf(c, feature, now).Start
		if sums[start] == nil {
			var err error
			if sums[start], err = s.meters.Sums(ctx, by.Workspace, start); err != nil {
				return nil, err
			}
		}
		tally := sums[start][feature]
		tally.Packs = packs[feature]
		reports[feature] = tally
	}
	return reports, nil
}
