package payments_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// expectPreviews expects previews of an upgrade, which cost some amount.
func (s *mockedService) expectPreviews(t *testing.T, times int, amount int64, err error) {
	t.Helper()
	id := payment.SubscriptionID("sub_1")
	s.previews.Preview(any, payment.CustomerID("cus_1"), id, any).Times(times).DoAndReturn(
		func(_ context.Context, _ payment.CustomerID, _ payment.SubscriptionID,
			a payment.Amendment) (payment.Preview, error) {
			assert.That(t, a.Plan.ID == "pro" && a.Resell && !a.AtRenewal && a.ProrateAt.Equal(now), "%+v", a)
			return payment.Preview{Today: payment.Money{Amount: amount, Currency: "usd"}, NextAt: now.AddDate(0, 1, 0)},
				err
		})
}

func (s *mockedService) changeAsPreviewed(
	by identity.Actor, key string, match revision.Match, ch payment.Changes, signature string,
) (*payments.View, error) {
	ch.Preview = signature
	return s.ChangeSubscription(s.ctx, by, key, match, ch)
}

func TestAChangeAsPreviewed(t *testing.T) {
	dear := payment.PlanID("pro")
	change := payment.Changes{Plan: &dear}
	laterActor := owner
	laterActor.At = now.Add(5 * time.Minute)
	previewedService := func(t *testing.T) (*mockedService, string) {
		t.Helper()
		s := mockedWith(t, subscribed("pm_1"))
		s.expectPreviews(t, 1, 2000, nil)
		p, err := s.PreviewChange(s.ctx, owner, change)
		require.NoError(t, err)
		require.That(t, p.Today.Amount == 2000 && p.Plan == "pro" && !p.AtRenewal && s.kept.Pending == nil &&
			p.ExpiresAt().Equal(now.Add(15*time.Minute)), "%+v", p)
		s.kept.SubscriptionAt = now.Add(time.Hour) // no change reads it again
		return s, p.Signature
	}

	t.Run("is made for the time of the preview", func(t *testing.T) {
		s, signature := previewedService(t)
		s.expectPreviews(t, 1, 2000, nil)
		h := held(payment.Active)
		h.Plan = "pro"
		s.subscriptions.Amend(any, "k", payment.CustomerID("cus_1"), h.ID, any).DoAndReturn(
			func(_ context.Context, _ string, _ payment.CustomerID, _ payment.SubscriptionID,
				a payment.Amendment) (payment.GatewaySubscription, error) {
				assert.That(t, a.ProrateAt.Equal(now), "%+v", a)
				return h, nil
			})
		v, err := s.changeAsPreviewed(laterActor, "k", nil, change, signature)
		require.NoError(t, err)
		assert.That(t, v.Plan == "pro", "%+v", v)
	})
	t.Run("is resumed under its key when the gateway did not answer", func(t *testing.T) {
		s, signature := previewedService(t)
		s.expectPreviews(t, 1, 2000, nil)
		h := held(payment.Active)
		h.Plan = "pro"
		amend := s.subscriptions.Amend
		lost := amend(any, "k", any, any, any).Times(3).Return(payment.GatewaySubscription{}, payment.ErrGatewayTimeout)
		amend(any, "k", any, any, any).After(lost).Return(h, nil)
		_, err := s.changeAsPreviewed(laterActor, "k", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		_, err = s.changeAsPreviewed(laterActor, "another", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrPending)
		s.has(h)
		v, err := s.changeAsPreviewed(laterActor, "k", nil, change, signature)
		require.NoError(t, err)
		assert.That(t, v.Plan == "pro", "%+v", v)
	})
	t.Run("is refused at another price", func(t *testing.T) {
		s, signature := previewedService(t)
		s.expectPreviews(t, 1, 2001, nil)
		_, err := s.changeAsPreviewed(laterActor, "k", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrPreviewOutdated)
		assert.That(t, s.kept.Pending == nil, "%+v", s.kept.Pending)
	})
	t.Run("is refused while the gateway does not say the price", func(t *testing.T) {
		s, signature := previewedService(t)
		s.expectPreviews(t, 1, 0, &payment.Rejection{Reason: "down"})
		_, err := s.changeAsPreviewed(laterActor, "k", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrGateway)
	})
	t.Run("is refused when the preview has expired", func(t *testing.T) {
		s, signature := previewedService(t)
		late := owner
		late.At = now.Add(15 * time.Minute)
		_, err := s.changeAsPreviewed(late, "k", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrPreviewOutdated)
	})
	t.Run("is not found with another signature, org or workspace", func(t *testing.T) {
		s, signature := previewedService(t)
		text, sum, _ := strings.Cut(signature, ".")
		for _, value := range []string{".", text, text + ".", text + "." + sum[1:], "e30." + sum, "e30" + signature} {
			_, err := s.changeAsPreviewed(laterActor, "k", nil, change, value)
			require.ErrorIs(t, err, payment.ErrPreviewNotFound)
		}
		elsewhere := laterActor
		elsewhere.Workspace = "other"
		_, err := s.changeAsPreviewed(elsewhere, "k", nil, change, signature)
		require.ErrorIs(t, err, payment.ErrPreviewNotFound)
	})
	t.Run("requires a manager and a subscription", func(t *testing.T) {
		s := newMocked(t)
		_, err := s.PreviewChange(s.ctx, member, change)
		require.ErrorIs(t, err, payment.ErrRoleRequired)
		_, err = s.PreviewChange(s.ctx, owner, change)
		require.ErrorIs(t, err, payment.ErrNoSubscription)
		s.kept = customer("pm_1")
		_, err = s.PreviewChange(s.ctx, owner, change)
		require.ErrorIs(t, err, payment.ErrNoSubscription)
	})
}
