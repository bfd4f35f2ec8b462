package payments_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

var any = gomock.Any()

func TestTheCustomerIsReservedBeforeTheGatewayHearsOfIt(t *testing.T) {
	s := newMocked(t)
	s.workspaces.EXPECT().Find(any, identity.OrgID("org"), "acme").Return(&account.Workspace{Name: "Acme"}, nil)
	s.workspaces.EXPECT().Members(any, identity.OrgID("org"), identity.WorkspaceID("acme"),
		any).Return(account.MemberPage{Items: []account.Member{
		{User: "abe", Role: identity.Owner, Email: "abe@example.com"},
		{User: "ann", Role: identity.Owner, Email: "ann@example.com"},
	}}, nil)
	s.payments.EXPECT().Reserve(any, owner, any).DoAndReturn(func(_ context.Context, _ identity.Actor,
		c *payment.Customer) (*payment.Customer, error) {
		assert.That(t, c.Details.Matches(&payment.Details{Name: "Acme", Email: "ann@example.com"}) && c.Key != "",
			"%+v", c)
		c.Key = "somebody else's" // a concurrent call was first
		s.kept = c
		return copied(c), nil
	})
	s.customers.CreateCustomer(any, "somebody else's",
		payment.Details{Name: "Acme", Email: "ann@example.com", Workspace: "acme"}).DoAndReturn(
		func(context.Context, string, payment.Details) (payment.CustomerID, error) {
			_, isWatched := s.queued[payment.ReconcileJob]
			assert.That(t, isWatched, "no job would find out the outcome")
			return "cus_1", nil
		})
	s.customers.CreateSetupIntent(any, "k", payment.CustomerID("cus_1"),
		payment.OffSession).Return(payment.SetupIntent{ID: "seti_1", ClientSecret: secret.New("s")}, nil)
	i, err := s.SetupIntent(s.ctx, owner, "k", payment.OffSession)
	require.NoError(t, err)
	assert.That(t, i.ID == "seti_1" && i.Gateway == payment.Sandbox && s.kept.ID == "cus_1" && len(s.queued) == 1 &&
		s.queued[payment.AuditJob].Subject == "cus_1", "%+v, %+v, %+v", i, s.kept, s.queued)
}

func TestNothingIsAskedForThoseWhoMayNot(t *testing.T) {
	s := newMocked(t)
	for name, try := range map[string]func(identity.Actor) error{
		"setup intent": func(by identity.Actor) error { _, err := s.SetupIntent(s.ctx, by, "k", ""); return err },
		"methods":      func(by identity.Actor) error { _, err := s.Methods(s.ctx, by); return err },
		"invoices":     func(by identity.Actor) error { _, err := s.Invoices(s.ctx, by, "", page.Query{}); return err },
		"pay":          func(by identity.Actor) error { _, err := s.PayInvoice(s.ctx, by, "k", "in"); return err },
		"default":      func(by identity.Actor) error { _, _, err := s.SetDefault(s.ctx, by, "pm"); return err },
		"remove":       func(by identity.Actor) error { return s.RemoveMethod(s.ctx, by, "pm", "") },
		"subscribe": func(by identity.Actor) error {
			_, err := s.Subscribe(s.ctx, by, "k", payment.SubscribeRequest{Plan: "basic"})
			return err
		},
		"change": func(by identity.Actor) error {
			_, err := s.ChangeSubscription(s.ctx, by, "k", nil, payment.Changes{})
			return err
		},
		"cancel": func(by identity.Actor) error {
			return s.CancelSubscription(s.ctx, by, "k", nil, payment.Cancellation{})
		},
		"confirm": func(by identity.Actor) error {
			_, err := s.ConfirmIntent(s.ctx, by, payment.SetupIntent{}, payment.Card{})
			return err
		},
		"authenticate": func(by identity.Actor) error {
			_, err := s.AuthenticateIntent(s.ctx, by, payment.SetupIntent{}, true)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.terms.Gateway = s.gateway
			require.ErrorIs(t, try(member), payment.ErrRoleRequired)
			require.ErrorIs(t, try(identity.Actor{Org: "org"}), identity.ErrWorkspaceNotFound)
			s.terms.Gateway = nil
			require.ErrorIs(t, try(owner), payment.ErrNotConfigured)
		})
	}
}

