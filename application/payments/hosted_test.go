package payments_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const app = "https://app.example.com"

func newHostedService(t *testing.T) *mockedService {
	t.Helper()
	s := newMocked(t)
	s.terms.Returns = payment.ReturnPolicy{Origins: []string{app}}
	s.kept = customer()
	return s
}

var order = payments.CheckoutRequest{Plan: "basic", Quantity: 2, SuccessURL: app + "/yes", CancelURL: app + "/no"}

func TestACheckoutEndsTheOneBefore(t *testing.T) {
	s := newHostedService(t)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.pages.Checkout(any, any, payment.CustomerID("cus_1"), any).Times(2).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, o payment.CheckoutOrder) (string, error) {
			assert.That(t, !s.kept.CheckoutUntil.IsZero(), "the gateway is called before the checkout is stored")
			assert.That(t, o.Plan.ID == "basic" && o.Quantity == 2 && o.SuccessURL == app+"/yes" &&
				o.CancelURL == app+"/no", "%+v", o)
			return "https://checkout.example.com/1", nil
		})
	p, err := s.Checkout(s.ctx, owner, order)
	require.NoError(t, err)
	assert.That(t, p.URL == "https://checkout.example.com/1", "%+v", p)
	s.pages.EndCheckouts(any, payment.CustomerID("cus_1")).Return(nil)
	_, err = s.Checkout(s.ctx, owner, order)
	require.NoError(t, err)

	t.Run("and so does a purchase, or it is refused", func(t *testing.T) {
		s.kept.Methods, s.kept.Default = []payment.Method{method("pm_1")}, "pm_1"
		s.pages.EndCheckouts(any, any).Return(&payment.Rejection{Reason: "down"})
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrGateway)
		begins := func(context.Context, payment.CustomerID) error { // another checkout
			s.kept.CheckoutUntil = s.kept.CheckoutUntil.Add(time.Second)
			return nil
		}
		s.pages.EndCheckouts(any, any).DoAndReturn(begins)
		_, err = s.Subscribe(s.ctx, owner, "k", wanted)
		require.ErrorIs(t, err, payment.ErrPending)
		s.pages.EndCheckouts(any, any).Return(nil)
		s.expectSubscribe(t, 1, held(payment.Active), nil)
		_, err = s.Subscribe(s.ctx, owner, "k", wanted)
		require.NoError(t, err)
	})
	t.Run("an old page need not be ended", func(t *testing.T) {
		s.kept = customer("pm_1")
		s.kept.CheckoutUntil = now
		s.expectSubscribe(t, 1, held(payment.Active), nil)
		_, err := s.Subscribe(s.ctx, owner, "k", wanted)
		require.NoError(t, err)
	})
}

func TestACheckoutAsksForWhatTheCallerWants(t *testing.T) {
	s := newHostedService(t)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	var checkout payment.CheckoutOrder
	s.pages.Checkout(any, any, any, any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, o payment.CheckoutOrder) (string, error) {
			checkout = o
			return "https://checkout.example.com", nil
		})
	request := order
	request.CheckoutPage = payment.CheckoutPage{
		PromotionCodes: true, Address: true, TaxIDs: true, IsMethodOptional: true, Locale: "de",
	}
	_, err := s.Checkout(s.ctx, owner, request)
	require.NoError(t, err)
	assert.That(t, checkout.CheckoutPage == request.CheckoutPage, "%+v", checkout)
}

