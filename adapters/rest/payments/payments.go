package payments

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
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

// gatewayKey names what this request asks of the gateway: the same for each attempt under an Idempotency-Key (ADR 15),
// and for nothing else, not even for another request under that key. It is a digest, because gateways limit the length
// of their keys (Stripe to 255 bytes), and do not need to learn whose request it is.
func gatewayKey(r *server.Call) string {
	key, ok := r.IdempotencyKey()
	if !ok {
		return id.New("atrium")
	}
	sum := sha256.Sum256(slices.Concat(key.Scope[:], key.Request[:]))
	return "atrium_" + base64.RawURLEncoding.EncodeToString(sum[:])
}

func methodID(r *server.Call) payment.MethodID {
	return payment.MethodID(server.PathVar(r.Request, "payment_method_id"))
}

func listPlans(r *server.Call) (server.Reply, error) {
	plans, current, err := r.Payments.Plans(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(openapi.PlanList{
		Data:        convert.Slice(plans, func(p *payment.Plan) openapi.Plan { return toPlan(p, current) }),
		AddOns:      convert.Slice(r.Payments.AddOns(r.By), toAddOn),
		CreditPacks: convert.Slice(r.Payments.CreditPacks(r.By), toCreditPack),
		NextCursor:  nullable.NewNullNullable[string](),
	}).WithRevision(1)
	out.Vary = "Host, Authorization, Atrium-Console, Workspace-Id"
	if r.IsAnonymous() {
		out.Cache = "public, max-age=60"
	}
	return out, nil
}

// hidesPlans reports whether the request's org shows its plans only to callers with a credential.
func hidesPlans(r *server.Call) bool { return r.Payments.HidesPlans(server.Observed(r.Request).Org.ID) }

func createSetupIntent(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SetupIntentCreate](r)
	if err != nil {
		return nil, err
	}
	usage := payment.OffSession
	if in.Usage != "" {
		usage = payment.Usage(in.Usage)
	}
	intent, err := r.Payments.SetupIntent(r.Context(), r.By, gatewayKey(r), usage)
	if err != nil {
		return nil, err
	}
	out := intentReply(intent)
	out.Status = http.StatusCreated
	return server.Respond(out), nil
}

func intentReply(i *payments.Intent) server.Reply {
	out := server.OK(openapi.SetupIntent{
		ID:             string(i.ID),
		ClientSecret:   i.ClientSecret.Reveal(),
		PublishableKey: openapi.OrNull(i.PublishableKey),
		AccountID:      openapi.OrNull(i.Account),
		Status:         openapi.SetupIntentStatus(i.Status),
		Gateway:        openapi.PaymentGateway(i.Gateway),
	})
	out.Reveals = string(i.ID)
	return out
}

func listPaymentMethods(r *server.Call) (server.Reply, error) {
	w, err := r.Payments.Methods(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.PaymentMethodList{
		Data: convert.Slice(
			w.Methods, func(m *payment.Method) openapi.PaymentMethod { return toPaymentMethod(w.Now, m, w.Default) },
		),
		NextCursor: nullable.NewNullNullable[string](),
		Stale:      w.Stale,
		Gateway:    openapi.PaymentGateway(w.Gateway),
	}), nil
}

func deletePaymentMethod(r *server.Call) (server.Reply, error) {
	return server.NoContent, r.Payments.RemoveMethod(
		r.Context(), r.By, methodID(r), payment.MethodID(r.Query.Get("replacement_id")),
	)
}

func setDefaultPaymentMethod(r *server.Call) (server.Reply, error) {
	m, now, err := r.Payments.SetDefault(r.Context(), r.By, methodID(r))
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(toPaymentMethod(now, m, m.ID)), nil
}

