package sandbox

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
)

// PagePath is the path of the sandbox's pages at the server. The customer and the secret of the page follow.
const PagePath = "/sandbox/pages/"

// session is a hosted page.
type session struct {
	ID         string        `json:"id"`
	Portal     bool          `json:"portal,omitempty"`
	Key        string        `json:"key,omitempty"`
	Plan       *payment.Plan `json:"plan,omitempty"`
	Quantity   int           `json:"quantity,omitempty"`
	TrialDays  int           `json:"trial_days,omitempty"`
	Tax        bool          `json:"tax,omitempty"` // taxes are determined automatically
	SuccessURL string        `json:"success_url,omitempty"`
	ReturnURL  string        `json:"return_url"`
	Status     string        `json:"status"`
	CreatedAt  time.Time     `json:"created_at"`
}

// The statuses of sessions.
const (
	sessionOpen     = "open"
	sessionComplete = "complete"
	sessionExpired  = "expired"
)

// How many sessions an account keeps, and how long a portal is open.
const (
	maxSessions = 20
	portalLasts = time.Hour
)

// shown reports whether a page is shown: while it is open, and after a payer has completed it, for as long.
func (n *session) shown(now time.Time) bool {
	lasts := payment.CheckoutLasts
	if n.Portal {
		lasts = portalLasts
	}
	return n.Status != sessionExpired && now.Before(n.CreatedAt.Add(lasts))
}

func (b *account) startSession(n session) {
	b.Sessions = append(b.Sessions, &n)
	b.Sessions = b.Sessions[max(len(b.Sessions)-maxSessions, 0):]
}

func (g *Gateway) pageURL(c payment.CustomerID, id string) string {
	return PagePath + url.PathEscape(string(c)) + "/" + g.pageSecret(c, id).Reveal()
}

func (g *Gateway) pageSecret(c payment.CustomerID, id string) secret.String {
	return secret.New(id + "." + g.mac("sandbox page\x00"+string(g.org)+"\x00"+string(c)+"\x00"+id))
}

// Portal implements ports.GatewayPages.
func (g *Gateway) Portal(ctx context.Context, c payment.CustomerID, returnURL string) (string, error) {
	ctx, fail, err := g.begin(ctx, "portal", "")
	if err != nil {
		return "", err
	}
	id := ""
	err = g.write(ctx, c, func(b *account, now time.Time) error {
		id = "bps_" + name(string(b.ID), returnURL, now.String(), itoa(len(b.Sessions)))
		b.startSession(session{ID: id, Portal: true, ReturnURL: returnURL, Status: sessionOpen, CreatedAt: now})
		return nil
	})
	if late := fail(); late != nil {
		return "", late
	}
	return g.pageURL(c, id), err
}

// Checkout implements ports.GatewayPages.
func (g *Gateway) Checkout(
	ctx context.Context, key string, c payment.CustomerID, o payment.CheckoutOrder,
) (string, error) {
	call := "checkout " + string(o.Plan.ID) + " " + itoa(o.Quantity)
	id, err := keyed(ctx, g, c, key, call, func(b *account, now time.Time) (string, error) {
		n := session{
			ID: "cs_" + name(string(b.ID), key), Key: key, Plan: &o.Plan, Quantity: o.Quantity, TrialDays: o.TrialDays,
			Tax:        o.AutomaticTax,
			SuccessURL: o.SuccessURL, ReturnURL: o.CancelURL, Status: sessionOpen, CreatedAt: now,
		}
		b.startSession(n)
		return n.ID, nil
	})
	return g.pageURL(c, id), err
}

// EndCheckouts implements ports.GatewayPages.
func (g *Gateway) EndCheckouts(ctx context.Context, c payment.CustomerID) error {
	ctx, fail, err := g.begin(ctx, "end checkouts", "")
	if err != nil {
		return err
	}
	err = g.write(ctx, c, func(b *account, _ time.Time) error {
		for _, n := range b.Sessions {
			if !n.Portal && n.Status == sessionOpen {
				n.Status = sessionExpired
				b.emit("checkout.session.expired", "checkout.session", n.ID, n.CreatedAt)
			}
		}
		return nil
	})
	if late := fail(); late != nil {
		return late
	}
	return err
}

// write changes an account, without a key.
func (g *Gateway) write(ctx context.Context, c payment.CustomerID, act func(b *account, now time.Time) error) error {
	now, err := g.now(ctx)
	if err != nil {
		return err
	}
	err = g.accounts.Write(ctx, g.org, string(c), func(text []byte) ([]byte, error) {
		b, err := decode(text)
		if err != nil {
			return nil, err
		}
		b.roll(now)
		if err := act(b, now); err != nil {
			return nil, err
		}
		return encode(b)
	})
	if err == nil {
		g.flush(ctx, c)
	}
	return err
}

// sessionID returns the session that a link is for, if the link was made by this deployment, for this org and customer.
// It reads nothing before it has verified this. Otherwise it returns payment.ErrPageNotFound.
func (g *Gateway) sessionID(l payment.SandboxLink) (string, error) {
	id, _, _ := strings.Cut(l.Secret.Reveal(), ".")
	want := g.pageSecret(l.Customer, id).Reveal()
	if subtle.ConstantTimeCompare([]byte(l.Secret.Reveal()), []byte(want)) != 1 {
		return "", payment.ErrPageNotFound
	}
	return id, nil
}

