// Package warehouse has the common parts of the kinds of warehouse: a probe's steps, the recognition of protocols,
// errors of the network and of TLS, and calls through a child process.
package warehouse

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
)

// Trace follows one call through a probe's steps.
type Trace struct {
	Server connection.Server
	Watch  func(connection.Check) // is called with each check as soon as its step has passed; may be nil

	checks []connection.Check // of the completed steps
	since  time.Time
}

// NewTrace returns a Trace at the first step.
func NewTrace() *Trace { return &Trace{since: time.Now()} }

// Step returns the current step. After the last step it still returns that one.
func (t *Trace) Step() connection.Step {
	steps := connection.Steps()
	return steps[min(len(t.checks), len(steps)-1)]
}

// Passed ends the current step, which must be step, and begins the next.
func (t *Trace) Passed(step connection.Step) { t.end(step, connection.OK, "") }

// Skipped ends the current step, which does not apply.
func (t *Trace) Skipped(step connection.Step) { t.end(step, connection.Skipped, "") }

// Warned ends the current step with a warning.
func (t *Trace) Warned(step connection.Step, code connection.Code) {
	t.end(step, connection.Warning, code)
}

func (t *Trace) end(step connection.Step, result connection.Result, code connection.Code) {
	if step != t.Step() || len(t.checks) == len(connection.Steps()) {
		panic("warehouse: step " + string(step) + " ends while " + string(t.Step()) + " is running") // a bug in a kind
	}
	now := time.Now()
	t.add(connection.Check{Step: step, Result: result, Took: now.Sub(t.since), Code: code})
	t.since = now
}

func (t *Trace) add(c connection.Check) {
	t.checks = append(t.checks, c)
	if t.Watch != nil {
		t.Watch(c)
	}
}

// Report ends the call and returns the report. err, if any, belongs to the current step; steps that were not reached
// are skipped.
//
// A probe that is refused by policy reports nothing else, not even how long a name took to resolve.
func (t *Trace) Report(err error) connection.Report {
	code, _ := errors.AsType[connection.Code](err)
	if err != nil && code == "" {
		code = connection.Internal
		if errors.Is(err, context.DeadlineExceeded) {
			code = connection.QueryTimeout
		}
	}
	if code == connection.NetworkNotAllowed {
		return connection.FailedAt(connection.Policy, code)
	}
	r := connection.Report{Checks: slices.Clone(t.checks), Server: t.Server}
	steps := connection.Steps()
	if code != "" && len(r.Checks) < len(steps) {
		failure := connection.Check{Step: t.Step(), Result: connection.Failed, Took: time.Since(t.since), Code: code}
		if serviceErr, ok := errors.AsType[*connection.ServiceError](err); ok {
			failure.Answered = serviceErr.Service
		}
		r.Checks = append(r.Checks, failure)
	}
	for _, step := range steps[len(r.Checks):] {
		r.Checks = append(r.Checks, connection.Check{Step: step, Result: connection.Skipped})
	}
	return r
}

// Word returns a server's text in a form that can be shown: at most 64 printable ASCII characters.
func Word(s string) string {
	const most = 64
	var b []byte
	for i := 0; i < len(s) && len(b) < most; i++ {
		if s[i] >= ' ' && s[i] <= '~' {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// valid reports whether a table can have this name.
func valid(r connection.TableRef) bool { return utf8.ValidString(r.Schema) && utf8.ValidString(r.Name) }
