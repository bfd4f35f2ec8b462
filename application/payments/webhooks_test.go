package payments_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const told = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice","customer":"cus_1"}}}`

func TestAnEventIsKeptOnceAndWorkedOffByAJob(t *testing.T) {
	for name, tt := range map[string]struct {
		body   string
		at     time.Time
		kind   payment.GatewayKind
		find   error
		fresh  bool
		state  payment.EventState // "" if it is not stored
		queued bool
		want   error
	}{
		"one of a customer's": {body: told, at: now, kind: payment.Sandbox, fresh: true,
			state: payment.Received, queued: true},
		"one that is known": {body: told, at: now, kind: payment.Sandbox, fresh: false, state: payment.Received},
		"one of no customer": {body: told, at: now, kind: payment.Sandbox, find: payment.ErrNoCustomer,
			fresh: true, state: payment.Ignored},
		"one while the customer is unknown": {body: told, at: now, kind: payment.Sandbox, find: errOutage,
			want: errOutage},
		"one with an old signature": {body: told, at: now.Add(-time.Hour), kind: payment.Sandbox,
			want: payment.ErrSignature},
		"what is no event":        {body: "x", at: now, kind: payment.Sandbox, want: payment.ErrEventMalformed},
		"one for another gateway": {body: told, at: now, kind: payment.Stripe, want: payment.ErrGatewayNotFound},
		"one of another's account": {body: told[:len(told)-1] + `,"account":"acct_2"}`, at: now, kind: payment.Sandbox,
			fresh: true, state: payment.Ignored},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			ws := identity.WorkspaceID("acme")
			if tt.find != nil {
				ws = ""
			}
			s.payments.EXPECT().Find(any, identity.OrgID("org"), "sandbox",
				payment.CustomerID("cus_1")).AnyTimes().Return(ws, tt.find)
			if tt.state != "" {
				s.inbox.EXPECT().Put(any, identity.OrgID("org"),
					any).DoAndReturn(func(_ context.Context, _ identity.OrgID, e *payment.Event) (bool, error) {
					assert.That(t, e.State == tt.state && e.ID == "evt_1" && e.Account == "sandbox" &&
						e.ReceivedAt == now && (e.State == payment.Ignored) != e.EndedAt.IsZero(), "%+v", e)
					return tt.fresh, nil
				})
			}
			require.ErrorIs(t, s.Receive(s.ctx, "org", tt.kind, []byte(tt.body), payment.Sign(key, []byte(tt.body),
				tt.at),
				now), tt.want)
			j, isQueued := s.queued[payment.EventsJob]
			assert.That(t, isQueued == tt.queued && (!isQueued || (j.Subject == "cus_1" && j.Workspace == "acme")),
				"queued %+v", s.queued)
		})
	}
}

// TestAnEventAboutARefundOrADisputeIsItsCustomers has the objects of Stripe, which name a charge and no customer
// (https://docs.stripe.com/api/refunds/object, https://docs.stripe.com/api/disputes/object).
func TestAnEventAboutARefundOrADisputeIsItsCustomers(t *testing.T) {
	for _, object := range []string{"refund", "dispute"} {
		for name, tt := range map[string]struct {
			customer payment.CustomerID
			failure  error
			state    payment.EventState
			want     error
		}{
			"of a customer":                      {"cus_1", nil, payment.Received, nil},
			"of no customer":                     {"", nil, payment.Ignored, nil},
			"that the gateway refuses to name":   {"", &payment.Rejection{Reason: "no right"}, payment.Ignored, nil},
			"while the gateway is not available": {"", payment.ErrGatewayTimeout, "", payment.ErrGatewayUnavailable},
		} {
			t.Run(object+" "+name, func(t *testing.T) {
				s := newMocked(t)
				s.customers.CustomerOf(any, payment.Reference{Kind: "charge", ID: "ch_1"}).AnyTimes().
					Return(tt.customer, tt.failure)
				s.payments.EXPECT().Find(any, any, any, payment.CustomerID("cus_1")).AnyTimes().Return(
					identity.WorkspaceID("acme"), nil)
				if tt.state != "" {
					s.inbox.EXPECT().Put(any, any, any).DoAndReturn(
						func(_ context.Context, _ identity.OrgID, e *payment.Event) (bool, error) {
							assert.That(t, e.State == tt.state && e.Customer == tt.customer, "%+v", e)
							return true, nil
						})
				}
				body := []byte(`{"id":"evt_1","object":"event","type":"x","created":1,"data":{"object":{"id":"x_1",` +
					`"object":"` + object + `","charge":"ch_1"}}}`)
				err := s.Receive(s.ctx, "org", payment.Sandbox, body, payment.Sign(key, body, now), now)
				require.ErrorIs(t, err, tt.want)
			})
		}
	}
}

