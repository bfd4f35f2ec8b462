package stripe

import (
	"context"
	"net/http"

	stripe "github.com/stripe/stripe-go/v85"

	"github.com/atrium-hq/atrium/domain/payment"
)

// pathsOf are where the objects are that events can be about, by the names of their kinds
// (https://docs.stripe.com/api/v2/core/events/object#v2_event_object-related_object).
var pathsOf = map[string]string{
	"charge": "charges", "checkout.session": "checkout/sessions", "credit_note": "credit_notes", "dispute": "disputes",
	"invoice": "invoices", "payment_intent": "payment_intents", "payment_method": "payment_methods",
	"refund": "refunds", "setup_intent": "setup_intents", "subscription": "subscriptions",
}

// CustomerOf implements ports.GatewayCustomers. Refunds and disputes name only their charge.
func (g *Gateway) CustomerOf(ctx context.Context, object payment.Reference) (payment.CustomerID, error) {
	path, exists := pathsOf[object.Kind]
	if !exists {
		return "", nil
	}
	var owner struct {
		stripe.APIResource
		Customer payment.CustomerID `json:"customer"`
		Charge   string             `json:"charge"`
	}
	params, address := g.readParams(), stripe.FormatURLPath("/v1/"+path+"/%s", object.ID)
	params.Context = ctx
	err := g.backend.Call(http.MethodGet, address, g.key.Reveal(), &params, &owner)
	switch {
	case isMissing(err):
		return "", nil
	case err != nil:
		return "", translate(err)
	case owner.Customer == "" && owner.Charge != "":
		return g.CustomerOf(ctx, payment.Reference{Kind: "charge", ID: owner.Charge})
	}
	return owner.Customer, nil
}
