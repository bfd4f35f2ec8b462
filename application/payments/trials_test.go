package payments_test

import (
	"context"
	"testing"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
)

// onTrial returns a service that sells a plan with a trial to a workspace with a card.
func onTrial(t *testing.T, rules billing.TrialRules, methods ...billing.MethodID) *mockedService {
	t.Helper()
	s := owned(t, "Acme", "Zoe+tag@Example.com")
	s.kept = customer(methods...)
	for i := range s.kept.Methods {
		s.kept.Methods[i].Fingerprint = "fp"
	}
	s.terms.Trials = rules
	s.terms.Plans = append(billing.Plans{{
		ID: "try", Price: billing.Money{Amount: 900,
			Currency: "usd"}, Interval: billing.Month, IntervalCount: 1, TrialDays: 14,
	}}, plans...)
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.gateway.MockGatewayCustomers.EXPECT().Wallet(any, any).AnyTimes().DoAndReturn(
		func(context.Context, billing.CustomerID) (billing.Wallet, error) {
			return billing.Wallet{Methods: s.kept.Methods, Default: s.kept.Default}, nil
		})
	s.gateway.MockGatewayCustomers.EXPECT().SetDefault(any, any, any, any).AnyTimes().Return(nil)
	return s
}

// expectClaim expects that a trial is claimed, by the digests of an address and a card, some of which are taken.
func (s *mockedService) expectClaim(t *testing.T, kinds string, taken ...billing.TrialMarkKind) {
	t.Helper()
	s.trials.EXPECT().Claim(any, owner, "sandbox", any).DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ string, marks []billing.TrialMark) (out []billing.TrialMark,
			err error) {
			got := ""
			for _, m := range marks {
				got += string(m.Kind) + " "
				if len(m.Digest) != 64 {
					t.Errorf("digest %q", m.Digest)
				}
				for _, k := range taken {
					if k == m.Kind {
						out = append(out, m)
					}
				}
			}
			if got != kinds {
				t.Errorf("claimed %q, want %q", got, kinds)
			}
			return out, nil
		})
}

// sells expects that the gateway is asked for a subscription with a trial of so many days.
func (s *mockedService) sells(t *testing.T, days int, err error) {
	t.Helper()
	s.gateway.MockGatewaySubscriptions.EXPECT().Subscribe(any, "k", billing.CustomerID("cus_1"), any).DoAndReturn(
		func(_ context.Context, _ string, _ billing.CustomerID, o billing.Order) (billing.GatewaySubscription, error) {
			if o.TrialDays != days {
				t.Errorf("a trial of %d days", o.TrialDays)
			}
			return held(billing.Active), err
		})
}

func TestTrialRules(t *testing.T) {
	both := billing.TrialRules{OncePerEmail: true, OncePerCard: true}
	request := billing.SubscribeRequest{Plan: "try", Quantity: 1}
	for name, tt := range map[string]struct {
		rules billing.TrialRules
		taken []billing.TrialMarkKind
		want  error
	}{
		"a trial that no one else has had begins": {rules: both},
		"without rules what is taken does not matter": {taken: []billing.TrialMarkKind{billing.EmailMark,
			billing.CardMark}},
		"an address has one trial": {billing.TrialRules{OncePerEmail: true},
			[]billing.TrialMarkKind{billing.EmailMark}, billing.ErrTrialUsed},
		"a card has one trial": {billing.TrialRules{OncePerCard: true},
			[]billing.TrialMarkKind{billing.CardMark}, billing.ErrTrialUsed},
		"a rule for cards does not count for addresses": {rules: billing.TrialRules{OncePerCard: true},
			taken: []billing.TrialMarkKind{billing.EmailMark}},
		"a rule for addresses does not count for cards": {rules: billing.TrialRules{OncePerEmail: true},
			taken: []billing.TrialMarkKind{billing.CardMark}},
		"a rule that requires a card is met by a card": {rules: billing.TrialRules{CardRequired: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := onTrial(t, tt.rules, "pm_1")
			s.expectClaim(t, "email card ", tt.taken...)
			if tt.want == nil {
				s.sells(t, 14, nil)
			}
			_, err := s.Subscribe(s.ctx, owner, "k", request)
			wantErr(t, err, tt.want)
		})
	}
	t.Run("a card is required", func(t *testing.T) {
		s := onTrial(t, billing.TrialRules{CardRequired: true})
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		wantErr(t, err, billing.ErrMethodRequired)
	})
	t.Run("without a card only the address is claimed", func(t *testing.T) {
		s := onTrial(t, both)
		s.expectClaim(t, "email ")
		s.sells(t, 14, nil)
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		wantErr(t, err, nil)
	})
	t.Run("without a trial nothing is claimed", func(t *testing.T) {
		for name, begin := range map[string]func(*mockedService, *billing.SubscribeRequest){
			"as the caller wants":         func(_ *mockedService, w *billing.SubscribeRequest) { w.NoTrial = true },
			"after the workspace's trial": func(s *mockedService, _ *billing.SubscribeRequest) { s.kept.HadTrial = true },
			"because the plan has none":   func(_ *mockedService, w *billing.SubscribeRequest) { w.Plan = "basic" },
		} {
			t.Run(name, func(t *testing.T) {
				s, w := onTrial(t, both, "pm_1"), request
				begin(s, &w)
				s.sells(t, 0, nil)
				_, err := s.Subscribe(s.ctx, owner, "k", w)
				wantErr(t, err, nil)
			})
		}
	})
	t.Run("a trial that the gateway refused is released", func(t *testing.T) {
		s := onTrial(t, both, "pm_1")
		s.expectClaim(t, "email card ")
		s.sells(t, 14, billing.ErrAddressInvalid)
		s.trials.EXPECT().Release(any, owner, "sandbox").Return(nil)
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		wantErr(t, err, billing.ErrAddressInvalid)
	})
	t.Run("a trial that began in the meantime keeps what it claimed", func(t *testing.T) {
		s := onTrial(t, both, "pm_1")
		s.expectClaim(t, "email card ")
		s.gateway.MockGatewaySubscriptions.EXPECT().Subscribe(any, "k", any, any).DoAndReturn(
			func(context.Context, string, billing.CustomerID, billing.Order) (billing.GatewaySubscription, error) {
				s.kept.Pending = &billing.Operation{Kind: billing.Subscribe, Key: "another", TrialDays: 14}
				return billing.GatewaySubscription{}, billing.ErrAddressInvalid
			})
		_, err := s.Subscribe(s.ctx, owner, "k", request)
		wantErr(t, err, billing.ErrAddressInvalid)
	})
}
