package webhook

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/page"
)

// DeliveryPrefix begins a delivery's identifier.
const DeliveryPrefix = "whd"

const (
	// KeptFor is the time for which deliveries are kept.
	KeptFor = 30 * 24 * time.Hour
	// MaxAnswer is the maximum number of bytes that are kept of an endpoint's response.
	MaxAnswer = 512

	gone = 410 // the status with which an endpoint asks for no more deliveries
)

// DeliveryID identifies a delivery.
type DeliveryID string

// State is a delivery's state.
type State string

// The states.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Failed    State = "failed" // after the last attempt
)

// Delivery is an event that an endpoint gets.
type Delivery struct {
	ID       DeliveryID
	Endpoint ID
	Event    event.Event
	State    State
	Attempts int
	Due      time.Time // of the next attempt, while it is pending; zero: it waits for one about the same subject
	Last     Outcome   // of the last attempt; zero before the first

	CreatedAt   time.Time
	AttemptedAt time.Time // zero before the first attempt

	EventRemoved bool // by retention: it can no longer be sent
}

// DeliveryPage is one page of deliveries, newest first.
type DeliveryPage = page.Of[Delivery]

// DeliveryFilter narrows a list of deliveries. Empty fields match every delivery.
type DeliveryFilter struct {
	State State
	Type  string // of the event
}

// Outcome is how an attempt ended.
type Outcome struct {
	Status     int           // of the response; 0: there was none
	Failure    string        // code of why there was no response; empty if there was one
	Answer     string        // the beginning of the response's body, at most MaxAnswer bytes of UTF-8
	Took       time.Duration // until the response, or the failure
	RetryAfter time.Duration // as the endpoint asked; 0: it did not
}

// Delivered reports whether the endpoint confirmed the delivery: any status of 2xx.
func (o Outcome) Delivered() bool { return o.Status >= 200 && o.Status < 300 }

// NewDelivery returns an event's delivery to e, due at once.
func (e *Endpoint) NewDelivery(ev event.Event, now time.Time) Delivery {
	return Delivery{ID: DeliveryID(id.New(DeliveryPrefix)), Endpoint: e.ID, Event: ev, State: Pending, Due: now,
		CreatedAt: now}
}

// waits are the times between attempts, as the Standard Webhooks specification recommends: 75 hours in all.
var waits = [...]time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
	20 * time.Hour, 24 * time.Hour,
}

// Ended notes the outcome of an attempt that ended at a time. The next one is after a wait that grows with the
// attempts, a fifth shorter or longer by chance (0 to 1), or when the endpoint asked for it, within a day.
func (d *Delivery) Ended(o Outcome, now time.Time, chance float64) {
	d.Attempts++
	d.Last, d.AttemptedAt = o, now
	switch {
	case o.Delivered():
		d.State = Delivered
	case d.Attempts > len(waits):
		d.State = Failed
	default:
		wait := time.Duration(float64(waits[d.Attempts-1]) * (0.8 + 0.4*chance))
		d.Due = now.Add(max(wait, min(o.RetryAfter, 24*time.Hour)))
	}
}

// EventRemoved is a delivery's failure if retention has removed its event before it arrived.
const EventRemoved = "event_removed"

// Abandon ends d, whose event was removed, so that later ones about the same subject can continue.
func (d *Delivery) Abandon() {
	d.State, d.Last = Failed, Outcome{Failure: EventRemoved}
}

// Again makes d pending, due at a time, as if it had never been tried.
func (d *Delivery) Again(now time.Time) {
	d.State, d.Attempts, d.Due = Pending, 0, now
}
