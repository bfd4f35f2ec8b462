package payment

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// ErrPageNotFound is returned for a hosted page of the sandbox that does not exist, or no longer.
var ErrPageNotFound = &fault.Error{
	Kind: fault.NotFound, Code: "page_not_found", Detail: "This page does not exist, or is no longer valid.",
}

// CheckoutLasts is a checkout page's lifetime, as at Stripe.
const CheckoutLasts = 24 * time.Hour

// CheckoutOrder is a request to the gateway for a page where the payer starts a subscription, or buys credit packs.
type CheckoutOrder struct {
	Plan                  Plan // or the credit pack
	Quantity              int
	AddOns                []ItemOrder
	TrialDays             int
	AutomaticTax          bool   // as in an Order
	SuccessURL, CancelURL string // to which the payer returns

	TrialEnd TrialEnd // without a payment method; "" if the page always asks for one
	CheckoutPage
}

// CheckoutPage is what a checkout page asks of the payer. The zero value asks only for a payment method.
type CheckoutPage struct {
	PromotionCodes   bool   // the payer can enter a promotion code
	Address          bool   // the payer has to enter a billing address
	TaxIDs           bool   // the payer can enter a tax id
	IsMethodOptional bool   // a payment method is asked for only if something is due at once
	Locale           string // the page's language; "" for the language of the browser
}

// Show sets what o's page asks of the payer. A trial that needs a payment method by the rules asks for one in any case.
func (o *CheckoutOrder) Show(p CheckoutPage, rules TrialRules) {
	if o.TrialDays > 0 && rules.CardRequired {
		p.IsMethodOptional = false
	}
	if o.CheckoutPage = p; o.TrialDays > 0 && p.IsMethodOptional {
		o.TrialEnd = cmp.Or(rules.WithoutCard, CancelTrial)
	}
}

// ReturnPolicy says to which addresses payers can be sent back from pages of the gateway.
type ReturnPolicy struct {
	Origins  []string // as browsers send them, such as https://app.example.com
	Loopback bool     // http and https on the loopback interface are allowed, too
}

// Check adds what is wrong with an address that a caller has given at a JSON Pointer.
func (p ReturnPolicy) Check(errs *fault.Fields, pointer, address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" {
		errs.Add(pointer, "invalid_format", "Must be an absolute URL without credentials.")
		return
	}
	host := u.Hostname()
	loopback := host == "localhost" || host == "127.0.0.1" || host == "::1"
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		errs.Add(pointer, "invalid_format", "Must be an https URL; http is only for loopback.")
		return
	}
	if !slices.Contains(p.Origins, u.Scheme+"://"+u.Host) && (!loopback || !p.Loopback) {
		errs.Add(pointer, "not_allowed_value", "The organisation does not allow to send payers to this origin.")
	}
}

// CheckoutAgain is the suffix of a checkout's second key, for when the gateway has used up the first.
const CheckoutAgain = "_again"

// checkoutCreation is the maximum time that a call may take to create a checkout page. Until then, no other page is
// created.
const checkoutCreation = 15 * time.Second

// CheckoutRequest is a caller's request for a page where the payer starts a subscription, or buys credit packs.
type CheckoutRequest struct {
	Plan     PlanID // or of the credit pack
	IsPack   bool
	Quantity int
	Currency string // "" for the plan's own
	AddOns   []AddOnOrder
	NoTrial  bool
	Key      string    // of the call to the gateway that creates the page
	Ended    time.Time // the CheckoutUntil of the pages that were ended for this one
	Debt     InvoiceID // of Customer.Debt
}

// StartCheckout records that a page is created, and returns the order for it. plans are the plans or the credit packs
// of the org, and now is the time at the gateway. For a subscription: ErrSubscriptionExists if a subscription is live,
// even if its first payment waits for the payer: the payer could pay for both. ErrInvoiceUnpaid beside a debt.
// ErrPending while another page is created, or if one was created since the others ended.
func (c *Customer) StartCheckout(
	by identity.Actor, now time.Time, w CheckoutRequest, plans Plans,
) (CheckoutOrder, error) {
	if err := c.allow(by); err != nil {
		return CheckoutOrder{}, err
	}
	if c.Pending != nil {
		return CheckoutOrder{}, ErrPending.WithRetryAfter(c.Pending.wait(by.At))
	}
	if err := c.noOtherCheckout(by, w.Ended); err != nil {
		return CheckoutOrder{}, err
	}
	if err := c.unpaused(); err != nil {
		return CheckoutOrder{}, err
	}
	start := c.planCheckout
	if w.IsPack {
		start = c.packCheckout
	}
	o, err := start(by, w, plans)
	if err != nil {
		return CheckoutOrder{}, err
	}
	c.CheckoutUntil, c.CheckingOut = now.Add(CheckoutLasts), by.At.Add(checkoutCreation)
	c.touch(by)
	return o, nil
}

