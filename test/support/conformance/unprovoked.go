package conformance

// unprovoked are the codes of operations in the codesArea that no test provokes, by operation. New ones do not belong
// here: provoke them.
var unprovoked = map[string][]string{
	"advanceSandboxClock": {"billing_role_required", "gateway_error"},
	"authenticateSandboxIntent": {
		"billing_role_required", "gateway_not_found", "intent_not_found", "intent_state",
	},
	"buyCreditPacks":        {"amount_too_large", "billing_address_invalid", "currency_conflict", "payments_paused"},
	"cancelSubscription":    {"billing_role_required"},
	"confirmSandboxIntent":  {"billing_role_required"},
	"createCheckoutSession": {"amount_too_large", "currency_conflict", "payment_pending", "payments_paused"},
	"createPaymentAdjustment": {
		"invoice_unpaid", "no_active_subscription", "payment_pending", "payments_paused", "plan_unavailable",
		"subscription_not_active", "subscription_paused", "subscription_unrecognized",
	},
	"createSubscription": {
		"amount_too_large", "billing_role_required", "currency_conflict", "no_active_subscription",
		"payment_method_expired",
	},
	"deletePaymentMethod": {"billing_role_required"},
	"getSandboxClock":     {"billing_role_required"},
	"listInvoices":        {"billing_role_required"},
	"payInvoice":          {"payments_paused"},
	"previewSubscriptionChange": {
		"amount_too_large", "card_declined", "currency_conflict", "payment_pending", "plan_unavailable",
		"subscription_unrecognized",
	},
	"setDefaultPaymentMethod": {"billing_role_required"},
	"updateSubscription":      {"amount_too_large", "billing_role_required", "currency_conflict"},
}
