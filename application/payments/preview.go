package payments

import (
	"context"
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
)

// ChangePreview is what a change of the subscription would cost.
type ChangePreview struct {
	payment.Preview
	Plan      payment.PlanID
	Quantity  int
	AtRenewal bool   // the change waits until the period ends
	Signature string // the change can carry it, until ExpiresAt
	Gateway   payment.GatewayKind
}

// previewDigest is the purpose of the key that signs previews.
const previewDigest = "payment preview"

// PreviewChange returns what ChangeSubscription would cost now, and changes nothing. It returns the errors of
// ChangeSubscription. An invalid promotion code counts like a change's.
func (s *Service) PreviewChange(ctx context.Context, by identity.Actor, ch payment.Changes) (*ChangePreview, error) {
	t, err := s.termsForManager(by)
	if err != nil {
		return nil, err
	}
	c, err := s.payments.Customer(ctx, by.Workspace, t.Account)
	if errors.Is(err, payment.ErrNoCustomer) || (err == nil && c.ID == "") {
		return nil, payment.ErrNoSubscription
	}
	if err != nil {
		return nil, err
	}
	callCtx, cancel := outbound(ctx)
	defer cancel()
	if c, err = s.fresh(ctx, callCtx, by, t, c); err != nil {
		return nil, err
	}
	members, err := s.members(ctx, by, t)
	if err == nil {
		err = c.CheckSeats(ch, t.Plans, members)
	}
	if err != nil {
		return nil, err
	}
	if ch.AddOns, err = s.verifiedAddOns(callCtx, t, ch.AddOns); err != nil {
		return nil, err
	}
	plans, err := s.verifiedChange(callCtx, t, c, c.ChangedPlan(ch))
	if err != nil {
		return nil, err
	}
	if ch, err = s.changeWithPromotion(ctx, callCtx, by, t, c, ch); err != nil {
		return nil, err
	}
	op, err := c.PreviewChange(by, ch, plans)
	if err != nil {
		return nil, err
	}
	now, err := t.now(ctx, by, c)
	if err != nil {
		return nil, err
	}
	op.ProrateAt = now.Truncate(time.Second) // as exact as gateways are
	p, err := s.preview(callCtx, t, c, op, plans)
	if err != nil {
		return nil, err
	}
	out := &ChangePreview{
		Preview: *p, Plan: op.Plan, Quantity: op.Quantity, AtRenewal: op.AtRenewal, Gateway: t.Kind,
	}
	out.Signature, err = s.signOffer(by, c.NewOffer(op, *p))
	return out, err
}

// preview reads from the gateway what an operation costs.
func (s *Service) preview(
	callCtx context.Context, t Terms, c *payment.Customer, op *payment.Operation, plans payment.Plans,
) (*payment.Preview, error) {
	plan, err := op.Bought(plans)
	if err != nil {
		return nil, err
	}
	p, err := callWithRetry(callCtx, func(ctx context.Context) (payment.Preview, error) {
		return t.Gateway.Preview(ctx, c.ID, op.Subscription, op.Amendment(*plan))
	})
	p.At, p.Metered = op.ProrateAt, plan.Metered != nil || t.Plans.MeterOf(c.Subscription) != nil
	return &p, err
}

// checkOffer returns payment.ErrPreviewOutdated unless a change's offer is valid, and the change still costs what it
// says.
func (s *Service) checkOffer(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer, ch payment.Changes,
	plans payment.Plans,
) error {
	now, err := t.now(ctx, by, c)
	if err != nil {
		return err
	}
	if err := ch.Offer.Valid(now); err != nil {
		return err
	}
	op, err := c.PreviewChange(by, ch, plans)
	if err == nil {
		err = ch.Offer.Check(c, op)
	}
	if err != nil {
		return err
	}
	op.ProrateAt = ch.Offer.Preview.At
	p, err := s.preview(callCtx, t, c, op, plans)
	if err != nil {
		return err
	}
	return ch.Offer.Costs(p)
}

func (s *Service) signOffer(by identity.Actor, o *payment.Offer) (string, error) {
	text, err := o.Bytes()
	if err != nil {
		return "", err
	}
	sum := s.deps.Digester.Digest(previewDigest, []byte(by.Org), text)
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func (s *Service) openOffer(by identity.Actor, t Terms, signature string) (*payment.Offer, error) {
	payload, sum, _ := strings.Cut(signature, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	mac, failure := base64.RawURLEncoding.DecodeString(sum)
	want := s.deps.Digester.Digest(previewDigest, []byte(by.Org), text)
	if err != nil || failure != nil || !hmac.Equal(mac, want[:]) {
		return nil, payment.ErrPreviewNotFound
	}
	return payment.ParseOffer(by, t.Account, text)
}
