package stripesim

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// PagePath is the path of the sandbox's pages at the server. The customer and the secret of the page follow.
const PagePath = "/sandbox/pages/"

// portalLasts is how long a portal is open.
const portalLasts = time.Hour

func (c *checkout) lasts() time.Duration {
	if c.Portal {
		return portalLasts
	}
	return payment.CheckoutLasts
}

func (s *Simulator) pageURL(customer, id string) string {
	return PagePath + url.PathEscape(customer) + "/" + s.pageSecret(payment.CustomerID(customer), id).Reveal()
}

func (s *Simulator) pageSecret(c payment.CustomerID, id string) secret.String {
	return secret.New(id + "." + s.MAC("sandbox page\x00"+string(s.Org)+"\x00"+string(c)+"\x00"+id))
}

// LinkOf returns the page at an address.
func LinkOf(address string) payment.SandboxLink {
	_, rest, _ := strings.Cut(address, PagePath)
	c, text, _ := strings.Cut(rest, "/")
	return payment.SandboxLink{Customer: payment.CustomerID(c), Secret: secret.New(text)}
}

// pageID returns the identifier of the page that a link is for, if the link was made by this deployment, for this org
// and customer. It reads nothing before it has verified this. Otherwise it returns payment.ErrPageNotFound.
func (s *Simulator) pageID(l payment.SandboxLink) (string, error) {
	id, _, _ := strings.Cut(l.Secret.Reveal(), ".")
	want := s.pageSecret(l.Customer, id).Reveal()
	if subtle.ConstantTimeCompare([]byte(l.Secret.Reveal()), []byte(want)) != 1 {
		return "", payment.ErrPageNotFound
	}
	return id, nil
}

// page returns a page that is shown: while it is open, and after a payer has completed it, for as long.
// payment.ErrPageNotFound for others.
func (s *account) page(id string) (*checkout, error) {
	page := find(s.checkouts, func(c *checkout) bool { return c.ID == id })
	if page == nil || page.Status == "expired" || !s.now().Before(page.Created.Add(page.lasts())) {
		return nil, payment.ErrPageNotFound
	}
	return page, nil
}

// Page implements ports.SandboxPayer.
func (s *Simulator) Page(ctx context.Context, l payment.SandboxLink) (page *payment.SandboxPage, err error) {
	id, err := s.pageID(l)
	if err != nil {
		return nil, err
	}
	return page, s.look(ctx, string(l.Customer), func(a *account) (err error) {
		page, err = a.pageOf(id)
		return err
	})
}

// pageOf is what a page displays.
func (s *account) pageOf(id string) (*payment.SandboxPage, error) {
	if kindOf(id) == "in" {
		return s.invoicePage(id)
	}
	c, err := s.page(id)
	if err != nil {
		return nil, err
	}
	return s.showPage(c), nil
}

// showPage is what a checkout's or portal's page displays. A portal also shows the cards and the running
// subscription.
func (s *account) showPage(c *checkout) *payment.SandboxPage {
	p := &payment.SandboxPage{
		Portal: c.Portal, Quantity: int(c.Quantity), Plan: c.Plan, TrialDays: c.TrialDays, Return: c.ReturnURL,
		Success: c.SuccessURL, Done: c.Status == "complete", IsMethodOptional: c.mayOmitMethod(),
	}
	if !c.Portal {
		return p
	}
	for _, m := range s.customer(c.Customer).methods {
		p.Methods = append(p.Methods, payment.Method{ID: payment.MethodID(m.ID), Brand: m.Brand, Last4: m.Last4})
	}
	if u := s.running(); u != nil {
		p.Plan, p.Quantity = u.Plan, int(u.Quantity)
		p.Subscription = &payment.GatewaySubscription{
			ID: payment.SubscriptionID(u.ID), Status: payment.Status(u.Status), PeriodEnd: u.End,
			CancelAtPeriodEnd: u.endsAt(u.End),
			Items:             []payment.Item{{PeriodStart: u.Start, PeriodEnd: u.End}},
		}
	}
	return p
}

// running returns the first subscription that has not ended, or nil.
func (s *account) running() *subscription {
	for _, u := range s.subscriptions {
		if u.live() {
			return u
		}
	}
	return nil
}

