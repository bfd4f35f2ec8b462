package payments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/ports"
)

// Reported is a feature's usage after a report.
type Reported struct {
	payment.Allowance
	Repeated bool  // the report had been counted before
	Refusal  error // why the report was not counted; nil if it was
}

// ReportUsage adds what an application reports that by's workspace has used. Usage beyond the limit counts, too: the
// application decides what to refuse. A report with a key counts once. payment.ErrUsageBelowZero for a correction of
// more than was used.
func (s *Service) ReportUsage(ctx context.Context, by identity.Actor, w payment.UsageRequest) (*Reported, error) {
	return first(s.reportUsage(ctx, by, false, w))
}

// ConsumeUsage is ReportUsage for usage that counts only within the limit of the workspace's plan and its credit packs:
// *quota.LimitError if it exceeds that. Of several calls that compete for the rest, as many succeed as it suffices for.
func (s *Service) ConsumeUsage(ctx context.Context, by identity.Actor, w payment.UsageRequest) (*Reported, error) {
	return first(s.reportUsage(ctx, by, true, w))
}

// ReportUsages is ReportUsage for up to payment.MaxUsageReports reports, with an outcome for each: what is wrong with
// one keeps no other from being counted.
func (s *Service) ReportUsages(
	ctx context.Context, by identity.Actor, all []payment.UsageRequest,
) ([]Reported, error) {
	return s.reportUsage(ctx, by, false, all...)
}

// first returns the only outcome, or why it was refused.
func first(all []Reported, err error) (*Reported, error) {
	if err != nil {
		return nil, err
	}
	return &all[0], all[0].Refusal
}

func (s *Service) reportUsage(
	ctx context.Context, by identity.Actor, isLimited bool, all ...payment.UsageRequest,
) ([]Reported, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	c, now, err := s.mirrored(ctx, by, t)
	if err != nil {
		return nil, err
	}
	out := make([]Reported, len(all))
	var reports []payment.UsageReport
	var indices []int // of reports, in out
	for n, w := range all {
		r, err := payment.NewUsageReport(by, t.Plans, w, t.Plans.PeriodOf(c, w.Feature, now), now)
		if err != nil {
			out[n].Refusal = err
			continue
		}
		r.Account, r.Rules, r.IsLimited = t.Account, t.packRules(now), isLimited
		r.Allowance = t.allowanceOf(c, now, &r)
		reports, indices = append(reports, r), append(indices, n)
	}
	if len(reports) == 0 {
		return out, nil
	}
	outcomes, err := s.addUsage(ctx, by, t, c, reports)
	if err != nil {
		return nil, err
	}
	for i, n := range indices {
		r, o := &reports[i], &outcomes[i]
		e := t.usageOf(c, now, r.Feature, o.Tally)
		out[n] = Reported{Allowance: *e.Allowance(r.Feature), Repeated: o.IsRepeated, Refusal: o.Refusal}
		if errors.Is(o.Refusal, payment.ErrUsageLimit) {
			out[n].Refusal = e.Exhausted(t.Plans, r)
		}
	}
	return out, nil
}

// usageOf returns the entitlements of c at now, with the usage of one feature that the application counts.
func (t Terms) usageOf(c *payment.Customer, now time.Time, feature string, tally payment.Tally) *payment.Entitlements {
	return t.Plans.Entitlements(c, t.grant(c, now), now, t.Grace, quota.Limits{}, quota.Amounts{},
		map[string]payment.Tally{feature: tally})
}

// allowanceOf returns the plan's limit for a report at now, without credit packs; nil without a limit.
func (t Terms) allowanceOf(c *payment.Customer, now time.Time, r *payment.UsageReport) *int64 {
	a := t.usageOf(c, now, r.Feature, payment.Tally{}).Allowance(r.Feature)
	if a.Origin != payment.NoLimit {
		return &a.Limit
	}
	return nil
}

// addUsage adds reports to the sums of their features. For what the gateway bills, it queues events in the same
// transaction, so that a restart cannot lose them.
func (s *Service) addUsage(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, reports []payment.UsageReport,
) ([]payment.UsageOutcome, error) {
	isBilled := func(r payment.UsageReport) bool { return t.Plans.Metering(c.LiveSubscription(), r.Feature) != nil }
	if !slices.ContainsFunc(reports, isBilled) {
		return s.meters.Add(ctx, by, reports...)
	}
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) ([]payment.UsageOutcome, error) {
		outcomes, err := tx.Meters.Add(ctx, by, reports...)
		if err != nil {
			return nil, err
		}
		events := t.billedUsage(c, reports, outcomes)
		for _, e := range events {
			if err := tx.Meters.QueueUsage(ctx, by, e, t.Plans.PeriodOf(c, e.Feature, e.At).Start); err != nil {
				return nil, err
			}
		}
		if len(events) == 0 {
			return outcomes, nil
		}
		return outcomes, tx.Jobs.Enqueue(ctx, job.New(by, payment.UsageJob, string(c.ID), by.At))
	})
}

// billedUsage returns an event for each feature of which reports were counted that the gateway bills.
func (t Terms) billedUsage(
	c *payment.Customer, reports []payment.UsageReport, outcomes []payment.UsageOutcome,
) (events []payment.UsageEvent) {
	for n := range reports {
		r := &reports[n]
		price := t.Plans.Metering(c.LiveSubscription(), r.Feature)
		if price == nil || !outcomes[n].Counts() {
			continue
		}
		i := slices.IndexFunc(events, func(e payment.UsageEvent) bool { return e.Feature == r.Feature })
		if i < 0 {
			i = len(events)
			events = append(events, payment.UsageEvent{
				ID: id.New("use"), Account: t.Account, Customer: c.ID, Feature: r.Feature, PriceRef: price.PriceRef,
			})
		}
		events[i].Quantity, events[i].At = events[i].Quantity+r.Quantity, r.At
	}
	return events
}

// UsageHistory is a feature's usage from one day to another, both included.
type UsageHistory struct {
	From, To time.Time          // the beginnings of the days in UTC
	Days     []payment.UsageDay // with usage, latest first
}

// UsageDays returns a feature's history. A zero to is the present day, and a zero from 29 days before to.
// payment.ErrUsageDays if these are not 1 to payment.UsageDaysLimit days.
func (s *Service) UsageDays(
	ctx context.Context, by identity.Actor, feature string, from, to time.Time,
) (*UsageHistory, error) {
	if err := payment.MaySee(by); err != nil {
		return nil, err
	}
	if to.IsZero() {
		_, now, err := s.mirrored(ctx, by, s.deps.Terms(by.Org))
		if err != nil {
			return nil, err
		}
		to = payment.DayOfUsage(now)
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -29)
	}
	if err := payment.CheckUsageDays(from, to); err != nil {
		return nil, err
	}
	days, err := s.meters.Days(ctx, by.Workspace, feature, from, to)
	return &UsageHistory{from, to, days}, err
}
