package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/payment"
)

func getBillingDetails(r *server.Call) (server.Reply, error) {
	d, err := r.Payments.Details(r.Context(), r.By)
	return detailsReply(d, err)
}

func replaceBillingDetails(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.BillingDetailsReplace](r)
	if err != nil {
		return server.Reply{}, err
	}
	d := payment.Details{Name: in.Name, Email: in.Email}
	if address := in.Address; address != nil {
		d.Address = payment.Address{
			Line1:      address.Line1,
			Line2:      address.Line2,
			City:       address.City,
			PostalCode: address.PostalCode,
			State:      address.State,
			Country:    address.Country,
		}
	}
	for _, id := range in.TaxIds {
		d.TaxIDs = append(d.TaxIDs, payment.TaxID{Type: id.Type, Value: id.Value})
	}
	updated, err := r.Payments.ChangeDetails(r.Context(), r.By, d)
	return detailsReply(updated, err)
}

func detailsReply(d *payments.BillingDetails, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.BillingDetails{
		Name:    openapi.OrNull(d.Name),
		Email:   openapi.OrNull(d.Email),
		Address: toAddress(d.Address),
		TaxIds:  toTaxIDs(d.TaxIDs),
		Gateway: openapi.PaymentGateway(d.Gateway),
	}), nil
}

func toAddress(a payment.Address) nullable.Nullable[openapi.BillingAddress] {
	if a == (payment.Address{}) {
		return nullable.NewNullNullable[openapi.BillingAddress]()
	}
	return nullable.NewNullableWithValue(openapi.BillingAddress{
		Line1:      a.Line1,
		Line2:      a.Line2,
		City:       a.City,
		PostalCode: a.PostalCode,
		State:      a.State,
		Country:    a.Country,
	})
}

func toTaxIDs(ids []payment.TaxID) []openapi.TaxID {
	return convert.Slice(
		ids, func(id *payment.TaxID) openapi.TaxID { return openapi.TaxID{Type: id.Type, Value: id.Value} },
	)
}

// toBilledTo returns the billing details that an invoice shows.
func toBilledTo(d *payment.Details) nullable.Nullable[openapi.InvoiceBillingDetails] {
	if d == nil {
		return nullable.NewNullNullable[openapi.InvoiceBillingDetails]()
	}
	return nullable.NewNullableWithValue(openapi.InvoiceBillingDetails{
		Name:    openapi.OrNull(d.Name),
		Email:   openapi.OrNull(d.Email),
		Address: toAddress(d.Address),
		TaxIds:  toTaxIDs(d.TaxIDs),
	})
}
