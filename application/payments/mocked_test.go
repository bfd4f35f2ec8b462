package payments_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/quota"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/ports/mocks"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

var (
	now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

	owner  = actor(identity.Owner)
	member = actor(identity.Member)
	system = identity.System("org", "acme", "test", now)

	key   = secret.New("whsec_test")
	plans = payment.Plans{
		{ID: "basic", Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1,
			PriceRef: "price_basic"},
		{ID: "pro", Price: payment.Money{Amount: 2900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1,
			PriceRef: "price_pro"},
	}
)

func actor(role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: "ann", Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

// mockedService is a Service on mocked ports. A call that a test does not expect fails it. The customer is
// stored as a store would do it, so that a test can inspect it.
type mockedService struct {
	*payments.Service
	payments   *mocks.MockPayments
	inbox      *mocks.MockInbox
	jobs       *mocks.MockJobs
	workspaces *mocks.MockWorkspaces
	usage      *mocks.MockUsage
	meters     *mocks.MockMeters
	trials     *mocks.MockTrials
	mailer     *mocks.MockMailer
	gateway    *gateway

	// these record what a test expects of the gateway
	customers     *mocks.MockGatewayCustomersMockRecorder
	details       *mocks.MockGatewayDetailsMockRecorder
	subscriptions *mocks.MockGatewaySubscriptionsMockRecorder
	previews      *mocks.MockGatewayPreviewsMockRecorder
	promotions    *mocks.MockGatewayPromotionsMockRecorder
	pages         *mocks.MockGatewayPagesMockRecorder
	usageMeters   *mocks.MockGatewayMetersMockRecorder
	adjustments   *mocks.MockGatewayAdjustmentsMockRecorder

	payer   *mocks.MockSandboxPayer
	terms   payments.Terms
	store   sync.Mutex        // guards kept: reads refresh the mirror behind
	kept    *payment.Customer // nil: the workspace has no customer
	between func()            // nil, or what happens before each change of kept
	queued  map[job.Kind]job.Job
	packs   []payment.CreditPack
	priced  error // the gateway's error when prices are read
	unsold  bool  // the gateway sells no price
	ctx     context.Context
}

// gateway joins the mocks that make one.
type gateway struct {
	*mocks.MockGatewayCustomers
	*mocks.MockGatewayDetails
	*mocks.MockGatewaySubscriptions
	*mocks.MockGatewayPreviews
	*mocks.MockGatewayPromotions
	*mocks.MockGatewayPages
	*mocks.MockGatewayMeters
	*mocks.MockGatewayAdjustments
}

func newMocked(t *testing.T) *mockedService {
	c := gomock.NewController(t)
	s := &mockedService{
		payments: mocks.NewMockPayments(c), inbox: mocks.NewMockInbox(c), jobs: mocks.NewMockJobs(c),
		workspaces: mocks.NewMockWorkspaces(c), usage: mocks.NewMockUsage(c),
		meters: mocks.NewMockMeters(c), trials: mocks.NewMockTrials(c), mailer: mocks.NewMockMailer(c),
		gateway: &gateway{
			mocks.NewMockGatewayCustomers(c), mocks.NewMockGatewayDetails(c), mocks.NewMockGatewaySubscriptions(c),
			mocks.NewMockGatewayPreviews(c), mocks.NewMockGatewayPromotions(c), mocks.NewMockGatewayPages(c),
			mocks.NewMockGatewayMeters(c), mocks.NewMockGatewayAdjustments(c),
		},
		payer:  mocks.NewMockSandboxPayer(c),
		queued: map[job.Kind]job.Job{}, ctx: t.Context(),
	}
	s.customers = s.gateway.MockGatewayCustomers.EXPECT()
	s.details = s.gateway.MockGatewayDetails.EXPECT()
	s.subscriptions = s.gateway.MockGatewaySubscriptions.EXPECT()
	s.previews = s.gateway.MockGatewayPreviews.EXPECT()
	s.promotions = s.gateway.MockGatewayPromotions.EXPECT()
	s.pages = s.gateway.MockGatewayPages.EXPECT()
	s.usageMeters = s.gateway.MockGatewayMeters.EXPECT()
	s.adjustments = s.gateway.MockGatewayAdjustments.EXPECT()
	s.terms = payments.Terms{Kind: payment.Sandbox, Account: "sandbox", Gateway: s.gateway, Payer: s.payer,
		WebhookKeys: []secret.String{key}, Plans: plans, Grace: 7 * 24 * time.Hour}
	atomic := mocks.NewMockAtomic(c)
	atomic.EXPECT().Atomically(any, any).AnyTimes().DoAndReturn(func(_ context.Context,
		fn func(ports.Stores) error) error {
		return fn(ports.Stores{
			PaymentStores: ports.PaymentStores{
				Payments: s.payments, Inbox: s.inbox, Trials: s.trials, Meters: s.meters,
			},
			Jobs:          s.jobs,
			AccountStores: ports.AccountStores{Workspaces: s.workspaces},
		})
	})
	s.payments.EXPECT().Customer(any, identity.WorkspaceID("acme"), "sandbox").AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, string) (*payment.Customer, error) {
			s.store.Lock()
			defer s.store.Unlock()
			if s.kept == nil {
				return nil, payment.ErrNoCustomer
			}
			return copied(s.kept), nil
		})
	s.payments.EXPECT().Update(any, any, "sandbox", any).AnyTimes().DoAndReturn(s.update)
	s.meters.EXPECT().Packs(any, identity.WorkspaceID("acme"), "sandbox").AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, string) ([]payment.CreditPack, error) { return s.packs, nil })
	s.jobs.EXPECT().Enqueue(any, any).AnyTimes().DoAndReturn(func(_ context.Context,
		j job.Job) error {
		s.queued[j.Kind] = j
		return nil
	})
	s.jobs.EXPECT().Cancel(any, identity.WorkspaceID("acme"),
		"acme").AnyTimes().DoAndReturn(func(context.Context, identity.WorkspaceID, string) (int, error) {
		delete(s.queued, payment.ReconcileJob)
		return 0, nil
	})
	s.jobs.EXPECT().Cancel(any, identity.WorkspaceID("acme"), payment.DetailsSubject).AnyTimes().DoAndReturn(
		func(context.Context, identity.WorkspaceID, string) (int, error) {
			delete(s.queued, payment.DetailsJob)
			return 0, nil
		})
	s.subscriptions.Prices(any, any).AnyTimes().DoAndReturn(
		func(_ context.Context, p payment.Plans) (payment.Plans, error) {
			p = slices.Clone(p)
			for i := range p {
				p[i].Unavailable = s.unsold
			}
			return p, s.priced
		})
	s.Service = payments.NewService(atomic, ports.PaymentStores{
		Payments: s.payments, Inbox: s.inbox, Usage: s.usage, Meters: s.meters, Trials: s.trials,
	}, payments.Deps{
		Workspaces: s.workspaces,
		Jobs:       s.jobs,
		Mailer:     s.mailer,
		Digester:   fixture.Digester{},
		Terms: func(org identity.OrgID) payments.Terms {
			assert.Equal(t, "the org whose terms were asked for", org, "org")
			return s.terms
		},
		Quotas: func(identity.OrgID) quota.Amounts { return quota.Default() },
	})
	return s
}

