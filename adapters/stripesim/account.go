package stripesim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// account is what one call works on: the objects of one customer, and the prices of all.
type account struct {
	*Simulator
	settings settings
	clock    time.Time // of the call; for something that was due earlier, its own time
	plans    payment.Plans

	suffix        string // of the customer's identifiers
	counts        counts
	customers     []*customer // one, or none
	methods       []*method
	setups        map[string]*setupIntent
	payments      map[string]*paymentIntent
	subscriptions []*subscription
	invoices      []*invoice
	checkouts     []*checkout
	charges       []*Charge
	refunds       []*refund
	disputes      []*dispute
	notes         []*creditNote
	usage         []*meterEvent
	answers       map[string]*kept // by key
	events        []*event

	stored map[string][]byte // the objects as they were read
}

// counts are the numbers that a customer's objects get.
type counts struct{ Objects, Invoices int }

const countsRow = "counts_"

// id returns a new object's identifier. It names the customer, so that a call finds the object by it.
func (s *account) id(prefix string) string {
	s.counts.Objects++
	return fmt.Sprintf("%s_%sx%08d", prefix, s.suffix, s.counts.Objects)
}

func (s *account) now() time.Time { return s.clock }

// suffixOf returns what a customer's identifiers contain; "" if id is not the simulator's.
func suffixOf(id string) string {
	suffix, _, _ := strings.Cut(id[len(kindOf(id)):], "x")
	suffix = strings.TrimPrefix(suffix, "_")
	if _, err := hex.DecodeString(suffix); err != nil || len(suffix) != 2*suffixBytes {
		return ""
	}
	return suffix
}

const suffixBytes = 12

// CustomerOf returns an object's customer; "" if id is not the simulator's.
func CustomerOf(id string) string {
	if suffix := suffixOf(id); suffix != "" {
		return "cus_" + suffix
	}
	return ""
}

// kindOf returns an identifier's prefix.
func kindOf(id string) string { return id[:max(strings.LastIndex(id, "_"), 0)] }

// newCustomer returns a new customer's identifier: the same one for the same key, as long as the key is kept.
func (s *Simulator) newCustomer(r *http.Request) string {
	key := cmp.Or(r.Header.Get("Idempotency-Key"), rand.Text())
	sum := sha256.Sum256([]byte(string(s.Org) + "\x00" + key))
	return "cus_" + hex.EncodeToString(sum[:suffixBytes])
}

// customerOf returns the customer that a call is about, by any identifier in it, or "".
func (s *Simulator) customerOf(r *http.Request) string {
	if Pattern(r) == "POST /v1/customers" {
		return s.newCustomer(r)
	}
	ids := strings.Split(r.URL.Path, "/")
	for _, name := range []string{"customer", "subscription", "schedule", "from_subscription", "charge",
		"payload[stripe_customer_id]"} {
		ids = append(ids, r.Form.Get(name))
	}
	for _, id := range ids {
		if customer := CustomerOf(id); customer != "" {
			return customer
		}
	}
	return ""
}

// open returns the account with a customer's objects.
func (s *Simulator) open(customer string, current settings, rows []ports.SandboxObject) (*account, error) {
	a := &account{
		Simulator: s, settings: current, clock: s.time(current), plans: *s.plans.Load(), suffix: suffixOf(customer),
		setups: map[string]*setupIntent{}, payments: map[string]*paymentIntent{}, answers: map[string]*kept{},
		stored: map[string][]byte{},
	}
	for _, row := range rows {
		a.stored[row.ID] = row.Body
		if err := a.load(row); err != nil {
			return nil, fmt.Errorf("the object %s: %w", row.ID, err)
		}
	}
	a.link()
	return a, nil
}

