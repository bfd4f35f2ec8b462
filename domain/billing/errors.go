package billing

import (
	"errors"

	"github.com/atrium-hq/atrium/domain/fault"
)

// What can go wrong with payments.
var (
	ErrNotConfigured  = &fault.Error{Kind: fault.Conflict, Code: "payments_not_configured", Detail: "This organisation takes no payments."}
	ErrRoleRequired   = &fault.Error{Kind: fault.Forbidden, Code: "billing_role_required", Detail: "That takes an owner or admin of the workspace, by a credential that allows as much."}
	ErrMethodNotFound = &fault.Error{Kind: fault.NotFound, Code: "payment_method_not_found", Detail: "The workspace has no such payment method."}
	ErrMethodInUse    = &fault.Error{Kind: fault.Conflict, Code: "payment_method_in_use", Detail: "It is the last valid payment method, and a subscription is charged to it. Add another one first, or end the subscription."}
	ErrMethodExpired  = &fault.Error{Kind: fault.Invalid, Code: "payment_method_expired", Detail: "The payment method has expired."}
	ErrMethodRequired = &fault.Error{Kind: fault.PaymentRequired, Code: "payment_method_required", Detail: "The workspace has no valid payment method. Add one first."}
	ErrCardDeclined   = &fault.Error{Kind: fault.PaymentRequired, Code: "card_declined", Detail: "The card was declined."}

	ErrPlanNotFound    = &fault.Error{Kind: fault.NotFound, Code: "plan_not_found", Detail: "This organisation has no such plan."}
	ErrPlanUnavailable = &fault.Error{Kind: fault.Invalid, Code: "plan_unavailable", Detail: "The plan cannot be bought at the moment."}

	ErrSubscriptionExists    = &fault.Error{Kind: fault.Conflict, Code: "subscription_exists", Detail: "The workspace has a subscription. Change that one."}
	ErrSubscriptionNotActive = &fault.Error{Kind: fault.Conflict, Code: "subscription_not_active", Detail: "The subscription has not been paid for, so that it cannot be changed. It can be ended."}
	ErrSubscriptionEnds      = &fault.Error{Kind: fault.Conflict, Code: "subscription_ends", Detail: "The subscription ends with its period, so that nothing that costs less can come after it. Set cancel_at_period_end to false, too, or change to what costs more."}
	ErrNoSubscription        = &fault.Error{Kind: fault.NotFound, Code: "no_active_subscription", Detail: "The workspace has no subscription."}
	ErrPending               = &fault.Error{Kind: fault.Conflict, Code: "payment_pending", Detail: "Another change of the subscription is under way, and its outcome not known yet. Wait as long as Retry-After says."}

	ErrIntentLimit = &fault.Error{
		Kind: fault.RateLimited, Code: "setup_intent_rate_limited",
		Detail: "The workspace has created too many setup intents, or has too many that are not confirmed. Wait as long as Retry-After says.",
	}
	ErrPaused = &fault.Error{
		Kind: fault.Conflict, Code: "payments_paused",
		Detail: "Payments of this workspace are paused because too many cards were declined. Ask the operator of this service to resume them.",
	}

	ErrIntentNotFound = &fault.Error{Kind: fault.NotFound, Code: "intent_not_found", Detail: "There is no such intent, or the client secret is not its own."}
	ErrIntentState    = &fault.Error{Kind: fault.Conflict, Code: "intent_state", Detail: "The intent does not wait for that."}
	ErrTestCardsOnly  = &fault.Error{Kind: fault.Invalid, Code: "test_card_required", Detail: "No money moves in the sandbox: it takes the published test cards alone, and never a real one."}

	ErrGatewayNotFound = &fault.Error{Kind: fault.NotFound, Code: "gateway_not_found", Detail: "This organisation has no such gateway."}
	ErrSignature       = &fault.Error{Kind: fault.Malformed, Code: "webhook_signature_invalid", Detail: "The signature is missing, wrong, or too old."}
	ErrEventNotFound   = &fault.Error{Kind: fault.NotFound, Code: "event_not_found", Detail: "The gateway told of no such event."}
	ErrEventMalformed  = &fault.Error{Kind: fault.Malformed, Code: "webhook_malformed", Detail: "The body is no event."}
)

// What becomes of calls to the gateway that were not answered as they should be. Whether such a call
// took effect is not known, but for a Rejection: OutcomeUnknown tells them apart.
var (
	ErrGateway            = &fault.Error{Kind: fault.Upstream, Code: "gateway_error", Detail: "The payment gateway answered in a way that Atrium does not understand."}
	ErrGatewayUnavailable = &fault.Error{Kind: fault.Unavailable, Code: "gateway_unavailable", Detail: "The payment gateway cannot be reached, or takes no more calls at the moment."}
	ErrGatewayTimeout     = &fault.Error{Kind: fault.UpstreamTimeout, Code: "gateway_timeout", Detail: "The payment gateway did not answer in time. What came of it shows as soon as it is known."}
)

// DeclinedError is ErrCardDeclined with what the issuer of the card says.
type DeclinedError struct {
	DeclineCode string // such as insufficient_funds; generic_decline where the issuer says nothing
}

func (e *DeclinedError) Error() string { return "declined: " + e.DeclineCode }

// Unwrap makes e what a caller is told of it.
func (e *DeclinedError) Unwrap() error { return ErrCardDeclined }

// Rejection is ErrGateway where the gateway refused a call for a reason that is Atrium's or the
// configuration's fault: it had no effect.
type Rejection struct {
	Reason string // for the log: the gateway's code, never its text
}

func (e *Rejection) Error() string { return "the gateway refused: " + e.Reason }

// Unwrap makes e what a caller is told of it.
func (e *Rejection) Unwrap() error { return ErrGateway }

// UnsettledError is ErrGateway where the gateway refused to repeat a call whose first try was not answered:
// the refusal does not say what came of that try.
type UnsettledError struct {
	Refusal string // for the log
}

func (e *UnsettledError) Error() string { return "refused after an unanswered call: " + e.Refusal }

// Unwrap makes e what a caller is told of it.
func (e *UnsettledError) Unwrap() error { return ErrGateway }

// OutcomeUnknown reports whether a call that failed with err may have taken effect all the same. It
// may be repeated under the same key, and under no other.
func OutcomeUnknown(err error) bool {
	if err == nil {
		return false
	}
	if _, refused := errors.AsType[*Rejection](err); refused {
		return false
	}
	f, foreseen := errors.AsType[*fault.Error](err)
	return !foreseen || f.Kind >= fault.Upstream
}

// ErrNoCustomer says that a workspace is no customer of the gateway yet. It is for use cases, which know
// what that means: no caller is told so.
var ErrNoCustomer = errors.New("the workspace is no customer of the gateway")