func TestACheckoutIsRefused(t *testing.T) {
	s := newHostedService(t)
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
	_, err := s.Checkout(s.ctx, owner, order)
	require.ErrorIs(t, err, payment.ErrSubscriptionExists)
	other := order
	other.CancelURL = "https://evil.example.com"
	_, err = s.Checkout(s.ctx, owner, other)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

func TestACheckoutSellsEitherAPlanOrCreditPacks(t *testing.T) {
	yes := true
	for name, tt := range map[string]struct {
		set      func(w *payments.CheckoutRequest)
		pointers []string
	}{
		"neither": {func(w *payments.CheckoutRequest) { w.Plan = "" }, []string{"/plan_id"}},
		"both":    {func(w *payments.CheckoutRequest) { w.Pack = "pack" }, []string{"/plan_id"}},
		"credit packs with all that only plans have": {func(w *payments.CheckoutRequest) {
			w.Plan, w.Pack, w.Currency, w.Trial, w.IsMethodOptional = "", "pack", "eur", &yes, true
			w.AddOns = []payment.AddOnOrder{{ID: "extra", Quantity: 1}}
		}, []string{"/currency", "/add_ons", "/trial", "/payment_method_optional"}},
		"too many credit packs": {func(w *payments.CheckoutRequest) {
			w.Plan, w.Pack, w.Quantity = "", "pack", payment.MaxPacks+1
		}, []string{"/quantity"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, request := newHostedService(t), order
			tt.set(&request)
			_, err := s.Checkout(s.ctx, owner, request)
			failure, isRefused := errors.AsType[*fault.Error](err)
			require.That(t, isRefused && errors.Is(err, fault.ErrInvalid), "%v", err)
			var pointers []string
			for _, f := range failure.Fields {
				pointers = append(pointers, f.Pointer)
			}
			assert.Equal(t, "the refused fields", fmt.Sprint(pointers), fmt.Sprint(tt.pointers))
		})
	}
	s := selling(t)
	s.terms.Returns = payment.ReturnPolicy{Origins: []string{app}}
	s.pages.Checkout(any, any, any, any).DoAndReturn(
		func(_ context.Context, _ string, _ payment.CustomerID, o payment.CheckoutOrder) (string, error) {
			assert.That(t, o.Plan.ID == "pack" && o.Quantity == payment.MaxPacks, "%+v", o)
			return "https://checkout.example.com", nil
		})
	_, err := s.Checkout(s.ctx, owner, payments.CheckoutRequest{Pack: "pack", Quantity: payment.MaxPacks,
		SuccessURL: app + "/yes", CancelURL: app + "/no"})
	require.NoError(t, err)
}

func TestThePortal(t *testing.T) {
	s := newHostedService(t)
	s.pages.Portal(any, payment.CustomerID("cus_1"), app+"/back").Return("https://p.example.com", nil)
	p, err := s.Portal(s.ctx, owner, app+"/back")
	require.NoError(t, err)
	assert.That(t, p.URL == "https://p.example.com", "%+v", p)
	_, err = s.Portal(s.ctx, owner, "https://evil.example.com")
	require.ErrorIs(t, err, fault.ErrInvalid)
	_, err = s.Portal(s.ctx, member, app)
	require.ErrorIs(t, err, payment.ErrRoleRequired)
}

func TestPagesOfTheSandboxNeedASandbox(t *testing.T) {
	s := newMocked(t)
	link := payment.SandboxLink{Customer: "cus_1", Secret: secret.New("s")}
	page := &payment.SandboxPage{}
	s.payer.EXPECT().Page(any, any).Return(page, nil)
	s.payer.EXPECT().Complete(any, any, any).Return(page, nil)
	s.payer.EXPECT().EndAtPeriodEnd(any, any, true).Return(page, nil)
	for i := range 2 {
		for name, visit := range map[string]func() (*payment.SandboxPage, error){
			"page": func() (*payment.SandboxPage, error) { return s.SandboxPage(s.ctx, "org", link) },
			"checkout": func() (*payment.SandboxPage, error) {
				return s.CompleteCheckout(s.ctx, "org", link, payment.Card{})
			},
			"portal": func() (*payment.SandboxPage, error) { return s.EndFromPortal(s.ctx, "org", link, true) },
		} {
			p, err := visit()
			if want := []error{nil, payment.ErrPageNotFound}[i]; want == nil && (err != nil || p != page) {
				t.Errorf("%s: %v", name, err)
			} else if want != nil {
				require.ErrorIs(t, err, want)
			}
		}
		s.terms.Payer = nil
	}
}

// opens lets the gateway create checkout pages as Stripe does: a repeated key returns the page of the first call, even
// if that page has ended.
func (s *mockedService) opens(err error) (open func(url string) bool) {
	pages, endedTexts := map[string]string{}, map[string]bool{}
	s.subscriptions.Subscriptions(any, any).AnyTimes().Return(nil, nil)
	s.pages.Checkout(any, any, any, any).AnyTimes().DoAndReturn(
		func(_ context.Context, key string, _ payment.CustomerID, _ payment.CheckoutOrder) (string, error) {
			if pages[key] == "" {
				pages[key] = "https://checkout.example.com/" + key
			}
			return pages[key], err
		})
	s.pages.EndCheckouts(any, any).AnyTimes().DoAndReturn(
		func(context.Context, payment.CustomerID) error {
			for _, url := range pages {
				endedTexts[url] = true
			}
			err = nil
			return nil
		})
	return func(url string) bool { return url != "" && !endedTexts[url] }
}

func TestACheckoutThatIsRepeatedAfterATimeoutReturnsAnOpenPage(t *testing.T) {
	s := newHostedService(t)
	open := s.opens(payment.ErrGatewayTimeout)
	_, err := s.Checkout(s.ctx, owner, order)
	require.ErrorIs(t, err, payment.ErrGatewayTimeout)
	p, err := s.Checkout(s.ctx, owner, order)
	require.NoError(t, err)
	assert.That(t, open(p.URL), "%q has ended", p.URL)
}

func TestAPurchaseGetsANewCustomerIfTheCheckoutsBelongToADeletedOne(t *testing.T) {
	s := owned(t, "Acme", "zoe@example.com")
	s.terms.Returns = payment.ReturnPolicy{Origins: []string{app}}
	s.terms.Trials = payment.TrialRules{OncePerCard: true}
	lost := func() {
		s.kept = customer("pm_1")
		s.kept.CheckoutUntil = now.Add(time.Hour)
		s.pages.EndCheckouts(any, payment.CustomerID("cus_1")).Return(&payment.Rejection{Reason: "resource_missing"})
		s.subscriptions.Subscriptions(any, payment.CustomerID("cus_1")).Return(nil, payment.ErrCustomerGone)
		s.customers.CreateCustomer(any, any, any).Return(payment.CustomerID("cus_2"), nil)
	}
	lost()
	s.customers.Wallet(any, payment.CustomerID("cus_2")).AnyTimes().Return(payment.Wallet{}, nil)
	_, err := s.Subscribe(s.ctx, owner, "k", wanted)
	require.ErrorIs(t, err, payment.ErrMethodRequired)
	lost()
	s.pages.Checkout(any, any, payment.CustomerID("cus_2"), any).Return(app, nil)
	_, err = s.Checkout(s.ctx, owner, order)
	require.NoError(t, err)
}
