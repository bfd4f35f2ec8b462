package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/payment"
)

// paymentsArea is plans, subscriptions and payments.
type paymentsArea struct{ *API }

func paymentsAreaOf(api *API) area {
	a := paymentsArea{api}
	return area{
		name:       "payments",
		operations: paymentOperations(),
		public:     slices.Concat(a.webhookRoutes(), a.sandboxRoutes()),
		anyHost:    webhookPaths,
	}
}

// webhookPaths is the prefix that payment gateways call, on any host: the org is in the path.
const webhookPaths = paymentPaths + "/webhooks/"

func (a *paymentsArea) webhookRoutes() []route {
	const path = webhookPaths + "{gateway}/{org}"
	op, _ := a.contract.Operation(http.MethodPost, path) // route finds out if there is none
	return []route{newRoute(http.MethodPost, path, withRoute(path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), a.config.RequestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		if err := a.receive(w, r, op); err != nil {
			if errors.Is(err, payment.ErrSignature) {
				err = a.countUnauthenticated(w.Header(), observation(r), err)
			}
			a.problem(w, r, err)
			return
		}
		a.send(w, r, ok(openapi.WebhookReceipt{Received: true}))
	}))}
}

// receive passes on the body byte for byte, since these bytes were signed. Nothing may interpret the body before
// the signature is verified.
func (a *paymentsArea) receive(w http.ResponseWriter, r *http.Request, op *openapi.Operation) error {
	org, there := a.Orgs().BySlug(pathVar(r, "org"))
	if !there {
		return payment.ErrGatewayNotFound
	}
	observation(r).org = org
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, op.MaxBody))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return errBodyTooLarge.Because(
			fmt.Sprintf("The body is larger than the %d bytes that this operation accepts.", op.MaxBody),
		)
	}
	if err != nil {
		return errBodyUnreadable
	}
	return a.Services.Payments.Receive(
		r.Context(), org.ID, payment.GatewayKind(pathVar(r, "gateway")), body, r.Header.Get("Stripe-Signature"),
		a.now(),
	)
}
