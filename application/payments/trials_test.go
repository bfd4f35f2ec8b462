package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// onTrial returns a service that sells a plan with a trial to a workspace with a card.
func onTrial(t *testing.T, rules payment.TrialRules, methods ...payment.MethodID) *mockedService {
	t.Helper()
	s := owned(t, "Acme", "Zoe+tag@Example.com")
	s.kept = customer(methods...)
	for i := range s.kept.Methods {
		s.kept.Methods[i].Fingerprint = "fp"
	}
	s.terms.Trials = rules
	s.terms.Plans = append(payment.Plans{{
		ID: "try", Price: payment.Money{Amount: 900,
			Currency: "usd"}, Interval: payment.Month, IntervalCount: 1, TrialDays: 14,
	}}, plans...)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.customers.Wallet(any, any).AnyTimes().DoAndReturn(
		func(context.Context, payment.CustomerID) (payment.Wallet, error) {
			return payment.Wallet{Methods: s.kept.Methods, Default: s.kept.Default}, nil
		})
	s.customers.SetDefault(any, any, any, any).AnyTimes().Return(nil)
	return s
}

// expectClaim expects that a trial is claimed, by the digests of an address and a card, some of which are taken.
func (s *mockedService) expectClaim(t *testing.T, kinds string, batch ...payment.TrialMarkKind) {
	t.Helper()
	s.trials.EXPECT().Claim(any, owner, "sandbox", any).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ string, marks []payment.TrialMark) (out []payment.TrialMark,
			err error) {
			got := ""
			for _, m := range marks {
				got += string(m.Kind) + " "
				assert.That(t, len(m.Digest) == 64, "digest %q", m.Digest)
				for _, k := range batch {
					if k == m.Kind {
						out = append(out, m)
					}
				}
			}
			assert.Equal(t, "claimed", got, kinds)
			return out, nil
		})
}

// sells expects that the gateway is asked for a subscription with a trial of so many days.
func (s *mockedService) sells(t *testing.T, days int, err error) {
	t.Helper()
	s.subscriptions.Subscribe(any, "k", payment.CustomerID("cus_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, o payment.Order) (payment.GatewaySubscription, error) {
			assert.Equal(t, "days of the trial", o.TrialDays, days)
			return held(payment.Active), err
		})
}

func TestTrialRules(t *testing.T) {
	pair := payment.TrialRules{OncePerEmail: true, OncePerCard: true}
	request := payment.SubscribeRequest{Plan: "try", Quantity: 1}
	for name, tt := range map[string]struct {
		rules payment.TrialRules
		taken []payment.TrialMarkKind
		want  error
	}{
		"a trial that no one else has had begins": {rules: pair},
		"without rules what is taken does not matter": {taken: []payment.TrialMarkKind{payment.EmailMark,
			payment.CardMark}},
		"an address has one trial": {payment.TrialRules{OncePerEmail: true},
			[]payment.TrialMarkKind{payment.EmailMark}, payment.ErrTrialUsed},
		"a card has one trial": {payment.TrialRules{OncePerCard: true},
			[]payment.TrialMarkKind{payment.CardMark}, payment.ErrTrialUsed},
		"a rule for cards does not count for addresses": {rules: payment.TrialRules{OncePerCard: true},
			taken: []payment.TrialMarkKind{payment.EmailMark}},
		"a rule for addresses does not count for cards": {rules: payment.TrialRules{OncePerEmail: true},
			taken: []payment.TrialMarkKind{payment.CardMark}},
		"a rule that requires a card is met by a card": {rules: payment.TrialRules{CardRequired: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := onTrial(t, tt.rules, "pm_1")
			s.expectClaim(t, "email card ", tt.taken...)
			if tt.want == nil {
				s.sells(t, 14, nil)
			}
			_, err := s.Subscribe(s.ctx, owner, "k", request)
			require.ErrorIs(t, err, tt.want)
		})
	}
	t.Run("a card is required", func(t *testing.T) {
		s := onTrial(t, payment.TrialRules{CardRequired: true})
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		require.ErrorIs(t, err, payment.ErrMethodRequired)
	})
	t.Run("without a card only the address is claimed", func(t *testing.T) {
		s := onTrial(t, pair)
		s.expectClaim(t, "email ")
		s.sells(t, 14, nil)
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		require.NoError(t, err)
	})
	t.Run("without a trial nothing is claimed", func(t *testing.T) {
		for name, begin := range map[string]func(*mockedService, *payment.SubscribeRequest){
			"as the caller wants":         func(_ *mockedService, w *payment.SubscribeRequest) { w.NoTrial = true },
			"after the workspace's trial": func(s *mockedService, _ *payment.SubscribeRequest) { s.kept.HadTrial = true },
			"because the plan has none":   func(_ *mockedService, w *payment.SubscribeRequest) { w.Plan = "basic" },
		} {
			t.Run(name, func(t *testing.T) {
				s, w := onTrial(t, pair, "pm_1"), request
				begin(s, &w)
				s.sells(t, 0, nil)
				_, err := s.Subscribe(s.ctx, owner, "k", w)
				require.NoError(t, err)
			})
		}
	})
	t.Run("a trial that the gateway refused is released", func(t *testing.T) {
		s := onTrial(t, pair, "pm_1")
		s.expectClaim(t, "email card ")
		s.sells(t, 14, payment.ErrAddressInvalid)
		s.trials.EXPECT().Release(any, owner, "sandbox").Return(nil)
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		require.ErrorIs(t, err, payment.ErrAddressInvalid)
	})
	t.Run("a trial that began in the meantime keeps what it claimed", func(t *testing.T) {
		s := onTrial(t, pair, "pm_1")
		s.expectClaim(t, "email card ")
		s.subscriptions.Subscribe(any, "k", any, any).DoAndReturn(
			func(context.Context, string, payment.CustomerID, payment.Order) (payment.GatewaySubscription, error) {
				s.kept.Pending = &payment.Operation{Kind: payment.Subscribe, Key: "another", TrialDays: 14}
				return payment.GatewaySubscription{}, payment.ErrAddressInvalid
			})
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		require.ErrorIs(t, err, payment.ErrAddressInvalid)
	})
}
