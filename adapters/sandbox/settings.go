package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
)

// settings are what an operator has set for the sandbox; they are stored in an account of their own.
type settings struct {
	Script
	Ahead time.Duration `json:"ahead"` // how far its clock is ahead
	Kept  []string      `json:"kept,omitempty"`
}

// Script says which failures the sandbox simulates from now on.
type Script struct {
	Troubles  []Kind `json:"troubles"`       // of the next calls, one each
	Call      string `json:"call,omitempty"` // one of Calls if only these calls have troubles
	Duplicate bool   `json:"duplicate"`      // whether events come twice
	Reorder   bool   `json:"reorder"`        // whether they come in the reverse order
}

// Calls are the names of the calls that a Script can choose.
func Calls() []string {
	return []string{"amend", "cancel", "create customer", "create setup intent", "detach", "invoices", "pay", "portal",
		"preview", "promotion", "set default", "subscribe", "subscriptions", "update customer", "wallet"}
}

// concerns reports whether the next trouble is for a call, whose name may end in an id.
func (s Script) concerns(call string) bool {
	return len(s.Troubles) > 0 && (s.Call == "" || s.Call == call || strings.HasPrefix(call, s.Call+" "))
}

const settingsAccount = "settings"

// Kind is a kind of trouble that a call can have.
type Kind string

// The kinds of trouble.
const (
	None         Kind = ""
	Fine         Kind = "ok"            // none after all
	Timeout      Kind = "timeout"       // no effect, and no answer
	TimeoutAfter Kind = "timeout_after" // the effect, but no answer
	Failure      Kind = "error"         // 500; nothing happened
	FailureAfter Kind = "error_after"   // 500 after the effect
	Limited      Kind = "rate_limited"  // 429
	Reset        Kind = "reset"         // the connection broke after the effect
	Garbage      Kind = "garbage"       // the effect, and an unreadable response
	FailureKept  Kind = "error_kept"    // 500; nothing happened, and the key of the call fails from now on
)

// Kinds are the kinds of trouble that end when a call is repeated: all but FailureKept.
func Kinds() []Kind {
	return []Kind{Timeout, TimeoutAfter, Failure, FailureAfter, Limited, Reset, Garbage}
}

// ParseKind reads a Kind's name.
func ParseKind(name string) (Kind, bool) {
	return Kind(name), Kind(name) == Fine || Kind(name) == FailureKept || slices.Contains(Kinds(), Kind(name))
}

// Trouble decides, for tests, what goes wrong with a call.
type Trouble func(call string) (Kind, time.Duration)

// WithTrouble returns a sandbox on the same accounts whose calls go wrong, and take as long, as t says.
func (g *Gateway) WithTrouble(t Trouble) *Gateway {
	c := *g
	c.trouble = t
	return &c
}

func (g *Gateway) settings(ctx context.Context) (settings, error) {
	var s settings
	text, err := g.accounts.Read(ctx, g.org, settingsAccount)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

func (g *Gateway) change(ctx context.Context, change func(*settings)) error {
	return g.accounts.Write(ctx, g.org, settingsAccount, func(text []byte) ([]byte, error) {
		var s settings
		if text != nil {
			if err := json.Unmarshal(text, &s); err != nil {
				return nil, err
			}
		}
		change(&s)
		return json.Marshal(s)
	})
}

// now is the time of the sandbox, as exact as it is stored.
func (g *Gateway) now(ctx context.Context) (time.Time, error) {
	s, err := g.settings(ctx)
	return g.clock().Add(s.Ahead).UTC().Truncate(time.Microsecond), err
}

// Now returns the time of the sandbox.
func (g *Gateway) Now(ctx context.Context) (time.Time, error) { return g.now(ctx) }

// Advance moves the clock of the sandbox forward and processes what has become due for all customers:
// renewals, ends of trials, expiry. It returns the sandbox's time and the number of its customers.
func (g *Gateway) Advance(ctx context.Context, by time.Duration) (now time.Time, customers int, err error) {
	if by < 0 {
		return now, 0, fmt.Errorf("the clock of the sandbox can only go forward")
	}
	if err := g.change(ctx, func(s *settings) { s.Ahead += by }); err != nil {
		return now, 0, err
	}
	if now, err = g.now(ctx); err != nil {
		return now, 0, err
	}
	for cursor := ""; ; {
		ids, err := g.accounts.List(ctx, g.org, cursor, 100)
		if err != nil || len(ids) == 0 {
			return now, customers, err
		}
		for _, id := range ids {
			cursor = id
			if !strings.HasPrefix(id, "cus_") {
				continue
			}
			customers++
			if _, err := g.look(ctx, payment.CustomerID(id)); err != nil {
				return now, customers, err
			}
		}
	}
}

// Provoke makes the next calls fail, one after the other, and sets how events are delivered from now on. Without
// troubles, kept failures end, too.
func (g *Gateway) Provoke(ctx context.Context, script Script) error {
	return g.change(ctx, func(s *settings) {
		s.Script = script
		if len(script.Troubles) == 0 {
			s.Kept = nil
		}
	})
}

// begin makes a call fail before it takes effect, if that was provoked. fail makes it fail afterwards. key is empty for
// calls that have none.
func (g *Gateway) begin(ctx context.Context, call, key string) (_ context.Context, fail func() error, err error) {
	s, err := g.settings(ctx)
	if err != nil {
		return ctx, nil, err
	}
	if key != "" && slices.Contains(s.Kept, key) {
		return ctx, nil, &payment.KeptFailure{Reason: "provoked"}
	}
	kind, delay, err := g.next(ctx, call)
	if err != nil {
		return ctx, nil, err
	}
	if delay > 0 {
		select {
		case <-ctx.Done():
			return ctx, nil, fmt.Errorf("%w: %w", payment.ErrGatewayTimeout, ctx.Err())
		case <-time.After(delay):
		}
	}
	switch kind {
	case Timeout:
		return ctx, nil, payment.ErrGatewayTimeout
	case FailureKept:
		if err := g.change(ctx, func(s *settings) { s.Kept = append(s.Kept, key) }); err != nil {
			return ctx, nil, err
		}
		return ctx, nil, payment.ErrGatewayUnavailable
	case Failure:
		return ctx, nil, payment.ErrGatewayUnavailable
	case Limited:
		return ctx, nil, &payment.LimitedError{Wait: time.Second, Reason: "provoked"}
	}
	failures := map[Kind]error{TimeoutAfter: payment.ErrGatewayTimeout, FailureAfter: payment.ErrGatewayUnavailable,
		Reset: payment.ErrGatewayUnavailable, Garbage: payment.ErrGateway}[kind]
	return ctx, func() error { return failures }, nil
}

// next is the trouble of the next call.
func (g *Gateway) next(ctx context.Context, call string) (kind Kind, delay time.Duration, err error) {
	if g.trouble != nil {
		kind, delay = g.trouble(call)
		return kind, delay, nil
	}
	s, err := g.settings(ctx)
	if err != nil || !s.concerns(call) {
		return None, 0, err
	}
	err = g.change(ctx, func(s *settings) {
		kind = None
		if s.concerns(call) {
			kind, s.Troubles = s.Troubles[0], s.Troubles[1:]
		}
	})
	return kind, 0, err
}
