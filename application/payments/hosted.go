package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// HostedPage is a page of the gateway for the payer's browser.
type HostedPage struct {
	URL     string // the sandbox's URLs begin with a slash: they are on this server
	Gateway payment.GatewayKind
}

// Portal returns a page where the payer manages payment methods and the subscription. The payer goes back to an
// address that the org's terms allow.
func (s *Service) Portal(ctx context.Context, by identity.Actor, returnURL string) (*HostedPage, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	var errs fault.Fields
	t.Returns.Check(&errs, "/return_url", returnURL)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	open := func() (string, error) {
		return callWithRetry(callCtx, func(ctx context.Context) (string, error) {
			return t.Gateway.Portal(ctx, c.ID, returnURL)
		})
	}
	url, err := open()
	if rejected(err) {
		if c, err = s.replaceDeleted(ctx, callCtx, by, t, c, err); err == nil {
			url, err = open()
		}
	}
	return &HostedPage{URL: url, Gateway: t.Kind}, err
}

// CheckoutRequest is a caller's request for a page where the payer starts a subscription, or buys credit packs.
type CheckoutRequest struct {
	Plan                  payment.PlanID // "" if the page sells credit packs
	Pack                  payment.PlanID // "" if the page sells a plan
	Quantity              int            // 1 to 10000, 1 to payment.MaxPacks; 0 asks for what the plan needs
	Currency              string         // "" for the plan's own
	AddOns                []payment.AddOnOrder
	Trial                 *bool // false begins without a trial; nil for the plan's
	SuccessURL, CancelURL string
	payment.CheckoutPage
}

// product returns what the page sells.
func (w *CheckoutRequest) product() payment.PlanID { return cmp.Or(w.Pack, w.Plan) }

// check adds what is wrong with w: a page sells either a plan or credit packs, and some fields are only for plans.
func (w *CheckoutRequest) check(errs *fault.Fields) {
	if w.Plan == "" && w.Pack == "" {
		errs.Add("/plan_id", "required", "A plan_id or a credit_pack_id is required.")
	}
	if w.Pack == "" {
		return
	}
	for _, f := range []struct {
		pointer string
		isSet   bool
	}{
		{"/plan_id", w.Plan != ""}, {"/currency", w.Currency != ""}, {"/add_ons", len(w.AddOns) > 0},
		{"/trial", w.Trial != nil}, {"/payment_method_optional", w.IsMethodOptional},
	} {
		if f.isSet {
			errs.Add(f.pointer, "not_allowed_value", "Cannot be combined with credit_pack_id.")
		}
	}
	if w.Quantity > payment.MaxPacks {
		errs.Add("/quantity", "out_of_range", fmt.Sprintf("Must be 1 to %d.", payment.MaxPacks))
	}
}

