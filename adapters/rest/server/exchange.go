package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/mux"
)

// exchange is one request and its response: their log fields, and the context of all work for them. These
// are needed together and end together, so they are one allocation.
//
// As a context it has a deadline from limit on. Most reads come from the cache and wait for nothing, so the timer of
// the deadline starts only when Done is called. That and the single allocation save 16 of 70 allocations of such a
// read.
type exchange struct {
	parent   context.Context // of net/http, which ends it with the connection or the response
	observed Observation
	recorder recorder
	fields   [2]string     // values of header fields of the response: Request-Id and Workspace-Id
	line     [14]slog.Attr // of the log, which has at most as many
	begun    time.Time

	deadline time.Time // zero until limit is called
	mu       sync.Mutex
	limited  context.Context // with the deadline; nil until Done is called
	cancel   context.CancelFunc
}

type exchangeKey struct{}

// exchangeOf returns the exchange that a request belongs to. A request that did not come through observe gets an empty
// one.
func exchangeOf(r *http.Request) *exchange {
	ctx := r.Context()
	if x, ok := ctx.(*exchange); ok {
		return x
	}
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{parent: ctx, begun: time.Now()}
}

// Observed returns what is known of a request.
func Observed(r *http.Request) *Observation { return &exchangeOf(r).observed }

// PathVar returns the part of the path that a variable of the route stands for.
func PathVar(r *http.Request, name string) string { return mux.Vars(r)[name] }

// limit sets the deadline, counted from the begin of the request. It has to be called before the context is used.
func (x *exchange) limit(timeout time.Duration) { x.deadline = x.begun.Add(timeout) }

// end releases the timer of the deadline, and cancels the context.
func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancel != nil {
		x.cancel()
	}
}

// Deadline implements context.Context.
func (x *exchange) Deadline() (time.Time, bool) {
	if parent, ok := x.parent.Deadline(); ok && (x.deadline.IsZero() || parent.Before(x.deadline)) {
		return parent, true
	}
	return x.deadline, !x.deadline.IsZero()
}

// Done implements context.Context.
func (x *exchange) Done() <-chan struct{} {
	if x.deadline.IsZero() {
		return x.parent.Done()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.limited == nil {
		x.limited, x.cancel = context.WithDeadline(x.parent, x.deadline)
	}
	return x.limited.Done()
}

// Err implements context.Context.
func (x *exchange) Err() error {
	x.mu.Lock()
	callCtx := x.limited
	x.mu.Unlock()
	switch {
	case callCtx != nil:
		return callCtx.Err()
	case x.parent.Err() == nil && !x.deadline.IsZero() && !time.Now().Before(x.deadline):
		return context.DeadlineExceeded
	}
	return x.parent.Err()
}

// Value implements context.Context. After Done it also has the values of the context with the deadline: one of them
// lets package context cancel derived contexts without a goroutine for each.
func (x *exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return x
	}
	x.mu.Lock()
	callCtx := x.limited
	x.mu.Unlock()
	if callCtx != nil {
		return callCtx.Value(key)
	}
	return x.parent.Value(key)
}

// WithRoute sets the route for the log and the metrics.
func WithRoute(route string, h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Observed(r).Route = route
		h(w, r)
	})
}
