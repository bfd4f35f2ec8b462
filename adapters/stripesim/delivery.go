package stripesim

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// event is an event that is to be delivered.
type event struct {
	ID, Type, Object, About string // About is the identifier of the object
	At                      time.Time
	Charge                  string // that a refund or a dispute is about
}

func (s *account) emit(kind, object, subject string) {
	if s.Deliver == nil {
		return
	}
	e := &event{ID: s.id("evt"), Type: kind, Object: object, About: subject, At: s.now()}
	for _, r := range s.refunds {
		if r.ID == subject {
			e.Charge = r.Charge
		}
	}
	for _, d := range s.disputes {
		if d.ID == subject {
			e.Charge = d.Charge
		}
	}
	s.events = append(s.events, e)
}

// reportDecline emits the event about a payment that was declined, and of which nothing is left: its invoice is deleted
// (https://docs.stripe.com/billing/subscriptions/pending-updates, error_if_incomplete).
func (s *account) reportDecline() {
	s.emit("payment_intent.payment_failed", "payment_intent", s.id("pi"))
}

// facts are what an object's events depend on.
type facts struct {
	Status, Customer string
	Attempts         int
}

func (f facts) live() bool { return payment.Status(f.Status).Live() }

// kinds are the kinds of objects that have events, in the order in which their events are sent, with their names.
var kinds = [][2]string{
	{"cus", "customer"}, {"pm", "payment_method"}, {"seti", "setup_intent"}, {"sub", "subscription"}, {"in", "invoice"},
	{"pi", "payment_intent"}, {"cs", "checkout.session"}, {"re", "refund"}, {"du", "dispute"}, {"cn", "credit_note"},
}

// thin returns an event that names its object (https://docs.stripe.com/api/v2/core/events/object).
func (e *event) thin() map[string]any {
	return map[string]any{
		"id": e.ID, "object": "v2.core.event", "type": "v1." + e.Type, "livemode": false, "context": nil,
		"created": e.At.Format(time.RFC3339Nano), "related_object": map[string]any{
			"id": e.About, "type": e.Object, "url": "/v1/" + strings.ReplaceAll(e.Object, ".", "/") + "s/" + e.About,
		},
	}
}

// report emits the events about what has changed (https://docs.stripe.com/api/events/types).
func (s *account) report(bodies map[string][]byte) {
	ids := slices.Sorted(maps.Keys(bodies))
	for _, kind := range kinds {
		for _, id := range ids {
			prefix := kindOf(id)
			if prefix != kind[0] || string(bodies[id]) == string(s.stored[id]) {
				continue
			}
			var previous, current facts
			_ = json.Unmarshal(s.stored[id], &previous) // of a new object there is none
			_ = json.Unmarshal(bodies[id], &current)
			for _, name := range eventsOf(prefix, s.stored[id] == nil, previous, current) {
				s.emit(name, kind[1], id)
			}
			if prefix == "pi" && (current.Attempts > previous.Attempts || asked(previous, current)) {
				s.reportInvoice(id, asked(previous, current))
			}
		}
	}
}

// asked reports whether a payment waits for the payer now.
func asked(previous, current facts) bool {
	return current.Status == "requires_action" && previous.Status != "requires_action"
}

// reportInvoice emits the event about the invoice of a payment that failed or waits for the payer.
func (s *account) reportInvoice(intent string, waits bool) {
	name := "invoice.payment_failed"
	if waits {
		name = "invoice.payment_action_required"
	}
	for _, i := range s.invoices {
		if i.Intent == intent {
			s.emit(name, "invoice", i.ID)
		}
	}
}

// eventsOf returns the types of the events about a change of an object.
func eventsOf(prefix string, isNew bool, previous, current facts) (types []string) {
	add := func(condition bool, name string) {
		if condition {
			types = append(types, name)
		}
	}
	became := func(status string) bool { return current.Status == status && previous.Status != status }
	switch prefix {
	case "cus":
		add(isNew, "customer.created")
		add(!isNew, "customer.updated")
	case "pm":
		add(isNew && current.Customer != "", "payment_method.attached")
		add(!isNew && current.Customer == "" && previous.Customer != "", "payment_method.detached")
	case "seti":
		add(isNew, "setup_intent.created")
		add(became("requires_action"), "setup_intent.requires_action")
		add(became("succeeded"), "setup_intent.succeeded")
		add(became("canceled"), "setup_intent.canceled")
	case "sub":
		add(isNew, "customer.subscription.created")
		add(!isNew && current.live(), "customer.subscription.updated")
		add(!isNew && previous.live() && !current.live(), "customer.subscription.deleted")
	case "in":
		add(isNew, "invoice.created")
		add(became("paid"), "invoice.paid")
	case "pi":
		add(current.Attempts > previous.Attempts, "payment_intent.payment_failed")
	case "re":
		add(isNew, "refund.created")
		add(!isNew, "refund.updated")
		add(!isNew && became("failed"), "refund.failed")
	case "du":
		isClosed := slices.Contains([]string{"won", "lost", "warning_closed"}, current.Status)
		add(isNew, "charge.dispute.created")
		add(!isNew && !isClosed, "charge.dispute.updated")
		add(!isNew && isClosed, "charge.dispute.closed")
	case "cn":
		add(isNew, "credit_note.created")
	case "cs":
		add(became("complete"), "checkout.session.completed")
		add(became("expired"), "checkout.session.expired")
	}
	return types
}

