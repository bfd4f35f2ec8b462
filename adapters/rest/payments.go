package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
)

const (
	paymentPaths     = "/api/payments"
	paymentMethods   = paymentPaths + "/methods"
	subscriptionPath = paymentPaths + "/subscriptions"
	mySubscription   = subscriptionPath + "/me"
)

func paymentOperations() []operation {
	const sandboxIntent = paymentPaths + "/sandbox/setup-intents/{intent_id}"
	return []operation{
		getOf(paymentPaths+"/plans", query(listPlans)),
		postOf(paymentPaths+"/setup-intent", outbound(createSetupIntent)),
		getOf(paymentMethods, query(listPaymentMethods)),
		deleteOf(paymentMethods+"/{payment_method_id}", command(deletePaymentMethod)),
		postOf(paymentMethods+"/{payment_method_id}/default", command(setDefaultPaymentMethod)),
		getOf(paymentPaths+"/invoices", cachedQuery(listInvoices)),
		postOf(paymentPaths+"/invoices/{invoice_id}/pay", outbound(payInvoice)),
		getOf(paymentPaths+"/details", query(getBillingDetails)),
		putOf(paymentPaths+"/details", command(replaceBillingDetails)),
		postOf(paymentPaths+"/portal-session", outbound(createPortalSession)),
		postOf(paymentPaths+"/checkout-session", outbound(createCheckoutSession)),
		postOf(subscriptionPath, outbound(createSubscription)),
		getOf(mySubscription, query(getSubscription)),
		patchOf(mySubscription, outbound(updateSubscription)),
		postOf(mySubscription+"/preview", query(previewSubscriptionChange)),
		deleteOf(mySubscription, outbound(cancelSubscription)),
		getOf(paymentPaths+"/entitlements", cachedQuery(getEntitlements)),
		postOf(paymentPaths+"/usage", command(reportUsage)),
		postOf(sandboxIntent+"/confirm", outbound(confirmSandboxIntent)),
		postOf(sandboxIntent+"/authenticate", outbound(authenticateSandboxIntent)),
	}
}

// gatewayKey names what this request asks of the gateway: the same for each attempt under an Idempotency-Key (ADR 15),
// and for nothing else, not even for another request under that key. It is a digest, because gateways limit the length
// of their keys (Stripe to 255 bytes), and do not need to learn whose request it is.
func gatewayKey(r *request) string {
	key, ok := r.idempotencyKey()
	if !ok {
		return id.New("atrium")
	}
	sum := sha256.Sum256(slices.Concat(key.Scope[:], key.Request[:]))
	return "atrium_" + base64.RawURLEncoding.EncodeToString(sum[:])
}

func methodID(r *request) payment.MethodID {
	return payment.MethodID(pathVar(r.Request, "payment_method_id"))
}

