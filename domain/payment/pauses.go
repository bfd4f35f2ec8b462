package payment

import (
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
)

// ErrSubscriptionPaused is returned for a change of what a paused subscription sells.
var ErrSubscriptionPaused = &fault.Error{
	Kind: fault.Conflict, Code: "subscription_paused",
	Detail: "The subscription is paused. Set paused to false first, then change it.",
}

// Feedback is the reason for cancelling a subscription. The values are Stripe's
// (https://docs.stripe.com/api/subscriptions/object#subscription_object-cancellation_details-feedback).
type Feedback string

// Cancellation is why someone cancels a subscription. The zero Cancellation says nothing.
type Cancellation struct {
	Feedback Feedback `json:"feedback,omitempty"`
	Comment  string   `json:"comment,omitempty"` // in their own words; never in an event
}

// planPause completes the operation that pauses or resumes the subscription. It returns nil if there is nothing to do.
// Only a subscription that is paid can be paused. The paid period stays usable until its end; the periods after that
// cost nothing and entitle to nothing. Resuming later starts a new period, which is charged at once.
func (c *Customer) planPause(op *Operation, ch Changes, plans Plans) (*Operation, error) {
	s := c.Subscription
	if plans.MeterOf(s) != nil && *ch.Pause {
		return nil, fault.InvalidFields([]fault.Field{{
			Pointer: "/paused", Code: "not_allowed_value",
			Detail: "A subscription that is billed by usage cannot be paused: what was used would never be billed.",
		}})
	}
	if ch.Plan != nil || ch.Quantity != nil || ch.CancelAtPeriodEnd != nil || ch.EndTrial || ch.Code != "" ||
		ch.explains() {
		return nil, fault.InvalidFields([]fault.Field{{
			Pointer: "/paused", Code: "not_allowed_value", Detail: "Cannot be combined with another change.",
		}})
	}
	switch {
	case s.Status == Paused && c.DefaultMethod() == nil: // its trial has ended without one
		return nil, ErrMethodRequired
	case s.Status == Paused:
	case *ch.Pause == s.Paused:
		return nil, nil //nolint:nilnil // there is nothing to do, and that is no error
	case *ch.Pause && s.CancelAtPeriodEnd:
		return nil, ErrSubscriptionEnds.Because(
			"The subscription ends with the current period, so it cannot be paused.")
	case *ch.Pause && s.Status != Active:
		return nil, ErrSubscriptionNotActive
	}
	op.Pause, op.PaidUntil = ch.Pause, s.PaidUntil
	return op, nil
}

// explains reports whether ch says why the subscription is cancelled.
func (ch *Changes) explains() bool { return ch.Feedback != nil || ch.Comment != nil }

// explain sets what the gateway stores about why the subscription is cancelled. fault.ErrInvalid if it is not.
func (o *Operation) explain(s *Subscription, ch Changes) error {
	ends := s.CancelAtPeriodEnd
	if ch.CancelAtPeriodEnd != nil {
		ends = *ch.CancelAtPeriodEnd
	}
	if ch.explains() && !ends {
		return fault.InvalidFields([]fault.Field{{
			Pointer: "/cancel_at_period_end", Code: "not_allowed_value",
			Detail: "Must be true for a reason of the cancellation.",
		}})
	}
	reason := s.Cancellation
	if !ends {
		reason = Cancellation{}
	}
	if ch.Feedback != nil {
		reason.Feedback = *ch.Feedback
	}
	if ch.Comment != nil {
		reason.Comment = *ch.Comment
	}
	if reason != s.Cancellation {
		o.Cancellation = &reason
	}
	return nil
}

// Why returns the reason that a Change or a Cancel gives; the zero Cancellation if it gives none.
func (o *Operation) Why() Cancellation {
	if o.Cancellation == nil {
		return Cancellation{}
	}
	return *o.Cancellation
}

// note adds c to an event's data. Its comment may contain personal data, which the audit trail does not keep.
func (c Cancellation) note(data map[string]any) map[string]any {
	if c.Feedback != "" {
		data["cancellation_feedback"] = c.Feedback
	}
	return data
}

// pause sets until when s is paid if it is paused, given its previous state. Atrium stores that time at the gateway. A
// pause that was made elsewhere counts from when it is first seen.
func (s *Subscription) pause(previous *Subscription) {
	switch {
	case !s.Paused:
		s.PaidUntil = time.Time{}
	case !s.PaidUntil.IsZero():
	case previous != nil && previous.ID == s.ID && previous.Paused:
		s.PaidUntil = previous.PaidUntil
	default:
		s.PaidUntil = s.PeriodEnd
	}
}

// cancelledFor returns why the subscription that has ended was cancelled, as far as the gateway or its mirror knows.
func (c *Customer) cancelledFor(subscriptions []GatewaySubscription) Cancellation {
	for _, h := range subscriptions {
		if h.ID == c.Subscription.ID {
			return h.Cancellation
		}
	}
	return c.Subscription.Cancellation
}
