package payments

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

// overviewPage is the number of subscriptions that an overview reads at once.
const overviewPage = 1000

// Overview returns what an org's subscriptions bring, as they were when last read from the gateway. by is an operator.
func (s *Service) Overview(ctx context.Context, by identity.Actor) (*payment.Overview, error) {
	t, err := s.termsForOperator(by)
	if err != nil {
		return nil, err
	}
	o := payment.NewOverview(by.At)
	q, filter := page.Query{Limit: overviewPage}, payment.SubscriptionFilter{EndedSince: o.Since}
	for {
		p, err := s.payments.Subscriptions(ctx, by.Org, t.Account, filter, q)
		if err != nil {
			return nil, err
		}
		for i := range p.Items {
			now, err := t.now(ctx, by, &payment.Customer{ID: p.Items[i].Customer})
			if err != nil {
				return nil, err
			}
			o.Add(&p.Items[i], t.Plans, now)
		}
		if q.After = p.Next; q.After == "" {
			return o, nil
		}
	}
}

// Listed is a subscription as operators see it at a moment.
type Listed struct {
	payment.ListedSubscription
	Monthly  payment.Money
	Entitled bool
}

// Subscriptions lists the subscriptions of an org's workspaces, newest first: the live ones, or those with a status. by
// is an operator.
func (s *Service) Subscriptions(
	ctx context.Context, by identity.Actor, status payment.Status, q page.Query,
) (page.Of[Listed], error) {
	t, err := s.termsForOperator(by)
	if err != nil {
		return page.Of[Listed]{}, err
	}
	p, err := s.payments.Subscriptions(ctx, by.Org, t.Account, payment.SubscriptionFilter{Status: status}, q)
	out := page.Of[Listed]{Next: p.Next}
	for _, one := range p.Items {
		now, err := t.now(ctx, by, &payment.Customer{ID: one.Customer})
		if err != nil {
			return page.Of[Listed]{}, err
		}
		out.Items = append(out.Items, Listed{
			ListedSubscription: one, Monthly: one.Monthly(t.Plans, now), Entitled: one.Entitled(now, t.Grace),
		})
	}
	return out, err
}

func (s *Service) termsForOperator(by identity.Actor) (Terms, error) {
	if err := payment.MayOperate(by); err != nil {
		return Terms{}, err
	}
	return s.terms(by)
}

// Adjusted is what became of an adjustment.
type Adjusted struct {
	payment.Adjustment
	Workspace    identity.WorkspaceID
	Subscription *View         // nil if the workspace has none
	Credit       payment.Money // of the workspace; the zero Money without a credit
	Gateway      payment.GatewayKind
}

// Adjust gives something to a workspace of by's org. by is an operator. key identifies the call, as for Subscribe.
// identity.ErrWorkspaceNotFound, payment.ErrNotInTrial, payment.ErrNoSubscription, payment.ErrSubscriptionExists.
func (s *Service) Adjust(
	ctx context.Context, by identity.Actor, key string, ws identity.WorkspaceID, a payment.Adjustment,
) (*Adjusted, error) {
	t, err := s.termsForOperator(by)
	if err != nil {
		return nil, err
	}
	if err := a.Check(); err != nil {
		return nil, err
	}
	w, err := s.deps.Workspaces.Find(ctx, by.Org, string(ws))
	if err != nil {
		return nil, err
	}
	if w.ID != ws || !w.DeletedAt.IsZero() {
		return nil, identity.ErrWorkspaceNotFound
	}
	by.Workspace, by.Role = ws, identity.Owner // for which the operator acts
	out := &Adjusted{Adjustment: a, Workspace: ws, Gateway: t.Kind}
	switch a.Kind {
	case payment.CreditGrant:
		out.Credit, err = s.grant(ctx, by, t, key, &a)
		return out, err
	case payment.Comp:
		out.Subscription, err = s.comp(ctx, by, t, key, &a)
	default:
		out.Subscription, err = s.ChangeSubscription(ctx, by, key, nil, a.Changes(nil))
	}
	if err != nil {
		return nil, err
	}
	out.Subscription.Action = nil // for the payer, not for the operator
	out.Credit = out.Subscription.Credit
	return out, nil
}

// comp makes the subscription of by's workspace free, or begins one that is.
func (s *Service) comp(
	ctx context.Context, by identity.Actor, t Terms, key string, a *payment.Adjustment,
) (*View, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	free, err := callWithRetry(callCtx, func(ctx context.Context) (payment.Promotion, error) {
		return t.Gateway.Free(ctx, a.Months)
	})
	if err != nil {
		return nil, err
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err == nil && c.Pending == nil {
		c, err = s.fresh(ctx, callCtx, by, t, c)
	}
	switch {
	case errors.Is(err, payment.ErrNoCustomer):
	case err != nil:
		return nil, err
	case c.LiveSubscription() != nil && c.Subscription.Key != key:
		return s.ChangeSubscription(ctx, by, key, nil, a.Changes(&free))
	}
	if _, err := t.Plans.Find(a.Plan); err != nil {
		return nil, err
	}
	return s.Subscribe(ctx, by, key, a.Request(free))
}

// grant adds a credit, and returns the credit that the workspace has then.
func (s *Service) grant(
	ctx context.Context, by identity.Actor, t Terms, key string, a *payment.Adjustment,
) (payment.Money, error) {
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return payment.Money{}, err
	}
	storing, calling, end := outlast(ctx, callCtx)
	defer end()
	if err := call(calling, func(ctx context.Context) error {
		return t.Gateway.Grant(ctx, key, c.ID, a.Credit, a.Reason)
	}); err != nil {
		return payment.Money{}, err
	}
	c, err = s.payments.Update(storing, by, t.Account, func(c *payment.Customer) error {
		c.WalletAt = time.Time{} // the credit is read again, now or with the next read
		return c.RecordCredit(by, a)
	})
	if err != nil {
		return payment.Money{}, err
	}
	if r, unread := s.refresh(storing, calling, by, t, c, wallet); unread == nil {
		c = r.customer
	}
	return c.Credit, nil
}
