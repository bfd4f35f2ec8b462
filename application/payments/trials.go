package payments

import (
	"context"
	"encoding/hex"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// beginSubscribe starts a Subscribe's operation. If it begins a trial, it claims the marks of the trial, or returns
// payment.ErrTrialUsed and stores nothing. Trials are claimed without rules, too, so that rules that are configured
// later apply to them.
func (s *Service) beginSubscribe(
	ctx context.Context, by identity.Actor, t Terms, key string, subscribe func(*payment.Customer) error,
) (c *payment.Customer, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		if c, err = tx.Payments.Update(ctx, by, t.Account, subscribe); err != nil {
			return err
		}
		if c.BeginsTrial(key) {
			if err := s.claimTrial(ctx, tx, by, t, c); err != nil {
				return err
			}
		}
		return watch(ctx, tx.Jobs, by, c)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// claimTrial claims a trial's marks: the mailboxes of the owners, and the card of the operation in progress.
// payment.ErrTrialUsed.
func (s *Service) claimTrial(
	ctx context.Context, tx ports.Stores, by identity.Actor, t Terms, c *payment.Customer,
) error {
	owners, err := ownersAddresses(ctx, tx.Workspaces, by)
	if err != nil {
		return err
	}
	var marks []payment.TrialMark
	for _, email := range owners {
		marks = append(marks, s.trialMark(c, payment.EmailMark, account.Mailbox(email)))
	}
	if f := c.Fingerprint(); f != "" {
		marks = append(marks, s.trialMark(c, payment.CardMark, f))
	}
	claims, err := tx.Trials.Claim(ctx, by, t.Account, marks)
	if err != nil {
		return err
	}
	return t.Trials.CheckMarks(by, claims)
}

func (s *Service) trialMark(c *payment.Customer, kind payment.TrialMarkKind, text string) payment.TrialMark {
	sum := s.deps.Digester.Digest("trial "+string(kind), []byte(c.Org), []byte(text))
	return payment.TrialMark{Kind: kind, Digest: hex.EncodeToString(sum[:])}
}

// examineTrial claims the card after a payer has begun a trial on a checkout page, where the card is known only when
// the subscription exists. If the rules give the card no trial, the subscription ends: nothing was paid, and the payer
// has not agreed to pay now.
func (s *Service) examineTrial(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error) {
	if !c.OnCheckoutTrial() {
		return c, nil
	}
	key, id := c.CheckoutTrial, c.Subscription.ID
	card, err := s.cardOf(callCtx, t, c)
	if err != nil {
		return nil, err
	}
	isRefused := false
	if card != "" {
		marks, err := s.trials.Claim(ctx, mirrorActor(by), t.Account,
			[]payment.TrialMark{s.trialMark(c, payment.CardMark, card)})
		if err != nil {
			return nil, err
		}
		isRefused = t.Trials.Refused(marks) != ""
	}
	if isRefused {
		err := call(callCtx, func(ctx context.Context) error {
			return t.Gateway.Cancel(ctx, key+"_refused", c.ID, id, payment.Cancellation{})
		})
		if err != nil {
			return nil, err
		}
	}
	return s.payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
		c.EndCheckoutTrial(mirrorActor(by), key, isRefused)
		return nil
	})
}

// cardOf returns the fingerprint of the method that is charged for the subscription; "" if it is unknown.
func (s *Service) cardOf(callCtx context.Context, t Terms, c *payment.Customer) (string, error) {
	subscriptions, err := callWithRetry(callCtx, func(ctx context.Context) ([]payment.GatewaySubscription, error) {
		return t.Gateway.Subscriptions(ctx, c.ID)
	})
	if err != nil {
		return "", err
	}
	w, err := callWithRetry(callCtx,
		func(ctx context.Context) (payment.Wallet, error) { return t.Gateway.Wallet(ctx, c.ID) })
	if err != nil {
		return "", err
	}
	method := w.Default
	for _, h := range subscriptions {
		if h.ID == c.Subscription.ID && h.Method != "" {
			method = h.Method
		}
	}
	for _, m := range w.Methods {
		if m.ID == method {
			return m.Fingerprint, nil
		}
	}
	return "", nil
}

// releaseTrial releases the marks if no payer has begun the trial on its checkout page.
func (s *Service) releaseTrial(ctx context.Context, by identity.Actor, t Terms, c *payment.Customer) error {
	now, err := t.now(ctx, by, c)
	if err != nil || !c.LapsedCheckoutTrial(now) {
		return err
	}
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		hasLapsed := false
		if _, err := tx.Payments.Update(ctx, mirrorActor(by), t.Account, func(c *payment.Customer) error {
			hasLapsed = c.LapsedCheckoutTrial(now)
			c.EndCheckoutTrial(mirrorActor(by), c.CheckoutTrial, false)
			return nil
		}); err != nil || !hasLapsed {
			return err
		}
		return tx.Trials.Release(ctx, by, t.Account)
	})
}

// loadFingerprints reads the payment methods again if a trial may depend on their fingerprints, which the mirror may
// not have.
func (s *Service) loadFingerprints(
	ctx, callCtx context.Context, by identity.Actor, t Terms, c *payment.Customer,
) (*payment.Customer, error) {
	if !t.Trials.OncePerCard || c.HadTrial || c.Pending != nil {
		return c, nil
	}
	r, err := s.refresh(ctx, callCtx, by, t, c, wallet)
	return r.customer, err
}
