package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripe"
	"github.com/atrium-hq/atrium/adapters/stripesim"
	usecases "github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// simulatorArgument makes this program the simulated Stripe: with an address to listen on, and the secret key.
const simulatorArgument = "simulator"

// simulatorPlans are the plans that the simulated Stripe sells.
var simulatorPlans = payment.Plans{{ID: "basic", PriceRef: "price_basic",
	Price: payment.Money{Amount: 900, Currency: "usd"}, Interval: payment.Month, IntervalCount: 1}}

// serveSimulator serves the simulated Stripe, and POST /card, by which a customer gets a test card.
func serveSimulator(ctx context.Context, addr, key string) error {
	s := stripesim.New(stripesim.Config{
		Org: "org", Objects: fixture.NewSandboxObjects(), Plans: simulatorPlans, Key: key,
		MAC: func(text string) string { return fmt.Sprintf("%x", text) },
	})
	desk := &stripesim.Dashboard{Simulator: s, Failed: func(err error) { fmt.Fprintln(os.Stderr, err) }}
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("POST /card", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, desk.AddCard(r.FormValue("customer"), "4242"))
	})
	server := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// gatewayCalls compares the processor time of use cases that call Stripe with that of the same calls by bare stripe-go,
// in turns. The simulated Stripe is another process. The stores are in memory, so that only the use cases and
// adapters/stripe are measured.
func gatewayCalls(ctx context.Context, m *machine) (err error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	simulator := exec.CommandContext(ctx, self, simulatorArgument, addr, stripeKey)
	simulator.Stderr = os.Stderr
	if err := simulator.Start(); err != nil {
		return err
	}
	defer func() { _ = simulator.Process.Kill(); _ = simulator.Wait() }()
	till, err := openTill(ctx, "http://"+addr)
	if err != nil {
		return err
	}
	m.section("Calls to Stripe", "", "stripe-go takes", "use case and adapter take", "ratio (aim ≤ 1.3)")
	for _, c := range till.calls(ctx) {
		if err := m.compareCPU(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// useCase is a use case beside the calls to Stripe that it makes.
type useCase struct {
	name         string
	bare, atrium func() error
}

// compareCPU runs both in turns, and prints the medians of what one call takes of the processor.
func (m *machine) compareCPU(ctx context.Context, c useCase) error {
	var bare, atrium, ratios []float64
	for round := range rounds + 1 {
		one, err := m.cpuOf(ctx, c.bare)
		if err != nil {
			return err
		}
		other, err := m.cpuOf(ctx, c.atrium)
		if err != nil {
			return err
		}
		if round > 0 { // the first one warms up
			bare, atrium, ratios = append(bare, one), append(atrium, other), append(ratios, other/one)
		}
	}
	micros := func(all []float64) string { return fmt.Sprintf("%.0f µs", median(all)*1e6) }
	m.row(c.name, micros(bare), micros(atrium), ratio(median(ratios)))
	return ctx.Err()
}

// cpuOf calls f for a round, and returns the seconds of processor time that a call has taken in this process, with the
// collection of its garbage.
func (m *machine) cpuOf(ctx context.Context, f func() error) (float64, error) {
	runtime.GC()
	cpu, start, count := ownCPU(), time.Now(), 0
	for time.Since(start) < m.round && ctx.Err() == nil {
		if err := f(); err != nil {
			return 0, err
		}
		count++
	}
	runtime.GC()
	return (ownCPU() - cpu).Seconds() / float64(max(count, 1)), ctx.Err()
}

func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // which cannot fail
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// till is a workspace with a card and a subscription at the simulated Stripe.
type till struct {
	service *usecases.Service
	bare    bare
	by      identity.Actor
	count   int
}

// openTill waits for the simulated Stripe, and subscribes to a plan.
func openTill(ctx context.Context, url string) (*till, error) {
	const account = "acct_1"
	g := stripe.New(stripe.Config{SecretKey: secret.New(stripeKey), BaseURL: url})
	t := &till{by: identity.Actor{
		User: "usr_1", Org: "org", Workspace: "wsp_1", Role: identity.Owner, Ceiling: identity.Owner,
		At: time.Now().UTC(),
	}}
	customer, err := payment.NewCustomer(t.by, payment.Stripe, account, "customer", payment.Details{Name: "Acme"})
	if err != nil {
		return nil, err
	}
	s := &memory{customer: customer}
	t.service = usecases.NewService(s, ports.PaymentStores{Payments: s}, usecases.Deps{
		Jobs: noJobs{}, Digester: fixture.Digester{}, Terms: func(identity.OrgID) usecases.Terms {
			return usecases.Terms{Kind: payment.Stripe, Account: account, Gateway: g, Plans: simulatorPlans}
		},
	})
	for { // until the process listens
		_, err := t.service.SetupIntent(ctx, t.now(), "first", payment.OffSession)
		if err == nil {
			break
		}
		if ctx.Err() != nil || !payment.OutcomeUnknown(err) {
			return nil, err
		}
	}
	id := string(s.customer.ID)
	if err := addTestCard(ctx, url, id); err != nil {
		return nil, err
	}
	t.bare = bareStripe(ctx, url, id)
	_, err = t.service.Subscribe(ctx, t.now(), "buy", payment.SubscribeRequest{Plan: "basic", Quantity: 1})
	return t, err
}

func addTestCard(ctx context.Context, url, customer string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/card?customer="+customer, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// now returns the actor two minutes after the last call, so that the mirror has to be read again.
func (t *till) now() identity.Actor {
	t.by.At = t.by.At.Add(2 * time.Minute)
	return t.by
}

func (t *till) key(name string) string {
	t.count++
	return fmt.Sprint(name, " ", t.count)
}

// calls returns use cases that make one, two and one call to Stripe.
func (t *till) calls(ctx context.Context) []useCase {
	return []useCase{
		{"`POST setup-intent`, one call",
			t.bare.setupIntent,
			func() error {
				_, err := t.service.SetupIntent(ctx, t.now(), t.key("intent"), payment.OffSession)
				return err
			}},
		{"`GET methods`, read again by two calls",
			t.bare.wallet,
			func() error {
				w, err := t.service.Methods(ctx, t.now())
				if err == nil && (w.Stale || len(w.Methods) != 1) {
					return fmt.Errorf("unexpected methods: %+v", w)
				}
				return err
			}},
		{"`GET subscriptions/me`, read again by one call",
			t.bare.subscriptions,
			func() error {
				v, err := t.service.Subscription(ctx, t.now())
				if err == nil && v.Stale {
					return fmt.Errorf("unexpected subscription: %+v", v)
				}
				return err
			}},
	}
}

// memory stores one customer.
type memory struct {
	ports.Payments
	ports.Atomic
	customer *payment.Customer
}

// Atomically implements ports.Atomic.
func (s *memory) Atomically(_ context.Context, fn func(ports.Stores) error) error {
	return fn(ports.Stores{PaymentStores: ports.PaymentStores{Payments: s}, Jobs: noJobs{}})
}

// Customer implements ports.Payments.
func (s *memory) Customer(context.Context, identity.WorkspaceID, string) (*payment.Customer, error) {
	c := *s.customer
	return &c, nil
}

// Update implements ports.Payments.
func (s *memory) Update(ctx context.Context, _ identity.Actor, account string,
	change func(*payment.Customer) error) (*payment.Customer, error) {
	c, err := s.Customer(ctx, "", account)
	if err == nil {
		err = change(c)
	}
	if err != nil {
		return nil, err
	}
	c.Log, c.Invoices, c.Ended = event.Log{}, nil, nil
	s.customer = c
	return s.Customer(ctx, "", account)
}

// Invoices implements ports.Payments.
func (*memory) Invoices(context.Context, identity.WorkspaceID, string, payment.InvoiceStatus, page.Query,
) (payment.InvoicePage, error) {
	return payment.InvoicePage{}, nil
}

// Invoice implements ports.Payments.
func (*memory) Invoice(context.Context, identity.WorkspaceID, string, payment.InvoiceID,
) (*payment.Invoice, error) {
	return nil, payment.ErrInvoiceNotFound
}

// noJobs runs none.
type noJobs struct{ ports.Jobs }

// Enqueue implements ports.Jobs.
func (noJobs) Enqueue(context.Context, job.Job) error { return nil }

// Cancel implements ports.Jobs.
func (noJobs) Cancel(context.Context, identity.WorkspaceID, string) (int, error) { return 0, nil }