func TestReadsComeFromTheMirrorWhileItIsFresh(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	w, err := s.Methods(s.ctx, owner)
	require.NoError(t, err)
	assert.That(t, len(w.Methods) == 1 && w.Default == "pm_1" && !w.Stale, "%+v", w)
	v, err := s.Subscription(s.ctx, member)
	require.NoError(t, err)
	assert.That(t, v.ID == "sub_1" && v.Entitled && !v.Stale && v.Default == "pm_1", "%+v", v)
	s.payments.EXPECT().Invoices(any, identity.WorkspaceID("acme"), "sandbox", payment.Paid,
		page.Query{Limit: 3}).Return(payment.InvoicePage{Items: []payment.Invoice{{ID: "in_1"}}}, nil)
	b, err := s.Invoices(s.ctx, owner, payment.Paid, page.Query{Limit: 3})
	require.NoError(t, err)
	assert.That(t, len(b.Items) == 1 && !b.Stale, "%+v", b)
	_, current, err := s.Plans(s.ctx, member)
	require.NoError(t, err)
	assert.Equal(t, "current plan", current, "basic")
}

func TestAnOldMirrorIsReadAnewOrAnsweredAsStale(t *testing.T) {
	laterActor := owner
	laterActor.At = now.Add(payment.Fresh)
	t.Run("read again", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.customers.Wallet(any,
			payment.CustomerID("cus_1")).Return(payment.Wallet{Methods: []payment.Method{method("pm_2")}}, nil)
		s.customers.SetDefault(any, any, payment.CustomerID("cus_1"), payment.MethodID("pm_2")).Return(nil)
		w, err := s.Methods(s.ctx, laterActor)
		require.NoError(t, err)
		assert.That(t, len(w.Methods) == 1 && w.Methods[0].ID == "pm_2" && w.Default == "pm_2" && !w.Stale &&
			s.kept.WalletAt == laterActor.At, "%+v", w)
		for _, e := range s.kept.Recorded() {
			assert.That(t, e.Actor == "", "who read is said to have done %s", e.Type)
		}
	})
	runInBubble(t, "stale", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.customers.Wallet(any, any).Times(3).Return(payment.Wallet{}, payment.ErrGatewayUnavailable)
		w, err := s.Methods(s.ctx, laterActor)
		require.NoError(t, err)
		assert.That(t, len(w.Methods) == 1 && w.Stale && s.kept.WalletAt == now, "%+v", w)
	})
	t.Run("three times if the customer changes meanwhile, but not for ever", func(t *testing.T) {
		s := mockedWith(t, customer("pm_1"))
		s.customers.Wallet(any,
			any).Times(3).DoAndReturn(func(context.Context, payment.CustomerID) (payment.Wallet, error) {
			s.kept.Revision++
			return payment.Wallet{}, nil
		})
		w, err := s.Methods(s.ctx, laterActor)
		require.NoError(t, err)
		assert.That(t, len(w.Methods) == 1, "%+v", w)
	})
}

func TestACallIsRepeatedUnderTheSameKeyAndNotForEver(t *testing.T) {
	for name, tt := range map[string]struct {
		err   error
		calls int
		took  time.Duration // at most
	}{
		"an outage, twice more":      {payment.ErrGatewayUnavailable, 3, 2 * time.Second},
		"an unintelligible response": {payment.ErrGateway, 3, 2 * time.Second},
		"as long as the gateway wants": {payment.ErrGatewayUnavailable.WithRetryAfter(3 * time.Second), 3,
			7 * time.Second},
		"but not beyond eight seconds": {payment.ErrGatewayUnavailable.WithRetryAfter(time.Minute), 1,
			time.Second},
		"a refusal is not repeated":                {&payment.Rejection{Reason: "x"}, 1, 0},
		"nor a decline":                            {&payment.DeclinedError{}, 1, 0},
		"an unexpected error does not ask to wait": {context.Canceled, 3, 2 * time.Second},
	} {
		runInBubble(t, name, func(t *testing.T) {
			s := mockedWith(t, customer())
			s.customers.Wallet(any, any).AnyTimes().Return(payment.Wallet{}, nil)
			s.customers.CreateSetupIntent(any, "k", any, any).Times(tt.calls).Return(payment.SetupIntent{}, tt.err)
			start := time.Now()
			_, err := s.SetupIntent(s.ctx, owner, "k", payment.OffSession)
			require.ErrorIs(t, err, tt.err)
			took := time.Since(start)
			assert.That(t, took <= tt.took, "it took %s", took)
		})
	}
	runInBubble(t, "who does not answer at all is given up in time", func(t *testing.T) {
		s := mockedWith(t, customer())
		s.customers.CreateSetupIntent(any, any, any, any).AnyTimes().DoAndReturn(
			func(ctx context.Context, _ string, _ payment.CustomerID, _ payment.Usage) (payment.SetupIntent, error) {
				<-ctx.Done()
				return payment.SetupIntent{}, ctx.Err()
			})
		start := time.Now()
		_, err := s.SetupIntent(s.ctx, owner, "k", payment.OffSession)
		require.ErrorIs(t, err, payment.ErrGatewayTimeout)
		took := time.Since(start)
		assert.That(t, took <= 8*time.Second, "it took %s", took)
	})
}

