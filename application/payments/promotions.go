package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

// promotion returns the promotion of a code that c can use for a sale. billing.ErrPromotionInvalid,
// billing.ErrPromotionLimit.
func (s *Service) promotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer, code string, of billing.Sale,
) (*billing.Promotion, error) {
	begin := func(c *billing.Customer) error { return c.BeginPromotion(by, t.Limits) }
	if _, err := s.payments.Update(ctx, by, t.Account, begin); err != nil {
		return nil, err
	}
	p, err := callWithRetry(callCtx, func(ctx context.Context) (billing.Promotion, error) {
		return t.Gateway.Promotion(ctx, c.ID, code, of)
	})
	if errors.Is(err, billing.ErrPromotionInvalid) {
		return nil, err
	}
	_, stored := s.payments.Update(ctx, by, t.Account, func(c *billing.Customer) error {
		c.EndPromotion(by)
		return nil
	})
	if err := errors.Join(err, stored); err != nil {
		return nil, err
	}
	return &p, nil
}

// withPromotion returns a subscribe request with the promotion of its code.
func (s *Service) withPromotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer, key string,
	w billing.SubscribeRequest,
) (billing.SubscribeRequest, error) {
	if !c.UsesCode(key, w) {
		return w, nil
	}
	plan, err := t.Plans.Find(w.Plan)
	if err != nil {
		return w, err
	}
	w.Promotion, err = s.promotion(ctx, callCtx, by, t, c, w.Code, billing.Sale{Plan: *plan, Quantity: w.Quantity})
	return w, err
}

// changeWithPromotion returns changes with the promotion of their code.
func (s *Service) changeWithPromotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *billing.Customer, ch billing.Changes,
) (billing.Changes, error) {
	id, quantity, uses := c.ChangeUsesCode(ch)
	if !uses {
		return ch, nil
	}
	plan, err := t.Plans.Find(id)
	if err != nil {
		return ch, err
	}
	if id == c.Subscription.Plan {
		plan = c.Subscription.Paid(plan)
	}
	ch.Promotion, err = s.promotion(ctx, callCtx, by, t, c, ch.Code, billing.Sale{Plan: *plan, Quantity: quantity})
	return ch, err
}
