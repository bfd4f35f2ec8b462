// Package payments is what callers can do with plans, payment methods and subscriptions, and what Atrium
// does to keep its mirror of the gateway true. Money moves at the gateway: no call to it is made inside a
// transaction. What is to be asked of it is stored first, with the key of the call; what it answered is
// stored afterwards; and a job finds out about whatever lies between.
package payments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// Terms is what an org sells, and through whom. The zero Terms sell nothing.
type Terms struct {
	Kind           billing.GatewayKind
	Account        string             // names the account at the gateway, among all that the org ever had
	Connected      string             // whose events they are, where the account is one of Stripe Connect
	Gateway        ports.Gateway      // nil if the org takes no payments
	Payer          ports.SandboxPayer // nil but for the sandbox
	PublishableKey string             // for browsers; no secret
	WebhookKeys    []secret.String    // any of which may have signed an event
	Plans          billing.Plans
	Grace          time.Duration // for which a subscription that is past due still entitles
	Limits         billing.CardLimits

	// Clock returns the time at the gateway; nil where that is the time here. The sandbox's can be put ahead.
	Clock func(context.Context) (time.Time, error)
}

// TermsOf answers the present terms of an org.
type TermsOf func(identity.OrgID) Terms

// Service holds the use cases, one method each.
type Service struct {
	atomic     ports.Atomic
	payments   ports.Payments
	inbox      ports.Inbox
	jobs       ports.Jobs
	workspaces ports.Workspaces
	users      ports.Users
	terms      TermsOf
}

// NewService returns the use cases on these stores.
func NewService(a ports.Atomic, p ports.Payments, i ports.Inbox, j ports.Jobs, w ports.Workspaces, u ports.Users, t TermsOf) *Service {
	return &Service{atomic: a, payments: p, inbox: i, jobs: j, workspaces: w, users: u, terms: t}
}

// managed returns the terms to those who manage payments.
func (s *Service) managed(by identity.Actor) (Terms, error) {
	if err := billing.MayManage(by); err != nil {
		return Terms{}, err
	}
	return s.sold(by)
}

// sold returns the terms of by's org, or billing.ErrNotConfigured.
func (s *Service) sold(by identity.Actor) (Terms, error) {
	t := s.terms(by.Org)
	if t.Gateway == nil {
		return Terms{}, billing.ErrNotConfigured
	}
	return t, nil
}

// now returns the time at the gateway, which decides what has expired and what is still entitled.
func (t Terms) now(ctx context.Context, by identity.Actor) (time.Time, error) {
	if t.Clock == nil {
		return by.At, nil
	}
	return t.Clock(ctx)
}

// How long the gateway is asked, and how often.
const (
	budget    = 8 * time.Second // for all calls of a use case together
	tryFor    = 5 * time.Second // for one call
	maxTries  = 3
	firstWait = 250 * time.Millisecond
)

// outbound is a context for the calls of one use case.
func outbound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, budget)
}

// ask calls the gateway, and again if the outcome is not known: under the same key, since call brings it
// along. A refusal after an unanswered try is a *billing.UnsettledError.
func ask[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	wait := firstWait
	for try := 1; ; try++ {
		out, err := once(ctx, call)
		if refused, is := errors.AsType[*billing.Rejection](err); is && try > 1 {
			return out, &billing.UnsettledError{Refusal: refused.Reason}
		}
		if err == nil || try == maxTries || !billing.OutcomeUnknown(err) {
			return out, err
		}
		pause := time.Duration(float64(wait) * (0.75 + rand.Float64()/2)) //nolint:gosec // jitter needs no secrecy
		if f, ok := errors.AsType[*fault.Error](err); ok {
			pause = max(pause, f.RetryAfter)
		}
		if end, limited := ctx.Deadline(); limited && time.Until(end) < pause {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(pause):
		}
		wait *= 2
	}
}

// once calls the gateway. A call that ended with its time is one whose outcome is not known.
func once[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	out, err := call(ctx)
	if _, foreseen := errors.AsType[*fault.Error](err); err != nil && !foreseen && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", billing.ErrGatewayTimeout, err)
	}
	return out, err
}

// done is a call that answers nothing.
func done(ctx context.Context, call func(context.Context) error) error {
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// mirror is who sees what the gateway has: whoever happened to ask has not done it.
func mirror(by identity.Actor) identity.Actor {
	return identity.System(by.Org, by.Workspace, "payment mirror", by.At)
}

// update changes the customer of by's workspace, and sees to it that a job finds out what becomes of it if
// nobody else does.
func (s *Service) update(ctx context.Context, by identity.Actor, t Terms, change func(*billing.Customer) error) (c *billing.Customer, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if c, err = tx.Payments.Update(ctx, by, t.Account, change); err != nil {
			return err
		}
		return watch(ctx, tx.Jobs, by, c)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// watch queues the job that finds out what is not known of c, or takes it out of the queue.
func watch(ctx context.Context, jobs ports.Jobs, by identity.Actor, c *billing.Customer) error {
	if c.Settled() {
		_, err := jobs.Cancel(ctx, c.Workspace, string(c.Workspace))
		return err
	}
	return jobs.Enqueue(ctx, job.New(by, billing.ReconcileJob, string(c.Workspace), by.At.Add(billing.ReconcileAfter)))
}

// code is what is noted of an error.
func code(err error) string {
	if d, declined := errors.AsType[*billing.DeclinedError](err); declined {
		return d.DeclineCode
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Code
	}
	return "internal"
}