// Checkout returns a page where the payer starts a subscription, or buys credit packs. Earlier pages of the workspace
// end, so that a payer does not start two. Each call creates a page under its own key: a key of the caller would return
// the page that an earlier call created and this one has ended. What is paid there is mirrored when the gateway reports
// it. payment.ErrSubscriptionExists, payment.ErrPending, payment.ErrTrialUsed, payment.ErrSeatsInUse.
func (s *Service) Checkout(ctx context.Context, by identity.Actor, w CheckoutRequest) (*HostedPage, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	var errs fault.Fields
	w.check(&errs)
	t.Returns.Check(&errs, "/success_url", w.SuccessURL)
	t.Returns.Check(&errs, "/cancel_url", w.CancelURL)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	products, err := s.checkoutProducts(ctx, by, t, &w) // before a customer is created
	if err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	c, err := s.customer(ctx, callCtx, by, t)
	if err != nil {
		return nil, err
	}
	products, err = s.verified(callCtx, t, products, w.product())
	if err != nil {
		return nil, err
	}
	if w.AddOns, err = s.verifiedAddOns(callCtx, t, w.AddOns); err != nil {
		return nil, err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	start := payment.CheckoutRequest{
		Plan: w.product(), IsPack: w.Pack != "", Quantity: w.Quantity, Currency: w.Currency, AddOns: w.AddOns,
		NoTrial: w.Trial != nil && !*w.Trial, Ended: c.CheckoutUntil,
	}
	if c.Pending == nil {
		r, endedAt, err := s.endCheckouts(ctx, callCtx, by, t, c, now)
		if err != nil {
			return nil, err
		}
		start.Ended = endedAt
		if _, start.Debt, err = s.debt(ctx, callCtx, by, t, r.customer, now); err != nil {
			return nil, err
		}
	}
	start.Key = newKey()
	c, order, err := s.startCheckout(ctx, by, t, now, start, products)
	if err != nil {
		return nil, err
	}
	order.SuccessURL, order.CancelURL, order.AutomaticTax = w.SuccessURL, w.CancelURL, t.AutomaticTax
	order.Show(w.CheckoutPage, t.Trials)
	url, err := s.createCheckout(callCtx, t, c, start.Key, order)
	storeErr := s.endStart(ctx, by, t, c, order, err)
	return &HostedPage{URL: url, Gateway: t.Kind}, errors.Join(err, storeErr)
}

// checkoutProducts returns the plans or the credit packs that w asks for one of, and completes its quantity.
func (s *Service) checkoutProducts(
	ctx context.Context, by identity.Actor, t Terms, w *CheckoutRequest,
) (payment.Plans, error) {
	if w.Pack != "" {
		w.Quantity = max(w.Quantity, 1)
		_, err := t.CreditPacks.FindPack(w.Pack)
		return t.CreditPacks, err
	}
	plan, err := t.Plans.Find(w.Plan)
	if err != nil {
		return nil, err
	}
	members, err := s.members(ctx, by, t)
	if err == nil {
		w.Quantity, err = plan.SeatsFor(members, w.Quantity)
	}
	return t.Plans, err
}

// startCheckout stores that a page is created. If it has a trial, it claims the addresses of the owners for that, or
// returns payment.ErrTrialUsed and stores nothing. The card is examined when the payer has entered it.
func (s *Service) startCheckout(
	ctx context.Context, by identity.Actor, t Terms, now time.Time, start payment.CheckoutRequest, plans payment.Plans,
) (c *payment.Customer, order payment.CheckoutOrder, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		c, err = tx.Payments.Update(ctx, by, t.Account, func(c *payment.Customer) (err error) {
			order, err = c.StartCheckout(by, now, start, plans)
			return err
		})
		if err != nil || order.TrialDays == 0 {
			return err
		}
		return s.claimTrial(ctx, tx, by, t, c)
	})
	return c, order, err
}

// createCheckout creates a page.
func (s *Service) createCheckout(
	callCtx context.Context, t Terms, c *payment.Customer, key string, order payment.CheckoutOrder,
) (string, error) {
	create := func(key string) (string, error) {
		return callWithRetry(callCtx, func(ctx context.Context) (string, error) {
			return t.Gateway.Checkout(ctx, key, c.ID, order)
		})
	}
	url, err := create(key)
	if _, wasKept := errors.AsType[*payment.KeptFailure](err); wasKept { // a page without a visitor costs nothing
		url, err = create(key + payment.CheckoutAgain)
	}
	return url, err
}

// endStart stores that the call that creates a page has ended. If there is no page, its trial is released.
func (s *Service) endStart(
	ctx context.Context, by identity.Actor, t Terms, c *payment.Customer, order payment.CheckoutOrder, refusal error,
) error {
	_, err := s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
		c.CheckoutCreated(by.At)
		return nil
	})
	if refusal != nil && !payment.OutcomeUnknown(refusal) && order.TrialDays > 0 && !c.HadTrial {
		err = errors.Join(err, s.trials.Release(ctx, by, t.Account))
	}
	return ignoring(err)
}