func TestAllThatWaitsAboutACustomerIsReadAnewAtOnce(t *testing.T) {
	s := mockedWith(t, customer())
	events := []payment.Event{{ID: "evt_1", State: payment.Received},
		{ID: "evt_2", State: payment.Received, Attempts: 3}}
	s.expectResync(payment.Wallet{}, []payment.GatewaySubscription{held(payment.Active)})
	first := s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", payment.CustomerID("cus_1")).Return(events,
		nil)
	s.inbox.EXPECT().Waiting(any, any, any, any).Return(nil, nil).After(first)
	s.inbox.EXPECT().Save(any, identity.OrgID("org"), any).DoAndReturn(func(_ context.Context, _ identity.OrgID,
		savedEvents ...payment.Event) error {
		for _, e := range savedEvents {
			assert.That(t, e.State == payment.Done && e.EndedAt == now, "%+v", e)
		}
		assert.That(t, len(savedEvents) == 2, "saved %+v", savedEvents)
		return nil
	})
	require.NoError(t, s.ProcessEvents(s.ctx, system, "cus_1"))
	assert.That(t, s.kept.Subscription != nil, "nothing was taken over")
}

func TestAnEventThatFailsForGoodIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mockedWith(t, customer())
		s.customers.Wallet(any, any).Times(3).Return(payment.Wallet{}, payment.ErrGatewayUnavailable)
		s.inbox.EXPECT().Waiting(any, any, any,
			any).Return([]payment.Event{{ID: "evt_1", State: payment.Received, Attempts: payment.MaxEventAttempts - 1},
			{ID: "evt_2", State: payment.Received}}, nil)
		s.inbox.EXPECT().Save(any, any, any).DoAndReturn(func(_ context.Context, _ identity.OrgID,
			savedEvents ...payment.Event) error {
			assert.That(t, savedEvents[0].State == payment.Dead && savedEvents[1].State == payment.Received &&
				savedEvents[1].Attempts == 1 && savedEvents[1].Failure == "gateway_unavailable", "%+v", savedEvents)
			return nil
		})
		require.ErrorIs(t, s.ProcessEvents(s.ctx, system, "cus_1"), payment.ErrGatewayUnavailable)
	})
}

func TestReplay(t *testing.T) {
	s := newMocked(t)
	s.inbox.EXPECT().Get(any, identity.OrgID("org"), "sandbox", "evt_1").Return(&payment.Event{ID: "evt_1", Org: "org",
		Account: "sandbox", Customer: "cus_1", State: payment.Ignored, EndedAt: now, Attempts: 8}, nil)
	s.payments.EXPECT().Find(any, identity.OrgID("org"), "sandbox",
		payment.CustomerID("cus_1")).Return(identity.WorkspaceID("acme"), nil)
	s.inbox.EXPECT().Save(any, any, any).Return(nil)
	e, err := s.Replay(s.ctx, system, "sandbox", "evt_1")
	require.NoError(t, err)
	assert.That(t, e.State == payment.Received && e.Attempts == 0 && e.EndedAt.IsZero() &&
		s.queued[payment.EventsJob].Workspace == "acme", "%+v, %+v", e, s.queued)
	s.inbox.EXPECT().Get(any, any, any, "evt_2").Return(nil, payment.ErrEventNotFound)
	_, err = s.Replay(s.ctx, system, "sandbox", "evt_2")
	require.ErrorIs(t, err, payment.ErrEventNotFound)
	s.inbox.EXPECT().List(any, identity.OrgID("org"), payment.Dead,
		page.Query{Limit: 5}).Return(page.Of[payment.Event]{}, errOutage)
	_, err = s.Events(s.ctx, system, payment.Dead, page.Query{Limit: 5})
	assert.ErrorIs(t, err, errOutage)
}