// load reads an object.
func (s *account) load(row ports.SandboxObject) error {
	switch kindOf(row.ID) {
	case "counts":
		return json.Unmarshal(row.Body, &s.counts)
	case "cus":
		return decode(&s.customers, row)
	case "pm":
		return decode(&s.methods, row)
	case "txi":
		var i taxID
		err := json.Unmarshal(row.Body, &i)
		s.customers[0].taxIDs = append(s.customers[0].taxIDs, &i)
		return err
	case "seti":
		s.setups[row.ID] = &setupIntent{}
		return json.Unmarshal(row.Body, s.setups[row.ID])
	case "pi":
		s.payments[row.ID] = &paymentIntent{}
		return json.Unmarshal(row.Body, s.payments[row.ID])
	case "sub":
		return decode(&s.subscriptions, row)
	case "sub_sched":
		var c schedule
		err := json.Unmarshal(row.Body, &c)
		if c.subscription = s.subscription(c.Subscription); c.subscription != nil {
			c.subscription.schedule = &c
		}
		return err
	case "in":
		return decode(&s.invoices, row)
	case "cs", "bps":
		return decode(&s.checkouts, row)
	case "ch":
		return decode(&s.charges, row)
	case "re":
		return decode(&s.refunds, row)
	case "du":
		return decode(&s.disputes, row)
	case "cn":
		return decode(&s.notes, row)
	case "mev":
		return decode(&s.usage, row)
	case "evt":
		return decode(&s.events, row)
	case "key":
		var k kept
		err := json.Unmarshal(row.Body, &k)
		s.answers[k.Key] = &k
		return err
	}
	return fmt.Errorf("of an unknown kind")
}

func decode[T any](all *[]*T, row ports.SandboxObject) error {
	one := new(T)
	*all = append(*all, one)
	return json.Unmarshal(row.Body, one)
}

// link makes the pointers between objects, which are stored as identifiers.
func (s *account) link() {
	for _, m := range s.methods {
		if c := s.customer(m.Customer); c != nil {
			c.methods = append(c.methods, m)
		}
	}
	for _, i := range s.invoices {
		i.intent = s.payments[i.Intent]
	}
	for _, u := range s.subscriptions {
		u.latest, u.setup = s.invoice(u.Latest), s.setups[u.Setup]
		u.turned = s.turns.Add(1)%2 == 0
		if u.Pending != nil {
			u.Pending.invoice = s.invoice(u.Pending.Invoice)
		}
	}
}

// unlink stores the pointers as identifiers.
func (s *account) unlink() {
	for _, i := range s.invoices {
		if i.Intent = ""; i.intent != nil {
			i.Intent = i.intent.ID
		}
	}
	for _, u := range s.subscriptions {
		if u.Latest = ""; u.latest != nil {
			u.Latest = u.latest.ID
		}
		if u.Setup = ""; u.setup != nil {
			u.Setup = u.setup.ID
		}
		if u.Pending != nil {
			u.Pending.Invoice = u.Pending.invoice.ID
		}
		if u.schedule != nil {
			u.schedule.Subscription = u.ID
		}
	}
}

// objects returns all objects, by their identifiers.
func (s *account) objects() map[string]any {
	all := map[string]any{}
	for _, c := range s.customers {
		all[c.ID], all[countsRow] = c, s.counts
		for _, i := range c.taxIDs {
			all[i.ID] = i
		}
	}
	put(all, s.methods, func(m *method) string { return m.ID })
	for id, i := range s.setups {
		all[id] = i
	}
	for id, i := range s.payments {
		all[id] = i
	}
	for _, u := range s.subscriptions {
		if all[u.ID] = u; u.schedule != nil {
			all[u.schedule.ID] = u.schedule
		}
	}
	put(all, s.invoices, func(i *invoice) string { return i.ID })
	put(all, s.checkouts, func(c *checkout) string { return c.ID })
	put(all, s.charges, func(c *Charge) string { return c.ID })
	put(all, s.refunds, func(r *refund) string { return r.ID })
	put(all, s.disputes, func(d *dispute) string { return d.ID })
	put(all, s.notes, func(n *creditNote) string { return n.ID })
	put(all, s.usage, func(e *meterEvent) string { return e.ID })
	put(all, s.events, func(e *event) string { return e.ID })
	for key, k := range s.answers {
		sum := sha256.Sum256([]byte(key))
		all["key_"+hex.EncodeToString(sum[:])] = k
	}
	return all
}

