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

// ordered returns orders with the add-ons as they are configured. payment.ErrAddOnNotFound.
func (t Terms) ordered(orders []payment.AddOnOrder) ([]payment.AddOnOrder, error) {
	orders = slices.Clone(orders)
	for n := range orders {
		var err error
		if orders[n].AddOn, err = t.AddOns.FindAddOn(orders[n].ID); err != nil {
			return nil, err
		}
	}
	return orders, nil
}

// verifiedAddOns returns orders with the add-ons as they can be bought now: it reads their prices from the gateway.
// payment.ErrAddOnNotFound.
func (s *Service) verifiedAddOns(
	callCtx context.Context, t Terms, orders []payment.AddOnOrder,
) ([]payment.AddOnOrder, error) {
	if len(orders) == 0 {
		return orders, nil
	}
	orders, err := t.ordered(orders)
	if err != nil {
		return nil, err
	}
	var addOns payment.Plans
	for _, o := range orders {
		addOns = append(addOns, *o.AddOn)
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