// delivering is the key of the customer in the context of the deliveries of the customer's events.
type delivering struct{}

// post lets one goroutine at a time deliver a customer's events. busy has the customers whose events are being
// delivered.
type post struct {
	mu   sync.Mutex
	busy map[string]*delivery
}

// delivery is the delivery of a customer's events by one goroutine.
type delivery struct {
	repeat bool          // another delivery was requested since it looked for events
	done   chan struct{} // closed when it has ended
}

// begin reports whether the caller must deliver. If not, the current deliverer checks once more, and the caller can
// wait for it.
func (p *post) begin(customer string) (d *delivery, deliver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d, busy := p.busy[customer]; busy {
		d.repeat = true
		return d, false
	}
	d = &delivery{done: make(chan struct{})}
	p.busy[customer] = d
	return d, true
}

// end reports whether there is nothing more to deliver.
func (p *post) end(customer string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.busy[customer]
	if d.repeat {
		d.repeat = false
		return false
	}
	delete(p.busy, customer)
	close(d.done)
	return true
}

// flush delivers a customer's pending events, or waits until another call has. Otherwise parallel calls would overtake
// their events: cards could be tried after the limit of declined cards was reached. Events that cannot be delivered
// stay pending until the next attempt; the call that caused them does not fail.
func (s *Simulator) flush(ctx context.Context, customer string) {
	if s.Deliver == nil || ctx.Value(delivering{}) == customer { // who receives an event may call the account
		return
	}
	ctx = context.WithValue(ctx, delivering{}, customer)
	d, deliver := s.post.begin(customer)
	if !deliver {
		select {
		case <-ctx.Done():
		case <-d.done:
		}
		return
	}
	for {
		s.deliverAll(ctx, customer)
		if s.post.end(customer) {
			return
		}
	}
}

// deliverAll sends a customer's stored events, reordered or twice if a fault asks for that. Those that fail stay
// stored.
func (s *Simulator) deliverAll(ctx context.Context, customer string) {
	rows, err := s.Objects.Read(ctx, s.Org, customer)
	if err != nil {
		return
	}
	var events []*event
	for _, row := range rows {
		if strings.HasPrefix(row.ID, "evt_") && decode(&events, row) != nil {
			return
		}
	}
	current, err := s.settingsOf(ctx, "")
	if err != nil || len(events) == 0 {
		return
	}
	if current.Reorder {
		slices.Reverse(events)
	}
	if current.Duplicate {
		events = append(events, events...)
	}
	var finished []ports.SandboxObject
	for _, e := range events {
		if s.send(ctx, customer, e) != nil {
			break
		}
		finished = append(finished, ports.SandboxObject{ID: e.ID})
	}
	slices.SortFunc(finished, func(a, b ports.SandboxObject) int { return cmp.Compare(a.ID, b.ID) })
	finished = slices.CompactFunc(finished, func(a, b ports.SandboxObject) bool { return a.ID == b.ID })
	_ = s.Objects.Change(ctx, s.Org, customer, // else they are sent again
		func([]ports.SandboxObject) ([]ports.SandboxObject, error) { return finished, nil })
}

// send delivers an event in Stripe's format (https://docs.stripe.com/api/events/object): the envelope, and the members
// of the object that identify its customer.
func (s *Simulator) send(ctx context.Context, customer string, e *event) error {
	object := map[string]any{"id": e.About, "object": e.Object}
	switch {
	case e.Charge != "": // refunds and disputes do not name the customer
		object["charge"] = e.Charge
	case e.Object != "customer":
		object["customer"] = customer
	}
	envelope := map[string]any{
		"id": e.ID, "object": "event", "type": e.Type, "api_version": "sandbox", "created": e.At.Unix(),
		"livemode": false, "pending_webhooks": 1, "data": map[string]any{"object": object},
	}
	if s.Thin {
		envelope = e.thin()
	}
	body, err := json.Marshal(envelope)
	if err != nil {
		return err
	}
	return s.Deliver(ctx, body, payment.Sign(s.WebhookKey(), body, s.Clock()))
}
