// Package payments holds the use cases of plans, payment methods and subscriptions, and the jobs that
// keep Atrium's mirror of the gateway correct. Money moves at the gateway, and no call to it runs
// inside a transaction. The request is stored first, with the key of the call; the response is stored
// afterwards; and a job resolves what was left in between.
package payments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Terms are what an org sells, and through which gateway. The zero Terms sell nothing.
type Terms struct {
	Kind           payment.GatewayKind
	Account        string             // identifies the account at the gateway, among all that the org has ever had
	Connected      string             // the account that events belong to, for Stripe Connect
	Gateway        ports.Gateway      // nil if the org takes no payments
	Payer          ports.SandboxPayer // only for the sandbox; otherwise nil
	PublishableKey string             // for browsers; not secret
	WebhookKeys    []secret.String    // keys that may have signed an event
	Plans          payment.Plans
	AddOns         payment.Plans // that can be bought beside a plan
	CreditPacks    payment.Plans // that are bought once
	Grace          time.Duration // how long a past-due subscription still entitles
	Limits         payment.CardLimits
	Trials         payment.TrialRules
	Losses         payment.LossRules
	AutomaticTax   bool                 // the gateway determines the taxes of new subscriptions
	Reads          *Reads               // of the account; nil if reads wait as long as the gateway takes
	Returns        payment.ReturnPolicy // to which addresses payers return from pages of the gateway
	MailedNotices  []payment.NoticeKind // the notices that are mailed to a workspace's owners

	PlansRequireSignIn bool // only callers with a credential see the plans

	// Clock returns the time at the gateway for a customer, "" for one that is not there yet; nil if it is the local
	// time. Clocks of the sandbox can be advanced.
	Clock func(context.Context, payment.CustomerID) (time.Time, error)
}

// TermsOf returns an org's current terms.
type TermsOf func(identity.OrgID) Terms

// Service holds the use cases, one method each.
type Service struct {
	atomic   ports.Atomic
	payments ports.Payments
	inbox    ports.Inbox
	usage    ports.Usage
	meters   ports.Meters
	trials   ports.Trials
	deps     Deps
}

// Deps are a Service's dependencies other than the stores of its area.
type Deps struct {
	Workspaces ports.Workspaces
	Jobs       ports.Jobs
	Mailer     ports.Mailer
	Digester   ports.Digester
	Terms      TermsOf
	Quotas     Configured
}

// Configured returns the limits for an org's workspaces without a plan.
type Configured func(identity.OrgID) quota.Amounts

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.PaymentStores, d Deps) *Service {
	return &Service{
		atomic: atomic, payments: s.Payments, inbox: s.Inbox, usage: s.Usage, meters: s.Meters, trials: s.Trials,
		deps: d,
	}
}

// GatewayOf returns an org's gateway; empty if the org takes no payments.
func (s *Service) GatewayOf(org identity.OrgID) payment.GatewayKind { return s.deps.Terms(org).Kind }

// termsForManager returns the terms if by manages payments.
func (s *Service) termsForManager(by identity.Actor) (Terms, error) {
	if err := payment.MayManage(by); err != nil {
		return Terms{}, err
	}
	return s.terms(by)
}

// terms returns the terms of by's org, or payment.ErrNotConfigured.
func (s *Service) terms(by identity.Actor) (Terms, error) {
	t := s.deps.Terms(by.Org)
	if t.Gateway == nil {
		return Terms{}, payment.ErrNotConfigured
	}
	return t, nil
}

// grant returns what the subscription of a customer, nil for none, entitles its workspace to at now, or nil.
func (t Terms) grant(c *payment.Customer, now time.Time) *payment.Grant {
	return t.Plans.Entitling(c.LiveSubscription(), t.AddOns, now, t.Grace)
}

// now returns the time at the gateway for a customer, nil for none, which decides what has expired and what is still
// entitled.
func (t Terms) now(ctx context.Context, by identity.Actor, c *payment.Customer) (time.Time, error) {
	switch {
	case t.Clock == nil:
		return by.At, nil
	case c == nil:
		return t.Clock(ctx, "")
	}
	return t.Clock(ctx, c.ID)
}

// Time limits of calls to the gateway.
const (
	budget    = 8 * time.Second // for all calls by a use case together
	tryFor    = 5 * time.Second // for one call
	storeFor  = 4 * time.Second // for storing an outcome whose caller has gone away
	rereadFor = 2 * time.Second // of it, for reading what has changed in the meantime
	maxTries  = 3
	firstWait = 250 * time.Millisecond
)

// outbound returns a context for the gateway calls of one use case.
func outbound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, budget)
}

