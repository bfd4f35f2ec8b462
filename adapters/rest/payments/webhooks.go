package payments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/payment"
)

// webhookPaths is the prefix that payment gateways call, on any host: the org is in the path.
const webhookPaths = paymentPaths + "/webhooks/"

func (a *handlers) webhookRoutes() []server.Route {
	const path = webhookPaths + "{gateway}/{org}"
	op, _ := a.Contract.Operation(http.MethodPost, path) // route finds out if there is none
	handle := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.Config.RequestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		if err := a.receive(w, r, op); err != nil {
			if errors.Is(err, payment.ErrSignature) {
				err = a.CountUnauthenticated(w.Header(), server.Observed(r), err)
			}
			a.Problem(w, r, err)
			return
		}
		a.Send(w, r, server.OK(openapi.WebhookReceipt{Received: true}))
	}
	return []server.Route{server.NewRoute(http.MethodPost, path, server.WithRoute(path, handle))}
}

// receive passes on the body byte for byte, since these bytes were signed. Nothing may interpret the body before
// the signature is verified.
func (a *handlers) receive(w http.ResponseWriter, r *http.Request, op *openapi.Operation) error {
	org, exists := a.Orgs().BySlug(server.PathVar(r, "org"))
	if !exists {
		return payment.ErrGatewayNotFound
	}
	server.Observed(r).Org = org
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, op.MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return server.ErrBodyTooLarge.Because(
			fmt.Sprintf("The body is larger than the %d bytes that this operation accepts.", op.MaxBody),
		)
	}
	if err != nil {
		return server.ErrBodyUnreadable
	}
	return a.Services.Payments.Receive(
		r.Context(), org.ID, payment.GatewayKind(server.PathVar(r, "gateway")), body, r.Header.Get("Stripe-Signature"),
		a.Now(),
	)
}
