package payments

import (
	"errors"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

// webhookPaths is the prefix that payment gateways call, on any host: the org is in the path.
const webhookPaths = paymentPaths + "/webhooks/"

// receiveEvent passes on the body byte for byte, since these bytes were signed.
func receiveEvent(r *server.Call) (server.Reply, error) {
	org, exists := r.API.Orgs().BySlug(server.PathVar(r.Request, "org"))
	if !exists {
		return server.Reply{}, payment.ErrGatewayNotFound
	}
	obs := server.Observed(r.Request)
	obs.Org = org
	err := r.Payments.Receive(
		r.Context(), org.ID, payment.GatewayKind(server.PathVar(r.Request, "gateway")), r.Payload,
		r.Header.Get("Stripe-Signature"), r.API.Now(),
	)
	if errors.Is(err, payment.ErrSignature) {
		err = r.API.CountUnauthenticated(r.ReplyHeader, obs, err)
	}
	return server.OK(openapi.WebhookReceipt{Received: true}), err
}