// mockedWith returns a service whose workspace has a customer.
func mockedWith(t *testing.T, c *payment.Customer) *mockedService {
	s := newMocked(t)
	s.kept = c
	return s
}

// runInBubble runs a subtest with a fake clock.
func runInBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// update runs a change twice, on fresh aggregates, as stores do after a conflict.
func (s *mockedService) update(ctx context.Context, _ identity.Actor, _ string,
	change func(*payment.Customer) error) (*payment.Customer, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.store.Lock()
	defer s.store.Unlock()
	if s.between != nil {
		s.between()
	}
	if s.kept == nil {
		return nil, payment.ErrNoCustomer
	}
	var c *payment.Customer
	for range 2 {
		c = copied(s.kept)
		if err := change(c); err != nil {
			return nil, err
		}
	}
	s.kept = c
	return copied(c), nil
}

func copied(c *payment.Customer) *payment.Customer {
	d := *c
	d.Methods = append([]payment.Method(nil), c.Methods...)
	if c.Subscription != nil {
		s := *c.Subscription
		d.Subscription = &s
	}
	return &d
}

// customer returns a customer whose mirror was just read.
func customer(methods ...payment.MethodID) *payment.Customer {
	c := &payment.Customer{
		Org: "org", Workspace: "acme", Gateway: payment.Sandbox, Account: "sandbox", ID: "cus_1", Key: "made",
		Revision: 5, WalletAt: now, SubscriptionAt: now, InvoicesAt: now,
	}
	for _, id := range methods {
		c.Methods = append(c.Methods, method(id))
	}
	if len(methods) > 0 {
		c.Default = methods[0]
	}
	return c
}

func method(id payment.MethodID) payment.Method {
	return payment.Method{ID: id, Type: "card", Brand: "visa", Last4: "4242", ExpMonth: 12, ExpYear: 2034,
		CreatedAt: now}
}

func subscribed(methods ...payment.MethodID) *payment.Customer {
	c := customer(methods...)
	h := held(payment.Active)
	c.Subscription = &payment.Subscription{ID: h.ID, Plan: "basic", Quantity: 1, Status: h.Status, Key: "made",
		PeriodStart: h.PeriodStart, PeriodEnd: h.PeriodEnd, CreatedAt: now}
	return c
}

func held(status payment.Status) payment.GatewaySubscription {
	return payment.GatewaySubscription{ID: "sub_1", Customer: "cus_1", Plan: "basic", Quantity: 1,
		Status: status, Key: "k", PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0), CreatedAt: now}
}
