package stripe

import (
	"context"
	"slices"
	"strconv"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// UpdateCustomer implements ports.GatewayDetails. New tax ids are added first, since Stripe may refuse them, and the
// old ones are removed last.
func (g *Gateway) UpdateCustomer(ctx context.Context, key string, c payment.CustomerID, d payment.Details) error {
	taxIDs, err := g.taxIDs(ctx, c)
	if err != nil {
		return g.detailsFailure(ctx, c, err)
	}
	var additions []string
	refuse := func(err error) error {
		err = g.detailsFailure(ctx, c, err)
		if payment.OutcomeUnknown(err) || payment.NoEffect(err) { // it is repeated with the same keys
			return err
		}
		for _, id := range additions {
			_ = g.dropTaxID(ctx, c, id) // else the next call drops it
		}
		return err
	}
	for i, id := range d.TaxIDs {
		if slices.ContainsFunc(taxIDs, func(h *stripe.TaxID) bool { return isTaxID(h, id) }) {
			continue
		}
		taxID, err := g.api.V1TaxIDs.Create(ctx, &stripe.TaxIDCreateParams{
			Params: g.writeParams(key + "_tax_" + strconv.Itoa(i)), Customer: stripe.String(string(c)),
			Type: &id.Type, Value: &id.Value,
		})
		if err != nil {
			return refuse(err)
		}
		additions = append(additions, taxID.ID)
	}
	if _, err := g.api.V1Customers.Update(ctx, string(c), g.detailsParams(key, d)); err != nil {
		return refuse(err)
	}
	for _, h := range taxIDs {
		if slices.ContainsFunc(d.TaxIDs, func(id payment.TaxID) bool { return isTaxID(h, id) }) {
			continue
		}
		if err := g.dropTaxID(ctx, c, h.ID); err != nil {
			return afterEffect(translate(err))
		}
	}
	return nil
}

// detailsParams sends every field, so that those that are empty here become empty at Stripe.
func (g *Gateway) detailsParams(key string, d payment.Details) *stripe.CustomerUpdateParams {
	a := d.Address
	p := &stripe.CustomerUpdateParams{
		Params: g.writeParams(key), Name: &d.Name, Email: &d.Email,
		Address: &stripe.AddressParams{ // Stripe unsets what is empty
			Line1: &a.Line1, Line2: &a.Line2, City: &a.City,
			PostalCode: &a.PostalCode, State: &a.State, Country: &a.Country,
		},
	}
	if d.Workspace != "" {
		p.Metadata = map[string]string{workspaceOf: string(d.Workspace)}
	}
	if d.Taxed {
		p.Tax = &stripe.CustomerUpdateTaxParams{ValidateLocation: stripe.String("immediately")}
	}
	return p
}

func (g *Gateway) taxIDs(ctx context.Context, c payment.CustomerID) ([]*stripe.TaxID, error) {
	var all []*stripe.TaxID
	for id, err := range g.api.V1TaxIDs.List(ctx, &stripe.TaxIDListParams{ListParams: g.listParams(),
		Customer: stripe.String(string(c))}).All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}

func isTaxID(h *stripe.TaxID, id payment.TaxID) bool {
	return string(h.Type) == id.Type && h.Value == id.Value
}

// dropTaxID deletes a tax id, unless it is gone.
func (g *Gateway) dropTaxID(ctx context.Context, c payment.CustomerID, id string) error {
	_, err := g.api.V1TaxIDs.Delete(ctx, id, &stripe.TaxIDDeleteParams{Params: g.readParams(),
		Customer: stripe.String(string(c))})
	if isMissing(err) {
		return nil
	}
	return err
}

// detailsFailure returns the fault for a call about a customer's details, payment.ErrCustomerGone if the customer
// was deleted.
func (g *Gateway) detailsFailure(ctx context.Context, c payment.CustomerID, err error) error {
	if isMissing(err) {
		if _, lookupErr := g.customer(ctx, c); lookupErr != nil {
			return lookupErr
		}
	}
	return translate(err)
}

// billedTo returns the billing details that an invoice shows.
func billedTo(i *stripe.Invoice) *payment.Details {
	d := &payment.Details{Name: i.CustomerName, Email: i.CustomerEmail}
	if a := i.CustomerAddress; a != nil {
		d.Address = payment.Address{
			Line1: a.Line1, Line2: a.Line2, City: a.City, PostalCode: a.PostalCode, State: a.State, Country: a.Country,
		}
	}
	for _, id := range i.CustomerTaxIDs {
		if id.Type != nil {
			d.TaxIDs = append(d.TaxIDs, payment.TaxID{Type: string(*id.Type), Value: id.Value})
		}
	}
	d.SortTaxIDs()
	return d
}
