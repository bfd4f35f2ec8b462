package payments

import (
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

func buyCreditPacks(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.CreditPackPurchase](r)
	if err != nil {
		return nil, err
	}
	p, err := r.Payments.BuyPack(r.Context(), r.By, gatewayKey(r), payment.PackRequest{
		Pack: payment.PlanID(in.CreditPackID), Quantity: max(in.Quantity, 1),
	})
	if err != nil {
		return nil, err
	}
	return server.Respond(invoicePaymentReply(r, p)), nil
}
