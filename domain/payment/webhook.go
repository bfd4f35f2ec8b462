package payment

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// EventState is a gateway event's processing state.
type EventState string

// The states.
const (
	Received EventState = "received" // waits for a job
	Done     EventState = "done"
	Ignored  EventState = "ignored" // about a customer that is not Atrium's
	Dead     EventState = "dead"    // given up; an operator must look at it, and can replay it
)

// MaxEventAttempts is the number of attempts that may fail before an event is dead.
const MaxEventAttempts = 8

// Event is a gateway event without its content, which a job reads again from the gateway: the body holds payers'
// secrets, and may be older than the mirror.
type Event struct {
	Account    string // at the gateway; Account and ID identify the event
	ID         string
	Org        identity.OrgID
	Gateway    GatewayKind
	Type       string
	Customer   CustomerID // the customer that it is about; "" for none
	About      Reference  // whose customer it is, if it does not name the customer; not stored
	Workspace  identity.WorkspaceID
	State      EventState
	Attempts   int
	Failure    string // code of the last failed attempt
	CreatedAt  time.Time
	ReceivedAt time.Time
	EndedAt    time.Time // zero until it is done, ignored or dead
}

// Reference names an object at the gateway, as Stripe's events do.
type Reference struct {
	Kind string // such as charge or checkout.session
	ID   string // "" for no object
}

// Tolerance is a signature's greatest age. A signature's time can be as far in the future.
const Tolerance = 300 * time.Second

// Sign returns a body's signature header, in the scheme of Stripe: HMAC-SHA256 of the time, a dot and the body
// (https://docs.stripe.com/webhooks, "Verify manually").
func Sign(key secret.String, body []byte, now time.Time) string {
	t := strconv.FormatInt(now.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac(key, t, body))
}

func mac(key secret.String, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(key.Reveal()))
	h.Write([]byte(t + "."))
	h.Write(body)
	return h.Sum(nil)
}

// CheckSignature returns ErrSignature unless one of keys has signed the body within the Tolerance. An
// empty key matches no signature.
func CheckSignature(keys []secret.String, header string, body []byte, now time.Time) error {
	var t string
	var sums [][]byte
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			t = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				sums = append(sums, sum)
			}
		}
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || len(sums) > 16 {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return ErrSignature
	}
	for _, key := range keys {
		if key.IsZero() {
			continue
		}
		want := mac(key, t, body)
		for _, sum := range sums {
			if hmac.Equal(sum, want) {
				return nil
			}
		}
	}
	return ErrSignature
}

// lastSecond is the last second of the year 9999, after which RFC 3339 has no years.
const lastSecond = 253402300799

// thinEvent is the object in an event from Stripe's API v2, which names an object without showing it
// (https://docs.stripe.com/event-destinations#thin-events).
const thinEvent = "v2.core.event"

// ParseEvent reads a Stripe-shaped event's envelope in any API version, or returns ErrEventMalformed.
func ParseEvent(body []byte) (*Event, error) {
	e, err := parseEnvelope(body)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{e.ID, e.Type, e.Account, string(e.Customer), e.About.Kind, e.About.ID} {
		if len(text) > 255 || strings.Contains(text, "\x00") { // no store would accept it
			return nil, ErrEventMalformed
		}
	}
	return e, nil
}

func parseEnvelope(body []byte) (*Event, error) {
	var kind struct {
		Object string `json:"object"`
	}
	if err := json.Unmarshal(body, &kind); err != nil {
		return nil, ErrEventMalformed
	}
	if kind.Object == thinEvent {
		return parseThinEvent(body)
	}
	return parseSnapshot(body)
}

// parseThinEvent reads an event of the v2 API, which names an object instead of containing it. Since the API version
// 2026-09-30.endive there are such events about objects of the v1 API, with types such as v1.invoice.paid.
func parseThinEvent(body []byte) (*Event, error) {
	var in struct {
		ID      string    `json:"id"`
		Type    string    `json:"type"`
		Context string    `json:"context"` // of Connect: the account that the event belongs to
		Created time.Time `json:"created"`
		Related struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		} `json:"related_object"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.ID == "" || in.Type == "" || in.Created.Unix() < 0 {
		return nil, ErrEventMalformed
	}
	e := &Event{ID: in.ID, Type: in.Type, Account: in.Context, CreatedAt: in.Created.UTC()}
	if object := (Reference{in.Related.Type, in.Related.ID}); object.Kind == "customer" {
		e.Customer = CustomerID(object.ID)
	} else {
		e.About = object
	}
	return e, nil
}

// parseSnapshot reads an event that shows its object.
func parseSnapshot(body []byte) (*Event, error) {
	var in struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Type    string `json:"type"`
		Account string `json:"account"` // of Connect: the account that the event belongs to
		Created int64  `json:"created"`
		Data    struct {
			Object struct {
				ID       string          `json:"id"`
				Object   string          `json:"object"`
				Customer json.RawMessage `json:"customer"` // an id, or the customer itself if it was expanded
				Charge   string          `json:"charge"`
			} `json:"object"`
			Previous struct {
				Customer string `json:"customer"` // of a payment method that was detached from it
			} `json:"previous_attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &in); err != nil || in.ID == "" || in.Type == "" || in.Object != "event" ||
		in.Created < 0 || in.Created > lastSecond {
		return nil, ErrEventMalformed
	}
	e := &Event{ID: in.ID, Type: in.Type, Account: in.Account, CreatedAt: time.Unix(in.Created, 0).UTC()}
	var object struct {
		ID CustomerID `json:"id"`
	}
	switch {
	case in.Data.Object.Object == "customer":
		e.Customer = CustomerID(in.Data.Object.ID)
	case json.Unmarshal(in.Data.Object.Customer, &e.Customer) == nil && e.Customer != "":
	case json.Unmarshal(in.Data.Object.Customer, &object) == nil && object.ID != "":
		e.Customer = object.ID
	case in.Data.Object.Object == "refund", in.Data.Object.Object == "dispute":
		e.About = Reference{"charge", in.Data.Object.Charge}
	default:
		e.Customer = CustomerID(in.Data.Previous.Customer)
	}
	return e, nil
}

// Finish records that e has been processed.
func (e *Event) Finish(now time.Time) { e.State, e.Failure, e.EndedAt = Done, "", now }

// Fail records a failed attempt. After MaxEventAttempts, e is dead.
func (e *Event) Fail(code string, now time.Time) {
	e.Attempts++
	e.Failure = code
	if e.Attempts >= MaxEventAttempts {
		e.State, e.EndedAt = Dead, now
	}
}

// Replay makes e wait again, whatever its state.
func (e *Event) Replay() { e.State, e.Attempts, e.Failure, e.EndedAt = Received, 0, "", time.Time{} }