// onPage does what the payer does on a page, and returns the page.
func (s *Simulator) onPage(
	ctx context.Context, l payment.SandboxLink, act func(a *account, id string) error,
) (page *payment.SandboxPage, err error) {
	id, err := s.pageID(l)
	if err != nil {
		return nil, err
	}
	var result struct {
		page    *payment.SandboxPage
		decline error
	}
	err = s.change(ctx, string(l.Customer), func(a *account) error {
		result.decline = nil
		err := act(a, id)
		if errors.Is(err, payment.ErrCardDeclined) { // an event reports it
			result.decline, err = err, nil
		}
		if err != nil {
			return err
		}
		result.page, err = a.pageOf(id)
		return err
	})
	return result.page, cmp.Or(err, result.decline)
}

// Complete implements ports.SandboxPayer. A subscription is charged to the card, which does not become the customer's
// default.
func (s *Simulator) Complete(
	ctx context.Context, l payment.SandboxLink, card payment.Card,
) (*payment.SandboxPage, error) {
	return s.onPage(ctx, l, func(a *account, id string) error {
		if kindOf(id) == "in" {
			return a.payOnPage(id, card)
		}
		c, err := a.page(id)
		switch {
		case err != nil:
			return err
		case c.Portal:
			return payment.ErrPageNotFound
		case c.Status != "open":
			return nil
		}
		if c.IsOnce {
			return a.buyOnPage(c, card)
		}
		return a.checkOut(c, card)
	})
}

// mayOmitMethod reports whether a payer can complete a checkout without a payment method: if nothing is due at once
// (https://docs.stripe.com/payments/checkout/free-trials).
func (c *checkout) mayOmitMethod() bool {
	return c.IsMethodOptional && (c.TrialDays > 0 || c.Plan.Price.Amount == 0)
}

// methodOnPage returns the method that the payer enters on a page; nil for a payer who leaves it out.
func (s *account) methodOnPage(c *checkout, card payment.Card, charge attempt) (*method, error) {
	if card.Number.IsZero() && c.mayOmitMethod() {
		return nil, nil //nolint:nilnil // there is no method, and that is no error
	}
	m, err := s.newMethod(card)
	if err != nil {
		return nil, err
	}
	decline := m.refusal()
	if decline == "" && c.TrialDays == 0 {
		decline, _ = m.answer(s.now(), charge)
	}
	if decline != "" {
		s.reportDecline()
		return nil, &payment.DeclinedError{DeclineCode: decline}
	}
	return m, nil
}

// checkOut adds the card, charges it, and starts the subscription.
func (s *account) checkOut(c *checkout, card payment.Card) error {
	if s.running() != nil {
		return payment.ErrSubscriptionExists
	}
	if c.AutomaticTax && !taxable(s.customer(c.Customer).Address) {
		return payment.ErrAddressInvalid
	}
	charge := attempt{present: true, authenticated: true} // on the page
	m, err := s.methodOnPage(c, card, charge)
	if err != nil {
		return err
	}
	u := s.order(s.customer(c.Customer), c.terms, c.Metadata, s.now())
	if u.AutomaticTax, u.WithoutCard, c.Status = c.AutomaticTax, c.WithoutCard, "complete"; m != nil {
		m.Authenticated = true
		s.attach(m)
		u.Default = m.ID
	}
	s.subscriptions = append(s.subscriptions, u)
	if c.TrialDays > 0 {
		s.tryOut(u, c.TrialDays)
		return nil
	}
	s.billPeriod(u, charge, s.now())
	return nil
}

// EndAtPeriodEnd implements ports.SandboxPayer.
func (s *Simulator) EndAtPeriodEnd(
	ctx context.Context, l payment.SandboxLink, ends bool,
) (*payment.SandboxPage, error) {
	return s.onPage(ctx, l, func(a *account, id string) error {
		c, err := a.page(id)
		if err != nil {
			return err
		}
		u := a.running()
		if !c.Portal || u == nil {
			return payment.ErrPageNotFound
		}
		if u.schedule != nil {
			u.schedule.release()
		}
		u.CancelAtPeriodEnd, u.CancelAt = ends, time.Time{}
		return nil
	})
}
