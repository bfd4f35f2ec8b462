package payments

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// promotion returns a code's promotion that c can use for a sale. payment.ErrPromotionInvalid,
// payment.ErrPromotionLimit.
func (s *Service) promotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, code string, sale payment.Sale,
) (*payment.Promotion, error) {
	begin := func(c *payment.Customer) error { return c.BeginPromotion(by, t.Limits) }
	if _, err := s.payments.Update(ctx, by, t.Account, begin); err != nil {
		return nil, err
	}
	p, err := callWithRetry(callCtx, func(ctx context.Context) (payment.Promotion, error) {
		return t.Gateway.Promotion(ctx, c.ID, code, sale)
	})
	if errors.Is(err, payment.ErrPromotionInvalid) {
		return nil, err
	}
	_, storeErr := s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
		c.EndPromotion(by)
		return nil
	})
	if err := errors.Join(err, storeErr); err != nil {
		return nil, err
	}
	return &p, nil
}

// withPromotion returns a subscribe request with the promotion of its code.
func (s *Service) withPromotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, key string,
	w payment.SubscribeRequest,
) (payment.SubscribeRequest, error) {
	if !c.UsesCode(key, w) {
		return w, nil
	}
	plan, err := t.Plans.Find(w.Plan)
	if err == nil {
		plan, err = plan.PricedIn(w.Currency)
	}
	if err != nil {
		return w, err
	}
	w.Promotion, err = s.promotion(ctx, callCtx, by, t, c, w.Code, payment.Sale{Plan: *plan, Quantity: w.Quantity})
	return w, err
}

// changeWithPromotion returns changes with the promotion of their code.
func (s *Service) changeWithPromotion(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, ch payment.Changes,
) (payment.Changes, error) {
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
	} else if priced, err := plan.PricedIn(c.Subscription.Item.Rate.Price.Currency); err == nil {
		plan = priced
	}
	ch.Promotion, err = s.promotion(ctx, callCtx, by, t, c, ch.Code, payment.Sale{Plan: *plan, Quantity: quantity})
	return ch, err
}