// outlast returns contexts to call the gateway and to store the outcome that do not end when the caller goes away: what
// has begun is not left open because no one waits for it. callCtx is the context of outbound.
func outlast(ctx, callCtx context.Context) (storing, calling context.Context, cancel context.CancelFunc) {
	budget := timeLeft(callCtx)
	calling, end := context.WithTimeout(context.WithoutCancel(callCtx), budget)
	storing, endStoring := context.WithTimeout(context.WithoutCancel(ctx), budget+storeFor)
	return storing, calling, func() { end(); endStoring() }
}

// callWithRetry calls the gateway, and retries if the outcome is unknown. The retry uses the same key, which is
// part of f. A refusal after a try without a response is a *payment.UnsettledError.
func callWithRetry[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	waits := &gatewayBackOff{ExponentialBackOff: backoff.ExponentialBackOff{
		InitialInterval: firstWait, RandomizationFactor: 0.25, Multiplier: 2, MaxInterval: budget,
	}}
	var last struct {
		out T
		err error
	}
	open := false                                        // whether an earlier try may have taken effect
	_, _ = backoff.Retry(ctx, func() (struct{}, error) { // its own error hides the gateway's error when ctx ends
		last.out, last.err = callOnce(ctx, f)
		if rejection, isRejection := errors.AsType[*payment.Rejection](last.err); isRejection && open {
			last.err = &payment.UnsettledError{Refusal: rejection.Reason}
			return struct{}{}, backoff.Permanent(last.err)
		}
		isLimited := payment.NoEffect(last.err)
		_, wasKept := errors.AsType[*payment.KeptFailure](last.err)
		if wasKept || (last.err != nil && !isLimited && !payment.OutcomeUnknown(last.err)) {
			return struct{}{}, backoff.Permanent(last.err)
		}
		waits.least = 0
		if failure, ok := errors.AsType[*fault.Error](last.err); ok {
			waits.least = failure.RetryAfter
		}
		if isLimited && open {
			last.err = &payment.UnsettledError{Refusal: last.err.Error()}
		}
		open = open || (last.err != nil && !isLimited)
		return struct{}{}, last.err
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(timeLeft(ctx)))
	return last.out, last.err
}

// gatewayBackOff is an exponential backoff that waits at least as long as the gateway asked for.
type gatewayBackOff struct {
	backoff.ExponentialBackOff
	least time.Duration
}

// NextBackOff implements backoff.BackOff.
func (b *gatewayBackOff) NextBackOff() time.Duration {
	return max(b.ExponentialBackOff.NextBackOff(), b.least)
}

// timeLeft returns the time until the deadline of ctx, at least a nanosecond; 0 without a deadline.
func timeLeft(ctx context.Context) time.Duration {
	end, hasDeadline := ctx.Deadline()
	if !hasDeadline {
		return 0
	}
	return max(time.Until(end), 1)
}

// callOnce calls the gateway once. A call that ran out of time has an unknown outcome.
func callOnce[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	out, err := f(ctx)
	if _, foreseen := errors.AsType[*fault.Error](err); err != nil && !foreseen && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", payment.ErrGatewayTimeout, err)
	}
	return out, err
}

// call is callWithRetry for a call without a result.
func call(ctx context.Context, f func(context.Context) error) error {
	_, err := callWithRetry(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// mirrorActor returns the system actor for changes of the mirror: the caller who triggered the read did not
// make them.
func mirrorActor(by identity.Actor) identity.Actor {
	return identity.System(by.Org, by.Workspace, "payment mirror", by.At)
}

// update changes the customer of by's workspace, and queues a job that resolves its open outcomes if no
// one else does.
func (s *Service) update(ctx context.Context, by identity.Actor, t Terms,
	change func(*payment.Customer) error) (*payment.Customer, error) {
	return ports.InTransaction(ctx, s.atomic, func(tx ports.Stores) (*payment.Customer, error) {
		c, err := tx.Payments.Update(ctx, by, t.Account, change)
		if err != nil {
			return nil, err
		}
		return c, watch(ctx, tx.Jobs, by, c)
	})
}

// watch queues the job that resolves unknown outcomes of c, or cancels it if every outcome is known.
func watch(ctx context.Context, jobs ports.Jobs, by identity.Actor, c *payment.Customer) error {
	if c.Settled() {
		_, err := jobs.Cancel(ctx, c.Workspace, string(c.Workspace))
		return err
	}
	return jobs.Enqueue(ctx, job.New(by, payment.ReconcileJob, string(c.Workspace), by.At.Add(payment.ReconcileAfter)))
}

// code returns the code that is recorded for an error.
func code(err error) string {
	if d, isDecline := errors.AsType[*payment.DeclinedError](err); isDecline {
		return d.DeclineCode
	}
	if failure, ok := errors.AsType[*fault.Error](err); ok {
		return failure.Code
	}
	return "internal"
}
