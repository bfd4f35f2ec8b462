// Package payments serves plans, subscriptions and payments, and receives the webhooks of gateways.
package payments

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of payments.
func Area(api *server.API) server.Area {
	a := handlers{api}
	return server.Area{
		Name:       "payments",
		Operations: paymentOperations(),
		Public:     a.sandboxRoutes(),
		AnyHost:    webhookPaths,
	}
}

func paymentOperations() []server.Operation {
	const sandboxIntent = paymentPaths + "/sandbox/setup-intents/{intent_id}"
	return []server.Operation{
		server.Get(paymentPaths+"/plans", server.PublicQuery{Query: listPlans, Closed: hidesPlans}),
		server.Post(paymentPaths+"/setup-intent", server.Outbound(createSetupIntent)),
		server.Get(paymentMethods, server.Query(listPaymentMethods)),
		server.Delete(paymentMethods+"/{payment_method_id}", server.Command(deletePaymentMethod)),
		server.Post(paymentMethods+"/{payment_method_id}/default", server.Command(setDefaultPaymentMethod)),
		server.Get(paymentPaths+"/invoices", server.CachedQuery(listInvoices)),
		server.Post(paymentPaths+"/invoices/{invoice_id}/pay", server.Outbound(payInvoice)),
		server.Post(paymentPaths+"/credit-packs", server.Outbound(buyCreditPacks)),
		server.Get(paymentPaths+"/details", server.Query(getBillingDetails)),
		server.Put(paymentPaths+"/details", server.Command(replaceBillingDetails)),
		server.Post(paymentPaths+"/portal-session", server.Outbound(createPortalSession)),
		server.Post(paymentPaths+"/checkout-session", server.Outbound(createCheckoutSession)),
		server.Get(paymentPaths+"/overview", server.Query(getPaymentOverview)),
		server.Post(paymentPaths+"/adjustments", server.Outbound(createPaymentAdjustment)),
		server.Get(subscriptionPath, server.Query(listSubscriptions)),
		server.Post(subscriptionPath, server.Outbound(createSubscription)),
		server.Get(mySubscription, server.Query(getSubscription)),
		server.Patch(mySubscription, server.Outbound(updateSubscription)),
		server.Post(mySubscription+"/preview", server.Query(previewSubscriptionChange)),
		server.Delete(mySubscription, server.Outbound(cancelSubscription)),
		server.Get(paymentPaths+"/entitlements", server.CachedQuery(getEntitlements)),
		server.Get(usagePath, server.Query(getUsage)),
		server.Post(usagePath, server.Command(reportUsage)),
		server.Post(usagePath+"/batch", server.Command(reportManyUsages)),
		server.Post(usagePath+"/consume", server.Command(consumeUsage)),
		server.Post(sandboxIntent+"/confirm", server.Outbound(confirmSandboxIntent)),
		server.Post(sandboxIntent+"/authenticate", server.Outbound(authenticateSandboxIntent)),
		server.Get(paymentPaths+"/sandbox/clock", server.Query(getSandboxClock)),
		server.Post(paymentPaths+"/sandbox/clock", server.Outbound(advanceSandboxClock)),
		server.Post(webhookPaths+"{gateway}/{org}", server.Signed(receiveEvent)),
	}
}