func TestTheDefaultIsTheGatewaysFirst(t *testing.T) {
	s := mockedWith(t, customer("pm_1", "pm_2"))
	s.customers.SetDefault(any, any, payment.CustomerID("cus_1"), payment.MethodID("pm_2")).Return(nil)
	m, _, err := s.SetDefault(s.ctx, owner, "pm_2")
	require.NoError(t, err)
	assert.That(t, m.ID == "pm_2" && s.kept.Default == "pm_2", "%+v", s.kept)
	_, _, err = s.SetDefault(s.ctx, owner, "pm_3")
	require.ErrorIs(t, err, payment.ErrMethodNotFound)
	s.customers.SetDefault(any, any, any, any).Return(payment.ErrMethodNotFound)
	_, _, err = s.SetDefault(s.ctx, owner, "pm_1")
	require.ErrorIs(t, err, payment.ErrMethodNotFound)
	assert.That(t, s.kept.Default == "pm_2", "it was noted all the same")
}

func TestAMethodIsMarkedBeforeTheGatewayIsTold(t *testing.T) {
	detach := func(t *testing.T, err error) *mockedService {
		s := mockedWith(t, subscribed("pm_1", "pm_2"))
		s.customers.SetDefault(any, any, payment.CustomerID("cus_1"), payment.MethodID("pm_2")).Return(nil)
		s.customers.Detach(any, any, payment.CustomerID("cus_1"), payment.MethodID("pm_1")).MinTimes(1).DoAndReturn(
			func(context.Context, string, payment.CustomerID, payment.MethodID) error {
				assert.That(t, len(s.kept.Shown()) == 1 && s.queued[payment.ReconcileJob].Subject == "acme",
					"%+v, %+v", s.kept, s.queued)
				return err
			})
		return s
	}
	t.Run("and forgotten after", func(t *testing.T) {
		s := detach(t, nil)
		require.NoError(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""))
		assert.That(t, len(s.kept.Methods) == 1 && s.kept.Default == "pm_2" && len(s.queued) == 0,
			"%+v, %+v", s.kept, s.queued)
		require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_2", ""), payment.ErrMethodInUse)
		require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""), payment.ErrMethodNotFound)
	})
	runInBubble(t, "a job resolves unknown outcomes", func(t *testing.T) {
		s := detach(t, payment.ErrGatewayTimeout)
		require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""), payment.ErrGatewayTimeout)
		assert.That(t, len(s.kept.Detaching()) == 1 && len(s.queued) == 1, "%+v, %+v", s.kept, s.queued)
	})
	t.Run("it is shown again if the gateway refuses", func(t *testing.T) {
		s := detach(t, &payment.Rejection{Reason: "x"})
		require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""), payment.ErrGateway)
		assert.That(t, len(s.kept.Shown()) == 2 && len(s.queued) == 0, "%+v", s.kept)
	})
}

// If the gateway refuses another default, it still has the one that leaves: the mirror must not say otherwise.
func TestAMethodThatStaysTheDefaultIsReplacedByTheNextRemoval(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1", "pm_2"))
	refusal := s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).Return(&payment.Rejection{Reason: "x"})
	require.ErrorIs(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""), payment.ErrGateway)

	s.customers.Wallet(any, payment.CustomerID("cus_1")).
		Return(payment.Wallet{Methods: []payment.Method{method("pm_1"), method("pm_2")}, Default: "pm_1"}, nil)
	replacedCall := s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).After(refusal).Return(nil)
	s.customers.Detach(any, any, any, payment.MethodID("pm_1")).After(replacedCall).Return(nil)
	require.NoError(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""))
	assert.That(t, len(s.kept.Methods) == 1 && s.kept.Default == "pm_2", "%+v", s.kept)
}

