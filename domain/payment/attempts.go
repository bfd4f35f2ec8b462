package payment

import (
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// CardLimits prevent payments from being used to test stolen cards and to guess promotion codes. Zero turns a limit
// off.
type CardLimits struct {
	SetupIntentsPerHour int // setup intents that a workspace can create within an hour
	OpenSetupIntents    int // unconfirmed setup intents that it can have at the same time
	DeclinesPerDay      int // declined cards within 24 hours that pause the workspace's payments
	InvalidCodesPerHour int // invalid promotion codes that it can send within an hour
}

// How long attempts count.
const (
	intentsWithin  = time.Hour
	declinesWithin = 24 * time.Hour
)

// CardAttempts are a workspace's recent attempts to add and to charge cards.
type CardAttempts struct {
	Intents  []IntentAttempt `json:"intents,omitempty"`  // of the last hour, oldest first
	Declines []time.Time     `json:"declines,omitempty"` // of the last 24 hours, oldest first

	Promotions []time.Time `json:"promotions,omitempty"` // invalid promotion codes of the last hour, oldest first
}

// IntentAttempt is one setup intent that was created.
type IntentAttempt struct {
	Key       string    `json:"key"` // the gateway's idempotency key of the call
	At        time.Time `json:"at"`
	Confirmed bool      `json:"confirmed,omitempty"`
}

// CountIntents reports whether l limits setup intents.
func (l CardLimits) CountIntents() bool { return l.SetupIntentsPerHour > 0 || l.OpenSetupIntents > 0 }

// BeginIntent counts a setup intent that is created under key; a repeated key counts once. It returns
// ErrPaused, or ErrIntentLimit with the time to wait.
func (c *Customer) BeginIntent(by identity.Actor, key string, l CardLimits) error {
	if err := c.allow(by); err != nil {
		return err
	}
	if err := c.unpaused(); err != nil {
		return err
	}
	if !l.CountIntents() {
		return nil
	}
	var recent []IntentAttempt
	var open []time.Time
	for _, i := range c.Attempts.Intents {
		if !i.At.Add(intentsWithin).After(by.At) {
			continue
		}
		if i.Key == key {
			return nil
		}
		recent = append(recent, i)
		if !i.Confirmed {
			open = append(open, i.At)
		}
	}
	if n := l.SetupIntentsPerHour; n > 0 && len(recent) >= n {
		return ErrIntentLimit.WithRetryAfter(recent[len(recent)-n].At.Add(intentsWithin).Sub(by.At))
	}
	if n := l.OpenSetupIntents; n > 0 && len(open) >= n {
		return ErrIntentLimit.WithRetryAfter(open[len(open)-n].Add(intentsWithin).Sub(by.At))
	}
	recent = append(recent, IntentAttempt{Key: key, At: by.At})
	c.Attempts.Intents = recent
	return nil
}

// confirmIntent marks the oldest unconfirmed setup intent as confirmed. It is called when a method was added, because
// gateways do not report which intent added it.
func (c *Customer) confirmIntent() {
	for n, i := range c.Attempts.Intents {
		if !i.Confirmed {
			intents := append([]IntentAttempt(nil), c.Attempts.Intents...)
			intents[n].Confirmed = true
			c.Attempts.Intents = intents
			return
		}
	}
}

// Declined counts a card that was declined when it was added or charged. When the declines within 24
// hours reach the limit, the workspace's payments are paused until Resume.
func (c *Customer) Declined(by identity.Actor, l CardLimits) {
	if l.DeclinesPerDay == 0 || !c.PausedAt.IsZero() {
		return
	}
	var recent []time.Time
	for _, now := range c.Attempts.Declines {
		if now.Add(declinesWithin).After(by.At) {
			recent = append(recent, now)
		}
	}
	recent = append(recent, by.At)
	c.Attempts.Declines = recent
	if n := len(c.Attempts.Declines); n >= l.DeclinesPerDay {
		c.PausedAt = by.At
		c.Record(by, "payments.paused", string(c.ID), map[string]any{"declines": n})
	}
}

// Resume ends a pause and deletes the declines that led to it. It reports whether there was a pause.
func (c *Customer) Resume(by identity.Actor) (isResumed bool, err error) {
	if err := c.allow(by); err != nil {
		return false, err
	}
	if c.PausedAt.IsZero() {
		return false, nil
	}
	c.PausedAt, c.Attempts.Declines = time.Time{}, nil
	c.Record(by, "payments.resumed", string(c.ID), nil)
	return true, nil
}

// unpaused returns ErrPaused if payments are paused.
func (c *Customer) unpaused() error {
	if c.PausedAt.IsZero() {
		return nil
	}
	return ErrPaused
}

// TellsOfDecline reports whether e is about a declined card. This includes failed renewals: gateways retry them only a
// few times within weeks, which never reaches the limit.
func (e *Event) TellsOfDecline() bool {
	object, outcome, _ := strings.Cut(strings.TrimPrefix(e.Type, "v1."), ".") // of thin events
	return (object == "setup_intent" && outcome == "setup_failed") || (object == "payment_intent" &&
		outcome == "payment_failed")
}
