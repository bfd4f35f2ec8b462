package payment

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Errors of changes with a preview.
var (
	ErrPreviewNotFound = &fault.Error{
		Kind: fault.NotFound, Code: "preview_not_found",
		Detail: "The workspace has no such preview of a change.",
	}
	ErrPreviewOutdated = &fault.Error{
		Kind: fault.Conflict, Code: "preview_outdated",
		Detail: "The change is not the one of the preview, or would not cost the same any more. Get another preview.",
	}
)

// previewValid is a preview's lifetime.
const previewValid = 15 * time.Minute

// Preview is what a change of the subscription costs, as the gateway computes it.
type Preview struct {
	At     time.Time `json:"at"`      // the time for which the usage and the rest of the period are computed
	Today  Money     `json:"today"`   // charged at once, without what the credit covers
	Next   Money     `json:"next"`    // charged when the next period begins, likewise
	NextAt time.Time `json:"next_at"` // when the next period begins; zero if the subscription ends before
	Credit Money     `json:"credit"`  // of the customer after the change, before the next period

	// Metered reports that Next includes what was used so far, which changes with each report.
	Metered bool `json:"metered,omitempty"`
}

// ExpiresAt returns the time from which p can no longer be used for a change.
func (p *Preview) ExpiresAt() time.Time { return p.At.Add(previewValid) }

// costs reports whether p and q cost the same. A new period begins when the change is made, so that its end is not
// compared.
func (p *Preview) costs(q *Preview) bool {
	return p.Today == q.Today && (p.Next == q.Next || p.Metered) && p.Credit == q.Credit &&
		p.NextAt.IsZero() == q.NextAt.IsZero()
}

// Offer is a Preview together with everything that it depends on. A change with it is made at its price, or not at all.
type Offer struct {
	Workspace identity.WorkspaceID `json:"workspace"`
	Account   string               `json:"account"`
	State     string               `json:"state"`  // of the subscription
	Change    string               `json:"change"` // that is offered
	Preview   Preview              `json:"preview"`
}

// NewOffer returns the offer for an operation that PreviewChange has returned.
func (c *Customer) NewOffer(op *Operation, p Preview) *Offer {
	return &Offer{
		Workspace: c.Workspace, Account: c.Account, State: c.Subscription.state(), Change: op.change(), Preview: p,
	}
}

// Bytes returns o as it is signed.
func (o *Offer) Bytes() ([]byte, error) { return json.Marshal(o) }

// ParseOffer is the inverse of Bytes, for a text with a valid signature. ErrPreviewNotFound if the offer is not for
// by's workspace.
func ParseOffer(by identity.Actor, account string, text []byte) (*Offer, error) {
	o := new(Offer)
	if json.Unmarshal(text, o) != nil || o.Workspace != by.Workspace || o.Account != account {
		return nil, ErrPreviewNotFound
	}
	return o, nil
}

// Valid returns ErrPreviewOutdated if o has expired at now, the time at the gateway.
func (o *Offer) Valid(now time.Time) error {
	if !now.Before(o.Preview.ExpiresAt()) || now.Before(o.Preview.At) {
		return ErrPreviewOutdated
	}
	return nil
}

// Check returns ErrPreviewOutdated unless an operation is what o offers.
func (o *Offer) Check(c *Customer, op *Operation) error {
	if c.Subscription == nil || o.State != c.Subscription.state() || o.Change != op.change() {
		return ErrPreviewOutdated
	}
	return nil
}

// Costs returns ErrPreviewOutdated unless the change costs at the gateway what o says.
func (o *Offer) Costs(current *Preview) error {
	if !o.Preview.costs(current) {
		return ErrPreviewOutdated
	}
	return nil
}

// state returns what a change's price depends on.
func (s *Subscription) state() string {
	text := fmt.Sprintf("%s %q %q %d %s %d %d", s.ID, s.Plan, s.Item.Rate.Ref, s.Quantity, s.Status,
		s.PeriodEnd.Unix(), s.EndsAt.Unix())
	if s.Paused {
		text += " paused"
	}
	for _, i := range s.Items {
		text += fmt.Sprintf(" %q %d", i.Rate.Ref, i.Quantity)
	}
	if p := s.Pending; p != nil {
		text += fmt.Sprintf(" %q %d %d", p.Plan, p.Quantity, p.At.Unix())
	}
	return text
}

// change returns what an operation changes, as a text.
func (o *Operation) change() string {
	text := fmt.Sprintf("%q %d %t %t", o.Plan, o.Quantity, o.Resell, o.AtRenewal)
	if o.Sold != nil {
		text += fmt.Sprintf(" %q %d%s", o.Sold.PriceRef, o.Sold.Price.Amount, o.Sold.Price.Currency)
	}
	if o.Promotion != nil {
		text += fmt.Sprintf(" %q", o.Promotion.ID)
	}
	if o.EndTrial {
		text += " without trial"
	}
	for _, i := range o.AddOns {
		text += fmt.Sprintf(" %q %d", i.Ref, i.Quantity)
	}
	if o.CancelAtPeriodEnd != nil {
		text += fmt.Sprintf(" %t", *o.CancelAtPeriodEnd)
	}
	return text
}

// PreviewChange returns the operation that ChangeSubscription would start, with the same errors, and changes nothing.
func (c *Customer) PreviewChange(by identity.Actor, ch Changes, plans Plans) (*Operation, error) {
	if err := c.allow(by); err != nil {
		return nil, err
	}
	if c.Pending != nil {
		return nil, ErrPending.WithRetryAfter(c.Pending.wait(by.At))
	}
	op, err := c.planChange(by, "", nil, ch, plans)
	if err == nil && op == nil {
		s := c.Subscription
		op = &Operation{Kind: Change, At: by.At, Subscription: s.ID, Item: s.Item.ID, Plan: s.Plan,
			Quantity: s.Quantity}
	}
	return op, err
}
