package node

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

// NewLog returns a log in the configured format. While something that Atrium needs is away, it repeats a line about
// the same cause once a second.
func NewLog(w io.Writer, c configs.Log) *slog.Logger {
	return slog.New(logOutages{NewHandler(w, c), &outages{seen: map[outage]*occurrences{}}})
}

// NewHandler returns a handler that writes lines in the configured format.
func NewHandler(w io.Writer, c configs.Log) slog.Handler {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

// logOutages is a handler that limits the lines about outages.
type logOutages struct {
	slog.Handler
	outages *outages
}

// Handle implements slog.Handler.
func (h logOutages) Handle(ctx context.Context, r slog.Record) error {
	o, isOutage := outageOf(r)
	if !isOutage {
		return h.Handler.Handle(ctx, r)
	}
	repeats, log := h.outages.admit(o, r.Time)
	if !log {
		return nil
	}
	if repeats > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("suppressed", repeats))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logOutages) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logOutages{h.Handler.WithAttrs(attrs), h.outages}
}

// WithGroup implements slog.Handler.
func (h logOutages) WithGroup(name string) slog.Handler {
	return logOutages{h.Handler.WithGroup(name), h.outages}
}

// outage identifies lines about the same cause.
type outage struct{ message, cause string }

// outageOf returns the outage that a line is about, if its error says that something is unavailable.
func outageOf(r slog.Record) (o outage, isOutage bool) {
	var cause error
	r.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() != slog.KindAny { // not an error; Any would allocate
			return true
		}
		err, isError := a.Value.Any().(error)
		if isError && errors.Is(err, ports.ErrUnavailable) {
			cause = innermost(err)
		}
		return cause == nil
	})
	if cause == nil {
		return outage{}, false
	}
	return outage{r.Message, cause.Error()}, true
}

// innermost returns the error that all others wrap: its text has no addresses, such as "connection refused".
func innermost(err error) error {
	for {
		var next error
		switch e := err.(type) { //nolint:errorlint // the errors are unwrapped one by one
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				next = all[len(all)-1]
			}
		}
		if next == nil {
			return err
		}
		err = next
	}
}

const (
	repeatOutage = time.Second // how often the same line is written
	maxOutages   = 200         // how many are remembered
)

// outages holds which lines about outages were written. It is safe for concurrent use.
type outages struct {
	mu   sync.Mutex
	seen map[outage]*occurrences
}

type occurrences struct {
	written    time.Time
	suppressed int
}

// admit reports whether a line is to be written, and how many lines like it were left out since the last one.
func (a *outages) admit(o outage, now time.Time) (repeats int, log bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.seen[o]
	if last != nil && now.Sub(last.written) < repeatOutage {
		last.suppressed++
		return 0, false
	}
	if last != nil {
		repeats = last.suppressed
	} else if len(a.seen) >= maxOutages {
		clear(a.seen)
	}
	a.seen[o] = &occurrences{written: now}
	return repeats, true
}