func TestThePayerOfTheSandbox(t *testing.T) {
	s := newMocked(t)
	_, err := s.ConfirmIntent(s.ctx, owner, payment.SetupIntent{ID: "seti_1"}, payment.Card{})
	require.ErrorIs(t, err, payment.ErrIntentNotFound)
	s.kept = customer()
	s.payer.EXPECT().Confirm(any, payment.CustomerID("cus_1"), payment.IntentID("seti_1"), any,
		any).Return(payment.SetupIntent{ID: "seti_1", Status: "succeeded"}, nil)
	s.payer.EXPECT().Authenticate(any, payment.CustomerID("cus_1"), payment.IntentID("pi_1"), any,
		true).Return(payment.SetupIntent{}, payment.ErrIntentState)
	s.expectResync(payment.Wallet{Methods: []payment.Method{method("pm_1")}, Default: "pm_1"}, nil)
	i, err := s.ConfirmIntent(s.ctx, owner, payment.SetupIntent{ID: "seti_1"}, payment.Card{})
	require.NoError(t, err)
	assert.That(t, i.Status == "succeeded" && len(s.kept.Methods) == 1, "%+v, %+v", i, s.kept)
	_, err = s.AuthenticateIntent(s.ctx, owner, payment.SetupIntent{ID: "pi_1"}, true)
	require.ErrorIs(t, err, payment.ErrIntentState)
	s.terms.Payer = nil
	_, err = s.AuthenticateIntent(s.ctx, owner, payment.SetupIntent{ID: "pi_1"}, true)
	require.ErrorIs(t, err, payment.ErrGatewayNotFound)
}

// expectResync expects one read of all of the gateway's data.
func (s *mockedService) expectResync(w payment.Wallet, subscriptions []payment.GatewaySubscription) {
	s.customers.Wallet(any, payment.CustomerID("cus_1")).Return(w, nil)
	s.subscriptions.Subscriptions(any, payment.CustomerID("cus_1")).Return(subscriptions, nil)
	s.subscriptions.Invoices(any, payment.CustomerID("cus_1"), any).Return(nil, nil)
}

var errOutage = errors.New("the store is away")

func TestARetiredPlanIsShownToWhoHasIt(t *testing.T) {
	s := newMocked(t)
	retiredPlan := plans[0]
	retiredPlan.Retired = true
	s.terms.Plans = plans.Replace(retiredPlan)
	for current, want := range map[payment.PlanID]int{retiredPlan.ID: len(plans), plans[1].ID: len(plans) - 1} {
		c := customer()
		c.Subscription = &payment.Subscription{ID: "sub_1", Plan: current, Status: payment.Active}
		s.kept = c
		if all, id, err := s.Plans(s.ctx, member); err != nil || len(all) != want || id != current {
			t.Errorf("who has %s sees %d plans, and %s as the current one; %v", current, len(all), id, err)
		}
	}
}

func TestAnOrgWithoutAGatewayShowsNothing(t *testing.T) {
	s := newMocked(t)
	s.terms = payments.Terms{}
	all, current, err := s.Plans(s.ctx, member)
	assert.That(t, err == nil && len(all) == 0 && current == "", "%v, %v", all, err)
	_, err = s.Subscription(s.ctx, member)
	require.ErrorIs(t, err, payment.ErrNoSubscription)
	require.NoError(t, s.Reconcile(s.ctx, system))
	require.NoError(t, s.Audit(s.ctx, system))
	require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
}

// TestACardThatOnlyTheGatewayKnowsReplacesTheDefault has the event about the second card still on its way.
func TestACardThatOnlyTheGatewayKnowsReplacesTheDefault(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.WalletAt = now.Add(-8 * time.Second)
	s.customers.Wallet(any, any).Return(payment.Wallet{
		Methods: []payment.Method{method("pm_1"), method("pm_2")}, Default: "pm_1",
	}, nil)
	s.subscriptions.Subscriptions(any, any).Return([]payment.GatewaySubscription{held(payment.Active)}, nil)
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).Return(nil)
	s.customers.Detach(any, any, any, payment.MethodID("pm_1")).Return(nil)
	require.NoError(t, s.RemoveMethod(s.ctx, owner, "pm_1", ""))
	assert.That(t, s.kept.Default == "pm_2" && len(s.kept.Methods) == 1, "%+v", s.kept)
}

func TestACardThatIsEnteredAgainReplacesItself(t *testing.T) {
	s := mockedWith(t, subscribed("pm_1"))
	s.kept.WalletAt = now.Add(-payment.Fresh)
	twin := func(id payment.MethodID, age time.Duration) payment.Method {
		m := method(id)
		m.Fingerprint, m.CreatedAt = "fp", now.Add(-age)
		return m
	}
	s.customers.Wallet(any, any).Return(payment.Wallet{
		Methods: []payment.Method{twin("pm_1", time.Hour), twin("pm_2", time.Minute)}, Default: "pm_1",
	}, nil)
	s.customers.SetDefault(any, any, any, payment.MethodID("pm_2")).Return(nil)
	s.customers.Detach(any, any, any, payment.MethodID("pm_1")).Return(nil)
	w, err := s.Methods(s.ctx, owner)
	require.NoError(t, err)
	assert.That(t, len(w.Methods) == 1 && w.Methods[0].ID == "pm_2" && w.Default == "pm_2", "%+v", w)
}
