package payment

import (
	"cmp"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// Errors about payments.
var (
	ErrNotConfigured = &fault.Error{Kind: fault.Conflict, Code: "payments_not_configured",
		Detail: "Payments are not configured for this organisation."}
	ErrRoleRequired = &fault.Error{Kind: fault.Forbidden, Code: "billing_role_required",
		Detail: "Requires the owner or admin role in the workspace, and a credential whose ceiling allows it."}
	ErrMethodNotFound = &fault.Error{Kind: fault.NotFound, Code: "payment_method_not_found",
		Detail: "The workspace has no such payment method."}
	ErrMethodInUse = &fault.Error{Kind: fault.Conflict, Code: "payment_method_in_use",
		Detail: "This is the last valid payment method of a live subscription. Add another one first, or end the " +
			"subscription."}
	ErrMethodExpired = &fault.Error{Kind: fault.Invalid, Code: "payment_method_expired",
		Detail: "The payment method has expired."}
	ErrMethodRequired = &fault.Error{Kind: fault.PaymentRequired, Code: "payment_method_required",
		Detail: "The workspace has no valid payment method. Add one first."}
	ErrCardDeclined = &fault.Error{Kind: fault.PaymentRequired, Code: "card_declined", Detail: "The card was declined."}

	ErrPlanNotFound = &fault.Error{Kind: fault.NotFound, Code: "plan_not_found",
		Detail: "This organisation has no such plan."}
	ErrPlanUnavailable = &fault.Error{Kind: fault.Invalid, Code: "plan_unavailable",
		Detail: "The plan cannot be bought at the moment."}

	ErrCurrencyConflict = &fault.Error{Kind: fault.Conflict, Code: "currency_conflict",
		Detail: "The gateway has open items of the workspace in another currency than that of the plan. Ask the " +
			"operator of this service to end them, or choose a plan in that currency."}
	ErrAmountTooLarge = &fault.Error{Kind: fault.Invalid, Code: "amount_too_large",
		Detail: "The amount is greater than the payment gateway charges at once. Choose a smaller quantity."}

	ErrTrialUsed = &fault.Error{Kind: fault.Conflict, Code: "trial_used",
		Detail: "Another workspace has had a trial with the e-mail address of an owner, or with the payment method. " +
			"Set trial to false to subscribe without a trial."}

	ErrTaxIDInvalid = &fault.Error{Kind: fault.Invalid, Code: "tax_id_invalid",
		Detail: "The payment gateway does not accept one of the tax ids. Check their types and values."}
	ErrAddressInvalid = &fault.Error{Kind: fault.Invalid, Code: "billing_address_invalid",
		Detail: "The payment gateway cannot determine the taxes at the billing address. Enter a complete one with " +
			"PUT /api/payments/details."}

	ErrSubscriptionExists = &fault.Error{Kind: fault.Conflict, Code: "subscription_exists",
		Detail: "The workspace already has a subscription. Change that one instead."}
	ErrSubscriptionNotActive = &fault.Error{Kind: fault.Conflict, Code: "subscription_not_active",
		Detail: "The subscription has not been paid, so it cannot be changed. You can end it."}

	// ErrRenewalUnpaid is an ErrSubscriptionNotActive. Gateways deduct what is left of the period from a change's
	// price, even if the period was not paid, and the subscription is active again when the change is paid.
	ErrRenewalUnpaid = ErrSubscriptionNotActive.Because("The renewal has not been paid. Pay its invoice before a " +
		"change that takes effect at once.")

	ErrSubscriptionEnds = &fault.Error{Kind: fault.Conflict, Code: "subscription_ends",
		Detail: "The subscription is set to end, so it cannot be downgraded at renewal. Set " +
			"cancel_at_period_end to false in the same request, or choose a plan that costs more."}
	errFixedTerm = ErrSubscriptionEnds.Because("The subscription ends at a fixed time (ends_at), so a change cannot " +
		"wait for the end of the period. Choose one that takes effect at once: a larger quantity or a plan that " +
		"costs more. Or change the subscription where its end was set, at the gateway.")
	ErrSubscriptionUnrecognized = &fault.Error{Kind: fault.Conflict, Code: "subscription_unrecognized",
		Detail: "None of the subscription's items at the gateway is clearly that of a plan, so it can only be " +
			"cancelled here. Change it at the gateway."}
	ErrNoSubscription = &fault.Error{Kind: fault.NotFound, Code: "no_active_subscription",
		Detail: "The workspace has no subscription."}
	ErrPending = &fault.Error{Kind: fault.Conflict, Code: "payment_pending",
		Detail: "Another change of the subscription is in progress and its outcome is not known yet. Wait for the " +
			"number of seconds in Retry-After."}

	ErrInvoiceNotFound = &fault.Error{Kind: fault.NotFound, Code: "invoice_not_found",
		Detail: "The workspace has no such invoice."}
	ErrInvoiceNotPayable = &fault.Error{Kind: fault.Conflict, Code: "invoice_not_payable",
		Detail: "The invoice is void, so it cannot be paid."}

	ErrInvoiceUnpaid = &fault.Error{Kind: fault.Conflict, Code: "invoice_unpaid",
		Detail: "An invoice of an earlier subscription is open. Pay it first: POST " +
			"/api/payments/invoices/{invoice_id}/pay. GET /api/payments/invoices?status=open lists it."}

	ErrIntentLimit = &fault.Error{
		Kind: fault.RateLimited, Code: "setup_intent_rate_limited",
		Detail: "The workspace has created too many setup intents, or has too many that are not confirmed. Wait as " +
			"long as Retry-After says.",
	}
	ErrPaused = &fault.Error{
		Kind: fault.Conflict, Code: "payments_paused",
		Detail: "Payments of this workspace are paused because too many cards were declined. Ask the operator of " +
			"this service to resume them.",
	}

	ErrIntentNotFound = &fault.Error{Kind: fault.NotFound, Code: "intent_not_found",
		Detail: "There is no such intent, or the client secret does not match."}
	ErrIntentState = &fault.Error{Kind: fault.Conflict, Code: "intent_state",
		Detail: "The intent is not in a state that allows this."}
	ErrTestCardsOnly = &fault.Error{Kind: fault.Invalid, Code: "test_card_required",
		Detail: "The sandbox accepts only the published test cards, never a real card. No money moves."}

	ErrGatewayNotFound = &fault.Error{Kind: fault.NotFound, Code: "gateway_not_found",
		Detail: "This organisation has no payment gateway with that name."}
	ErrSignature = &fault.Error{Kind: fault.Malformed, Code: "webhook_signature_invalid",
		Detail: "The signature is missing, wrong or too old."}
	ErrEventNotFound = &fault.Error{Kind: fault.NotFound, Code: "event_not_found",
		Detail: "There is no such event from the gateway."}
	ErrEventMalformed = &fault.Error{Kind: fault.Malformed, Code: "webhook_malformed",
		Detail: "The body is not a valid event."}
)

// Errors of calls to the gateway that got no proper response. It is unknown whether such a call took
// effect, except for a Rejection: OutcomeUnknown distinguishes them.
var (
	ErrGateway = &fault.Error{Kind: fault.Upstream, Code: "gateway_error",
		Detail: "The payment gateway returned an unexpected response."}
	ErrGatewayDenied = &fault.Error{Kind: fault.Upstream, Code: "gateway_access_denied",
		Detail: "The payment gateway refuses this call to the key of this organisation. The operator of this service " +
			"has to give the key the right for it."}
	ErrGatewayUnavailable = &fault.Error{Kind: fault.Unavailable, Code: "gateway_unavailable",
		Detail: "The payment gateway cannot be reached, or limits requests at the moment."}
	ErrGatewayTimeout = &fault.Error{Kind: fault.UpstreamTimeout, Code: "gateway_timeout",
		Detail: "The payment gateway did not respond in time. Atrium resolves the outcome automatically."}
)

// DeclinedError is ErrCardDeclined with the card issuer's decline code.
type DeclinedError struct {
	DeclineCode string // such as insufficient_funds; generic_decline if the issuer gives none
}

func (e *DeclinedError) Error() string { return "declined: " + e.DeclineCode }

// Unwrap returns the error that the caller gets.
func (e *DeclinedError) Unwrap() error { return ErrCardDeclined }

// Rejection is an error for a call that the gateway refused because of Atrium or its configuration.
// The call had no effect.
type Rejection struct {
	Reason string       // for the log: the gateway's code, never its text
	Fault  *fault.Error // that the caller gets; nil for ErrGateway
}

func (e *Rejection) Error() string { return "the gateway refused: " + e.Reason }

// Unwrap returns the error that the caller gets.
func (e *Rejection) Unwrap() error { return cmp.Or(e.Fault, ErrGateway) }

// ErrCustomerGone is a Rejection: the gateway no longer has such a customer.
var ErrCustomerGone = &Rejection{Reason: "the customer does not exist"}

// KeptFailure is ErrGatewayUnavailable for a call whose failure the gateway has stored under the call's
// key, without an effect that can be seen. The key will never succeed.
type KeptFailure struct {
	Reason string // for the log
}

func (e *KeptFailure) Error() string { return "the gateway keeps a failure: " + e.Reason }

// Unwrap returns the error that the caller gets.
func (e *KeptFailure) Unwrap() error { return ErrGatewayUnavailable }

// LimitedError is ErrGatewayUnavailable for a call that the gateway refused before it looked at it,
// because there were too many. The call had no effect.
type LimitedError struct {
	Wait   time.Duration // as long as the gateway asks to wait; 0 if it does not say
	Reason string        // for the log
}

func (e *LimitedError) Error() string { return "the gateway limits requests: " + e.Reason }

// Unwrap returns the error that the caller gets.
func (e *LimitedError) Unwrap() error { return ErrGatewayUnavailable.WithRetryAfter(e.Wait) }

// NoEffect reports whether err says that a call had no effect because the gateway limits requests.
func NoEffect(err error) bool {
	_, isLimited := errors.AsType[*LimitedError](err)
	return isLimited
}

// UnsettledError is ErrGateway for a repeated call that the gateway refused after the first try got no
// response. The refusal does not reveal the outcome of the first try.
type UnsettledError struct {
	Refusal string // for the log
}

func (e *UnsettledError) Error() string { return "refused after an unanswered call: " + e.Refusal }

// Unwrap returns the error that the caller gets.
func (e *UnsettledError) Unwrap() error { return ErrGateway }

// OutcomeUnknown reports whether a call that failed with err may have taken effect. It can be repeated
// under the same key only.
func OutcomeUnknown(err error) bool {
	if err == nil {
		return false
	}
	if _, isRefused := errors.AsType[*Rejection](err); isRefused || NoEffect(err) {
		return false
	}
	f, foreseen := errors.AsType[*fault.Error](err)
	return !foreseen || f.Kind >= fault.Upstream
}

// ErrNoCustomer says that a workspace is not a customer of the gateway yet. Use cases handle it; no
// caller gets it.
var ErrNoCustomer = errors.New("the workspace is no customer of the gateway")