// session returns a session. payment.ErrPageNotFound if it does not exist or has ended.
func (b *account) session(id string, now time.Time) (*session, error) {
	i := slices.IndexFunc(b.Sessions, func(n *session) bool { return n.ID == id })
	if i < 0 || !b.Sessions[i].shown(now) {
		return nil, payment.ErrPageNotFound
	}
	return b.Sessions[i], nil
}

// Page implements ports.SandboxPayer.
func (g *Gateway) Page(ctx context.Context, l payment.SandboxLink) (*payment.SandboxPage, error) {
	id, err := g.sessionID(l)
	if err != nil {
		return nil, err
	}
	b, err := g.look(ctx, l.Customer)
	if errors.Is(err, errNoSuchCustomer) {
		return nil, payment.ErrPageNotFound
	}
	if err != nil {
		return nil, err
	}
	now, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	n, err := b.session(id, now)
	if err != nil {
		return nil, err
	}
	return g.page(b, n), nil
}

// onPage changes a page's account, as its payer.
func (g *Gateway) onPage(
	ctx context.Context, l payment.SandboxLink, act func(b *account, n *session, now time.Time) error,
) error {
	id, err := g.sessionID(l)
	if err != nil {
		return err
	}
	err = g.write(ctx, l.Customer, func(b *account, now time.Time) error {
		n, err := b.session(id, now)
		if err != nil {
			return err
		}
		return act(b, n, now)
	})
	if errors.Is(err, errNoSuchCustomer) {
		return payment.ErrPageNotFound
	}
	return err
}

func (g *Gateway) page(b *account, n *session) *payment.SandboxPage {
	p := &payment.SandboxPage{
		Portal: n.Portal, Quantity: n.Quantity, TrialDays: n.TrialDays, Return: n.ReturnURL, Success: n.SuccessURL,
		Done: n.Status == sessionComplete,
	}
	if n.Plan != nil {
		p.Plan = *n.Plan
	}
	if !n.Portal {
		return p
	}
	for _, m := range b.Methods {
		p.Methods = append(p.Methods, m.shown())
	}
	if s := b.live(); s != nil {
		h := g.held(b.ID, s)
		p.Subscription, p.Plan, p.Quantity = &h, s.Plan, s.Quantity
	}
	return p
}

// live returns the live subscription of b, or nil.
func (b *account) live() *subscription {
	for _, s := range b.Subscriptions {
		if s.Status.Live() {
			return s
		}
	}
	return nil
}

// Complete implements ports.SandboxPayer. The card becomes the default.
func (g *Gateway) Complete(
	ctx context.Context, l payment.SandboxLink, card payment.Card,
) (*payment.SandboxPage, error) {
	var done struct {
		page    *payment.SandboxPage
		decline error
	}
	err := g.onPage(ctx, l, func(b *account, n *session, now time.Time) (err error) {
		done.decline = nil
		if n.Portal {
			return payment.ErrPageNotFound
		}
		if n.Status == sessionOpen {
			err = g.checkOut(b, n, card, now)
		}
		if errors.Is(err, payment.ErrCardDeclined) { // an event reports it
			done.decline, err = err, nil
		}
		done.page = g.page(b, n)
		return err
	})
	return done.page, cmp.Or(err, done.decline)
}

// checkOut adds the card, charges it, and starts the subscription.
func (g *Gateway) checkOut(b *account, n *session, card payment.Card, now time.Time) error {
	if b.live() != nil {
		return payment.ErrSubscriptionExists
	}
	m, err := g.newMethod(card, now)
	if err != nil {
		return err
	}
	if n.Tax && !taxable(b.Address) {
		return payment.ErrAddressInvalid
	}
	o := payment.Order{Plan: *n.Plan, Quantity: n.Quantity, AutomaticTax: n.Tax}
	s := b.newSubscription(n.Key, o, now)
	if m.Behaviour == declined || m.Behaviour == noFunds || (m.Behaviour == failsLater && n.TrialDays == 0) {
		b.emit("payment_intent.payment_failed", "payment_intent", "pi_"+name(string(b.ID), n.ID), now)
		code := string(m.Behaviour)
		if m.Behaviour == failsLater {
			code = string(declined)
		}
		return &payment.DeclinedError{DeclineCode: code}
	}
	if m.Behaviour == wantsBank { // the payer authenticates on the page
		m.Behaviour = bankIsAsked
	}
	m.ID = payment.MethodID("pm_" + name(n.ID, "card"))
	b.Methods, b.Default = append(b.Methods, m), m.ID
	b.emit("payment_method.attached", "payment_method", string(m.ID), now)
	if n.TrialDays > 0 {
		b.tryOut(s, n.TrialDays)
		b.add(s, now)
		b.bill(s, 0, true, now)
	} else {
		b.add(s, now)
		b.billPeriod(s, true, now)
	}
	n.Status = sessionComplete
	b.emit("checkout.session.completed", "checkout.session", n.ID, now)
	return nil
}

// EndAtPeriodEnd implements ports.SandboxPayer.
func (g *Gateway) EndAtPeriodEnd(ctx context.Context, l payment.SandboxLink, ends bool) (*payment.SandboxPage, error) {
	var page *payment.SandboxPage
	err := g.onPage(ctx, l, func(b *account, n *session, now time.Time) error {
		s := b.live()
		if !n.Portal || s == nil {
			return payment.ErrPageNotFound
		}
		if err := b.amend(s, payment.Amendment{CancelAtPeriodEnd: &ends}, now); err != nil {
			return err
		}
		page = g.page(b, n)
		return nil
	})
	return page, err
}