// planCheckout is StartCheckout for a subscription.
func (c *Customer) planCheckout(by identity.Actor, w CheckoutRequest, plans Plans) (CheckoutOrder, error) {
	plan, err := plans.buyable(w.Plan)
	if err == nil {
		plan, err = plan.PricedIn(w.Currency)
	}
	switch {
	case err != nil:
		return CheckoutOrder{}, err
	case plan.ByTransfer():
		return CheckoutOrder{}, ErrPlanUnavailable.Because("The plan is paid by transfer, not on a page: create the " +
			"subscription with POST /api/payments/subscriptions.")
	case c.Subscription != nil:
		return CheckoutOrder{}, ErrSubscriptionExists
	case w.Debt != "":
		return CheckoutOrder{}, ErrInvoiceUnpaid
	}
	addOns, _, err := plan.withAddOns(w.AddOns)
	if err != nil {
		return CheckoutOrder{}, err
	}
	o := CheckoutOrder{Plan: *plan, Quantity: w.Quantity, AddOns: addOns}
	if c.CheckoutTrial = ""; !c.HadTrial && !w.NoTrial && plan.TrialDays > 0 {
		o.TrialDays, c.CheckoutTrial = plan.TrialDays, w.Key
	}
	c.Record(by, "subscription.checkout_started", string(c.ID),
		map[string]any{"plan_id": plan.ID, "quantity": w.Quantity})
	return o, nil
}

// packCheckout is StartCheckout for credit packs.
func (c *Customer) packCheckout(by identity.Actor, w CheckoutRequest, packs Plans) (CheckoutOrder, error) {
	pack, err := packs.buyablePack(w.Plan)
	if err != nil {
		return CheckoutOrder{}, err
	}
	c.Record(by, "credit_pack.checkout_started", string(c.ID),
		map[string]any{"credit_pack_id": pack.ID, "quantity": w.Quantity})
	return CheckoutOrder{Plan: *pack, Quantity: w.Quantity}, nil
}

// MayEndCheckouts returns ErrPending while a checkout page is created: it would stay open if the open pages were ended
// now.
func (c *Customer) MayEndCheckouts(by identity.Actor) error {
	if wait := c.CheckingOut.Sub(by.At); wait > 0 {
		return ErrPending.WithRetryAfter(min(wait, checkoutCreation))
	}
	return nil
}

// noOtherCheckout returns ErrPending while a checkout page is created, or if one was created after those that were open
// until a time.
func (c *Customer) noOtherCheckout(by identity.Actor, end time.Time) error {
	if err := c.MayEndCheckouts(by); err != nil {
		return err
	}
	if c.CheckoutUntil.After(end) {
		return ErrPending.WithRetryAfter(time.Second)
	}
	return nil
}

// CheckoutCreated records that the call that StartCheckout has begun at a time has ended, so that another page can be
// created.
func (c *Customer) CheckoutCreated(start time.Time) {
	if !c.CheckingOut.After(start.Add(checkoutCreation)) {
		c.CheckingOut = time.Time{}
	}
}

// MayCheckOut reports whether a payer may have a checkout page open at now, the time at the gateway.
func (c *Customer) MayCheckOut(now time.Time) bool { return now.Before(c.CheckoutUntil) }

// CheckoutsEnded records that the pages that were open until a time have ended. It returns false if another one was
// created since, or is being created.
func (c *Customer) CheckoutsEnded(by identity.Actor, end time.Time) bool {
	if c.noOtherCheckout(by, end) != nil {
		return false
	}
	c.CheckoutUntil = time.Time{}
	return true
}

// OnCheckoutTrial reports whether the subscription is on a checkout page's trial, with a payment method that was not
// known when the page was created.
func (c *Customer) OnCheckoutTrial() bool {
	s := c.Subscription
	return c.CheckoutTrial != "" && s != nil && s.Status == Trialing &&
		strings.TrimSuffix(s.Key, CheckoutAgain) == c.CheckoutTrial
}

// LapsedCheckoutTrial reports whether a checkout page's trial has not begun, and no longer can. now is the time at the
// gateway. The event about a page that was completed at the last moment has a day to arrive.
func (c *Customer) LapsedCheckoutTrial(now time.Time) bool {
	return c.CheckoutTrial != "" && !c.HadTrial && c.Pending == nil && !c.MayCheckOut(now.Add(-CheckoutLasts))
}

// EndCheckoutTrial records that the payment method of the trial under key was examined. If the trial was refused, its
// subscription has ended at the gateway.
func (c *Customer) EndCheckoutTrial(by identity.Actor, key string, isRefused bool) {
	if c.CheckoutTrial != key {
		return
	}
	if isRefused && c.OnCheckoutTrial() {
		s := c.Subscription
		c.Record(by, "trial.refused", string(s.ID), map[string]any{"plan_id": s.Plan, "kind": CardMark})
		c.end(by)
	}
	c.CheckoutTrial = ""
	c.touch(by)
}

// SandboxPage is a sandbox page's current state.
type SandboxPage struct {
	Portal       bool // shows the customer's subscription; otherwise starts one, or shows an invoice
	Plan         Plan // of the order, or of the subscription; the zero Plan without both
	Quantity     int
	TrialDays    int
	Methods      []Method
	Subscription *GatewaySubscription // of a portal; nil without one
	Done         bool                 // the checkout is complete, or the invoice is paid
	Invoice      *Invoice             // that the page shows, with all its lines; nil on other pages

	IsMethodOptional bool   // the checkout needs no payment method
	Return           string // where the payer goes back to without a change
	Success          string // where the payer goes after a checkout
}

// SandboxLink identifies a page of the sandbox. The secret is its credential.
type SandboxLink struct {
	Customer CustomerID
	Secret   secret.String
}