// changes returns the objects that have changed, with the events about them. Objects that are gone have no body.
func (s *account) changes() (changed []ports.SandboxObject, err error) {
	s.prune()
	s.unlink()
	bodies := map[string][]byte{}
	add := func() error {
		for id, object := range s.objects() {
			if _, isDone := bodies[id]; isDone && id != countsRow {
				continue
			}
			if bodies[id], err = json.Marshal(object); err != nil {
				return err
			}
		}
		return nil
	}
	if err := add(); err != nil {
		return nil, err
	}
	s.report(bodies)
	if err := add(); err != nil { // the events
		return nil, err
	}
	for id, body := range bodies {
		if !bytes.Equal(body, s.stored[id]) {
			changed = append(changed, ports.SandboxObject{ID: id, Body: body})
		}
	}
	for id := range s.stored {
		if bodies[id] == nil {
			changed = append(changed, ports.SandboxObject{ID: id})
		}
	}
	return changed, nil
}

// look calls act with a customer's objects. What has become due is processed first, and stored.
func (s *Simulator) look(ctx context.Context, customer string, act func(*account) error) error {
	current, err := s.settingsOf(ctx, customer)
	if err != nil {
		return err
	}
	var rows []ports.SandboxObject
	if customer != "" {
		if rows, err = s.Objects.Read(ctx, s.Org, customer); err != nil {
			return err
		}
	}
	a, err := s.open(customer, current, rows)
	if err != nil {
		return err
	}
	if a.roll(a.clock) || len(a.events) > 0 {
		return s.change(ctx, customer, act)
	}
	return act(a)
}

// lookAtAll calls act with all customers, without their other objects.
func (s *Simulator) lookAtAll(ctx context.Context, act func(*account) error) error {
	const page = 100
	current, err := s.settingsOf(ctx, "")
	if err != nil {
		return err
	}
	var all []ports.SandboxObject
	for ids := []string{""}; len(ids) > 0; {
		if ids, err = s.Objects.Customers(ctx, s.Org, ids[len(ids)-1], page); err != nil {
			return err
		}
		for _, id := range ids {
			rows, err := s.Objects.Read(ctx, s.Org, id)
			if err != nil {
				return err
			}
			all = append(all, slices.DeleteFunc(rows, func(row ports.SandboxObject) bool {
				return kindOf(row.ID) != "cus"
			})...)
		}
	}
	a, err := s.open("", current, all)
	if err != nil {
		return err
	}
	return act(a)
}

// change calls act with a customer's objects, stores what it changes, and delivers the events. act may be called again
// after a conflict; what it changes is not stored if it fails.
func (s *Simulator) change(ctx context.Context, customer string, act func(*account) error) error {
	current, err := s.settingsOf(ctx, customer)
	if err != nil {
		return err
	}
	if customer == "" {
		a, err := s.open("", current, nil)
		if err != nil {
			return err
		}
		return act(a)
	}
	err = s.Objects.Change(ctx, s.Org, customer, func(rows []ports.SandboxObject) ([]ports.SandboxObject, error) {
		a, err := s.open(customer, current, rows)
		if err != nil {
			return nil, err
		}
		a.roll(a.clock)
		if err := act(a); err != nil {
			return nil, err
		}
		return a.changes()
	})
	if err == nil {
		s.flush(ctx, customer)
	}
	return err
}

// all calls act with the objects of each customer.
func (s *Simulator) all(ctx context.Context, act func(customer string) error) error {
	for cursor := ""; ; {
		ids, err := s.Objects.Customers(ctx, s.Org, cursor, 100)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			if err := act(id); err != nil {
				return err
			}
			cursor = id
		}
	}
}