// endCheckouts ends the pages on which a payer could start a subscription, and then reads the subscriptions: what was
// paid before a page ended is among them. The customer is another one if it was deleted at the gateway. ended is until
// when the pages would have been open.
func (s *Service) endCheckouts(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, now time.Time,
) (r reading, endedAt time.Time, err error) {
	endedAt = c.CheckoutUntil
	if err := c.MayEndCheckouts(by); err != nil {
		return reading{}, endedAt, err
	}
	var refusal error
	if c.MayCheckOut(now) {
		refusal = call(callCtx, func(ctx context.Context) error { return t.Gateway.EndCheckouts(ctx, c.ID) })
		if refusal != nil && !rejected(refusal) {
			return reading{}, endedAt, refusal
		}
	}
	r, err = s.refresh(ctx, callCtx, by, t, c, subscriptions)
	switch {
	case err != nil:
		return reading{}, endedAt, err
	case r.customer.ID == "":
		r.customer, err = s.customer(ctx, callCtx, by, t)
	case r.customer.ID == c.ID:
		err = refusal
	}
	return r, endedAt, err
}

// EndCheckouts ends the pages on which a payer could subscribe, so that the workspace can be deleted. It returns false
// if no page is open, or if a subscription is live. by is the system.
func (s *Service) EndCheckouts(ctx context.Context, by identity.Actor) (hasEnded bool, err error) {
	t, err := s.terms(by)
	if err != nil {
		return false, ignoring(err)
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if err != nil || c.ID == "" || c.CheckoutUntil.IsZero() {
		return false, ignoring(err)
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return false, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	r, end, err := s.endCheckouts(ctx, callCtx, by, t, c, now)
	live := func(h payment.GatewaySubscription) bool { return h.Status.Live() }
	if all := r.seen.Subscriptions; err != nil || (all != nil && slices.ContainsFunc(*all, live)) {
		return false, err
	}
	_, err = s.payments.Update(ctx, by, t.Account, func(c *payment.Customer) error {
		hasEnded = c.CheckoutsEnded(by, end)
		return nil
	})
	return hasEnded, err
}

// SandboxPage returns a page in an org's sandbox. payment.ErrPageNotFound.
func (s *Service) SandboxPage(
	ctx context.Context, org identity.OrgID, link payment.SandboxLink,
) (*payment.SandboxPage, error) {
	return onPage(s, org, func(p ports.SandboxPayer) (*payment.SandboxPage, error) { return p.Page(ctx, link) })
}

// CompleteCheckout pays on a checkout page, or on an invoice's page, with a test card, as the payer. It returns the
// page. payment.ErrPageNotFound, payment.ErrTestCardsOnly, payment.ErrMethodExpired, *payment.DeclinedError,
// payment.ErrSubscriptionExists, payment.ErrInvoiceNotPayable.
func (s *Service) CompleteCheckout(
	ctx context.Context, org identity.OrgID, link payment.SandboxLink, card payment.Card,
) (*payment.SandboxPage, error) {
	return onPage(s, org, func(p ports.SandboxPayer) (*payment.SandboxPage, error) {
		return p.Complete(ctx, link, card)
	})
}

// EndFromPortal ends a portal page's subscription when its period ends, or undoes that, as the payer. It returns the
// page. payment.ErrPageNotFound.
func (s *Service) EndFromPortal(
	ctx context.Context, org identity.OrgID, link payment.SandboxLink, ends bool,
) (*payment.SandboxPage, error) {
	return onPage(s, org, func(p ports.SandboxPayer) (*payment.SandboxPage, error) {
		return p.EndAtPeriodEnd(ctx, link, ends)
	})
}

func onPage(
	s *Service, org identity.OrgID, act func(ports.SandboxPayer) (*payment.SandboxPage, error),
) (*payment.SandboxPage, error) {
	t := s.deps.Terms(org)
	if t.Payer == nil {
		return nil, payment.ErrPageNotFound
	}
	return act(t.Payer)
}
