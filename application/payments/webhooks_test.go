package payments_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/billing"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

const told = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1,"data":{"object":{"object":"invoice","customer":"cus_1"}}}`

func TestAnEventIsKeptOnceAndWorkedOffByAJob(t *testing.T) {
	for name, tt := range map[string]struct {
		body   string
		at     time.Time
		kind   billing.GatewayKind
		find   error
		fresh  bool
		state  billing.EventState // "" if it is not stored
		queued bool
		want   error
	}{
		"one of a customer's": {body: told, at: now, kind: billing.Sandbox, fresh: true,
			state: billing.Received, queued: true},
		"one that is known": {body: told, at: now, kind: billing.Sandbox, fresh: false,
			state: billing.Received},
		"one of no customer": {body: told, at: now, kind: billing.Sandbox, find: billing.ErrNoCustomer,
			fresh: true, state: billing.Ignored},
		"one while the customer is unknown": {body: told, at: now, kind: billing.Sandbox, find: errOutage,
			want: errOutage},
		"one with an old signature": {body: told, at: now.Add(-time.Hour), kind: billing.Sandbox,
			want: billing.ErrSignature},
		"what is no event":        {body: "x", at: now, kind: billing.Sandbox, want: billing.ErrEventMalformed},
		"one for another gateway": {body: told, at: now, kind: billing.Stripe, want: billing.ErrGatewayNotFound},
		"one of another's account": {body: told[:len(told)-1] + `,"account":"acct_2"}`, at: now, kind: billing.Sandbox,
			fresh: true, state: billing.Ignored},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			ws := identity.WorkspaceID("acme")
			if tt.find != nil {
				ws = ""
			}
			s.payments.EXPECT().Find(any, identity.OrgID("org"), "sandbox",
				billing.CustomerID("cus_1")).AnyTimes().Return(ws, tt.find)
			if tt.state != "" {
				s.inbox.EXPECT().Put(any, identity.OrgID("org"),
					any).DoAndReturn(func(_ context.Context, _ identity.OrgID, e *billing.Event) (bool, error) {
					if e.State != tt.state || e.ID != "evt_1" || e.Account != "sandbox" || e.ReceivedAt != now ||
						(e.State == billing.Ignored) == e.EndedAt.IsZero() {
						t.Errorf("%+v", e)
					}
					return tt.fresh, nil
				})
			}
			wantErr(t, s.Receive(s.ctx, "org", tt.kind, []byte(tt.body), billing.Sign(key, []byte(tt.body), tt.at),
				now), tt.want)
			if j, queued := s.queued[billing.EventsJob]; queued != tt.queued || queued &&
				(j.Subject != "cus_1" || j.Workspace != "acme") {
				t.Errorf("queued %+v", s.queued)
			}
		})
	}
}

func TestAllThatWaitsAboutACustomerIsReadAnewAtOnce(t *testing.T) {
	s := newMocked(t)
	s.kept = customer()
	events := []billing.Event{{ID: "evt_1", State: billing.Received},
		{ID: "evt_2", State: billing.Received, Attempts: 3}}
	s.expectResync(billing.Wallet{}, []billing.GatewaySubscription{held(billing.Active)})
	first := s.inbox.EXPECT().Waiting(any, identity.OrgID("org"), "sandbox", billing.CustomerID("cus_1")).Return(events,
		nil)
	s.inbox.EXPECT().Waiting(any, any, any, any).Return(nil, nil).After(first)
	s.inbox.EXPECT().Save(any, identity.OrgID("org"), any).DoAndReturn(func(_ context.Context, _ identity.OrgID,
		saved ...billing.Event) error {
		for _, e := range saved {
			if e.State != billing.Done || e.EndedAt != now {
				t.Errorf("%+v", e)
			}
		}
		if len(saved) != 2 {
			t.Errorf("saved %+v", saved)
		}
		return nil
	})
	wantErr(t, s.ProcessEvents(s.ctx, system, "cus_1"), nil)
	if s.kept.Subscription == nil {
		t.Error("nothing was taken over")
	}
}

func TestAnEventThatFailsForGoodIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMocked(t)
		s.kept = customer()
		s.gateway.MockGatewayCustomers.EXPECT().Wallet(any, any).Times(3).Return(billing.Wallet{},
			billing.ErrGatewayUnavailable)
		s.inbox.EXPECT().Waiting(any, any, any,
			any).Return([]billing.Event{{ID: "evt_1", State: billing.Received, Attempts: billing.MaxEventAttempts - 1},
			{ID: "evt_2", State: billing.Received}}, nil)
		s.inbox.EXPECT().Save(any, any, any).DoAndReturn(func(_ context.Context, _ identity.OrgID,
			saved ...billing.Event) error {
			if saved[0].State != billing.Dead || saved[1].State != billing.Received || saved[1].Attempts != 1 ||
				saved[1].Failure != "gateway_unavailable" {
				t.Errorf("%+v", saved)
			}
			return nil
		})
		wantErr(t, s.ProcessEvents(s.ctx, system, "cus_1"), billing.ErrGatewayUnavailable)
	})
}

func TestReplay(t *testing.T) {
	s := newMocked(t)
	s.inbox.EXPECT().Get(any, identity.OrgID("org"), "sandbox", "evt_1").Return(&billing.Event{ID: "evt_1", Org: "org",
		Account: "sandbox", Customer: "cus_1", State: billing.Ignored, EndedAt: now, Attempts: 8}, nil)
	s.payments.EXPECT().Find(any, identity.OrgID("org"), "sandbox",
		billing.CustomerID("cus_1")).Return(identity.WorkspaceID("acme"), nil)
	s.inbox.EXPECT().Save(any, any, any).Return(nil)
	e, err := s.Replay(s.ctx, system, "sandbox", "evt_1")
	wantErr(t, err, nil)
	if e.State != billing.Received || e.Attempts != 0 || !e.EndedAt.IsZero() ||
		s.queued[billing.EventsJob].Workspace != "acme" {
		t.Errorf("%+v, %+v", e, s.queued)
	}
	s.inbox.EXPECT().Get(any, any, any, "evt_2").Return(nil, billing.ErrEventNotFound)
	_, err = s.Replay(s.ctx, system, "sandbox", "evt_2")
	wantErr(t, err, billing.ErrEventNotFound)
	s.inbox.EXPECT().List(any, identity.OrgID("org"), billing.Dead,
		page.Query{Limit: 5}).Return(page.Of[billing.Event]{}, errOutage)
	if _, err := s.Events(s.ctx, system, billing.Dead, page.Query{Limit: 5}); !errors.Is(err, errOutage) {
		t.Errorf("error = %v", err)
	}
}