func listPlans(r *request) (reply, error) {
	plans, current, err := r.Payments.Plans(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	out := ok(openapi.PlanList{
		Data:       convert.Slice(plans, func(p *payment.Plan) openapi.Plan { return toPlan(p, current) }),
		NextCursor: nullable.NewNullNullable[string](),
	}).withRevision(1)
	out.vary = "Host, Authorization, Workspace-Id"
	return out, nil
}

func createSetupIntent(r *request) (command, error) {
	in, err := decode[openapi.SetupIntentCreate](r)
	if err != nil {
		return nil, err
	}
	usage := payment.OffSession
	if in.Usage != "" {
		usage = payment.Usage(in.Usage)
	}
	made, err := r.Payments.SetupIntent(r.Context(), r.by, gatewayKey(r), usage)
	if err != nil {
		return nil, err
	}
	out := intentReply(made)
	out.status = http.StatusCreated
	return respond(out), nil
}

func intentReply(i *payments.Intent) reply {
	out := ok(openapi.SetupIntent{
		ID:             string(i.ID),
		ClientSecret:   i.ClientSecret.Reveal(),
		PublishableKey: openapi.OrNull(i.PublishableKey),
		AccountID:      openapi.OrNull(i.Account),
		Status:         openapi.SetupIntentStatus(i.Status),
		Gateway:        openapi.PaymentGateway(i.Gateway),
	})
	out.reveals = string(i.ID)
	return out
}

func listPaymentMethods(r *request) (reply, error) {
	w, err := r.Payments.Methods(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.PaymentMethodList{
		Data: convert.Slice(
			w.Methods, func(m *payment.Method) openapi.PaymentMethod { return toPaymentMethod(w.Now, m, w.Default) },
		),
		NextCursor: nullable.NewNullNullable[string](),
		Stale:      w.Stale,
		Gateway:    openapi.PaymentGateway(w.Gateway),
	}), nil
}

func deletePaymentMethod(r *request) (reply, error) {
	return noContent, r.Payments.RemoveMethod(
		r.Context(), r.by, methodID(r), payment.MethodID(r.query.Get("replacement_id")),
	)
}

func setDefaultPaymentMethod(r *request) (reply, error) {
	m, now, err := r.Payments.SetDefault(r.Context(), r.by, methodID(r))
	if err != nil {
		return reply{}, err
	}
	return ok(toPaymentMethod(now, m, m.ID)), nil
}

func listInvoices(r *request) (reply, error) {
	status := payment.InvoiceStatus(r.query.Get("status"))
	var found payments.Bills
	invoices, next, err := pageOf(r, toInvoice, func(q page.Query) (payment.InvoicePage, error) {
		bills, err := r.Payments.Invoices(r.Context(), r.by, status, q)
		if err == nil {
			found = *bills
		}
		return found.InvoicePage, err
	})
	return ok(openapi.InvoiceList{
		Data:       invoices,
		NextCursor: next,
		Stale:      found.Stale,
		Gateway:    openapi.PaymentGateway(found.Gateway),
	}), err
}

func payInvoice(r *request) (command, error) {
	id := payment.InvoiceID(pathVar(r.Request, "invoice_id"))
	p, err := r.Payments.PayInvoice(r.Context(), r.by, gatewayKey(r), id)
	if err != nil {
		return nil, err
	}
	out := ok(openapi.InvoicePayment{
		Invoice: toInvoice(&p.Invoice), Action: toAction(p.Action), Gateway: openapi.PaymentGateway(p.Gateway),
	})
	if p.Action != nil {
		out.reveals = string(id)
	}
	return respond(out), nil
}

func createSubscription(r *request) (command, error) {
	in, err := decode[openapi.SubscriptionCreate](r)
	if err != nil {
		return nil, err
	}
	w := payment.SubscribeRequest{
		Plan:     payment.PlanID(in.PlanID),
		Method:   payment.MethodID(in.PaymentMethodID),
		Quantity: max(in.Quantity, 1),
		Code:     in.PromotionCode,
		NoTrial:  in.Trial != nil && !*in.Trial,
	}
	v, err := r.Payments.Subscribe(r.Context(), r.by, gatewayKey(r), w)
	if err != nil {
		return nil, err
	}
	body := openapi.SubscriptionCreated{Subscription: toSubscription(v), Action: toAction(v.Action)}
	out := ok(body).withRevision(v.Revision)
	if v.Made {
		out.status, out.location = http.StatusCreated, mySubscription
	}
	if v.Action != nil {
		out.reveals = string(v.ID)
	}
	return respond(out), nil
}

func getSubscription(r *request) (reply, error) {
	v, err := r.Payments.Subscription(r.Context(), r.by)
	return subscriptionReply(v, err)
}

func updateSubscription(r *request) (command, error) {
	in, err := decode[openapi.SubscriptionPatch](r)
	if err != nil {
		return nil, err
	}
	changes := payment.Changes{
		Plan:              (*payment.PlanID)(in.PlanID),
		Quantity:          in.Quantity,
		CancelAtPeriodEnd: in.CancelAtPeriodEnd,
		Pause:             in.Paused,
		Feedback:          (*payment.Feedback)(in.CancellationFeedback),
		Comment:           in.CancellationComment,
		Code:              in.PromotionCode,
		Preview:           in.Preview,
	}
	v, err := r.Payments.ChangeSubscription(r.Context(), r.by, gatewayKey(r), r.match, changes)
	out, err := subscriptionReply(v, err)
	return respond(out), err
}

func subscriptionReply(v *payments.View, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	out := ok(toSubscription(v)).withRevision(v.Revision)
	if v.Action != nil {
		out.reveals = string(v.ID)
	}
	return out, nil
}

func cancelSubscription(r *request) (command, error) {
	why := payment.Cancellation{
		Feedback: payment.Feedback(r.query.Get("cancellation_feedback")), Comment: r.query.Get("cancellation_comment"),
	}
	return respond(noContent), r.Payments.CancelSubscription(r.Context(), r.by, gatewayKey(r), r.match, why)
}