func listInvoices(r *server.Call) (server.Reply, error) {
	status := payment.InvoiceStatus(r.Query.Get("status"))
	var found payments.Bills
	show := func(i *payment.Invoice) openapi.Invoice { return toInvoice(r, i) }
	invoices, next, err := server.PageOf(r, show, func(q page.Query) (payment.InvoicePage, error) {
		bills, err := r.Payments.Invoices(r.Context(), r.By, status, q)
		if err == nil {
			found = *bills
		}
		return found.InvoicePage, err
	})
	return server.OK(openapi.InvoiceList{
		Data:       invoices,
		NextCursor: next,
		Stale:      found.Stale,
		Gateway:    openapi.PaymentGateway(found.Gateway),
	}), err
}

func payInvoice(r *server.Call) (server.Command, error) {
	id := payment.InvoiceID(server.PathVar(r.Request, "invoice_id"))
	p, err := r.Payments.PayInvoice(r.Context(), r.By, gatewayKey(r), id)
	if err != nil {
		return nil, err
	}
	return server.Respond(invoicePaymentReply(r, p)), nil
}

func invoicePaymentReply(r *server.Call, p *payments.InvoicePayment) server.Reply {
	out := server.OK(openapi.InvoicePayment{
		Invoice: toInvoice(r, &p.Invoice), Action: toAction(p.Action), Gateway: openapi.PaymentGateway(p.Gateway),
	})
	if p.Action != nil {
		out.Reveals = string(p.Invoice.ID)
	}
	return out
}

// createSubscription responds with 201 if a subscription was made, and with 200 if it continues an existing one.
func createSubscription(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SubscriptionCreate](r)
	if err != nil {
		return nil, err
	}
	w := payment.SubscribeRequest{
		Plan:     payment.PlanID(in.PlanID),
		Method:   payment.MethodID(in.PaymentMethodID),
		Quantity: in.Quantity,
		Currency: in.Currency,
		AddOns:   toAddOnOrders(in.AddOns),
		Code:     in.PromotionCode,
		NoTrial:  in.Trial != nil && !*in.Trial,
	}
	v, err := r.Payments.Subscribe(r.Context(), r.By, gatewayKey(r), w)
	if err != nil {
		return nil, err
	}
	body := openapi.SubscriptionCreated{Subscription: toSubscription(v), Action: toAction(v.Action)}
	out := server.OK(body).WithRevision(v.Revision)
	if v.Made {
		out.Status, out.Location = http.StatusCreated, mySubscription
	}
	if v.Action != nil {
		out.Reveals = string(v.ID)
	}
	return server.Respond(out), nil
}

func getSubscription(r *server.Call) (server.Reply, error) {
	v, err := r.Payments.Subscription(r.Context(), r.By)
	return subscriptionReply(v, err)
}

func updateSubscription(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.SubscriptionPatch](r)
	if err != nil {
		return nil, err
	}
	changes := payment.Changes{
		Plan:              (*payment.PlanID)(in.PlanID),
		Quantity:          in.Quantity,
		AddOns:            toAddOnOrders(in.AddOns),
		CancelAtPeriodEnd: in.CancelAtPeriodEnd,
		EndTrial:          in.Trial != nil && !*in.Trial,
		Pause:             in.Paused,
		Feedback:          (*payment.Feedback)(in.CancellationFeedback),
		Comment:           in.CancellationComment,
		Code:              in.PromotionCode,
		Preview:           in.Preview,
	}
	v, err := r.Payments.ChangeSubscription(r.Context(), r.By, gatewayKey(r), r.Match, changes)
	out, err := subscriptionReply(v, err)
	return server.Respond(out), err
}

func subscriptionReply(v *payments.View, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	out := server.OK(toSubscription(v)).WithRevision(v.Revision)
	if v.Action != nil {
		out.Reveals = string(v.ID)
	}
	return out, nil
}

func cancelSubscription(r *server.Call) (server.Command, error) {
	reason := payment.Cancellation{
		Feedback: payment.Feedback(r.Query.Get("cancellation_feedback")), Comment: r.Query.Get("cancellation_comment"),
	}
	return server.Respond(server.NoContent), r.Payments.CancelSubscription(
		r.Context(), r.By, gatewayKey(r), r.Match, reason,
	)
}
