package payments

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// AddOns returns the add-ons that by's org sells beside its plans. The caller may be in no workspace.
func (s *Service) AddOns(by identity.Actor) payment.Plans {
	return s.deps.Terms(by.Org).AddOns.Offered("")
}

// verifiedAddOns returns orders with the add-ons as they can be bought now: it reads their prices from the gateway.
// payment.ErrAddOnNotFound.
func (s *Service) verifiedAddOns(
	callCtx context.Context, t Terms, orders []payment.AddOnOrder,
) ([]payment.AddOnOrder, error) {
	if len(orders) == 0 {
		return orders, nil
	}
	orders = slices.Clone(orders)
	var addOns payment.Plans
	for _, o := range orders {
		a, err := t.AddOns.FindAddOn(o.ID)
		if err != nil {
			return nil, err
		}
		addOns = append(addOns, *a)
	}
	current, err := callWithRetry(callCtx,
		func(ctx context.Context) (payment.Plans, error) { return t.Gateway.Prices(ctx, addOns) })
	if err != nil {
		return nil, err
	}
	for n := range orders {
		orders[n].AddOn = &current[n]
	}
	return orders, nil
}
