package warehouse

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// JobName is the name by which a child process knows Job.
const JobName = "warehouse"

// Confined is ports.Warehouse for all kinds: it has a child process do each call.
type Confined struct {
	run    ports.Confined
	stream ports.ConfinedStream
}

// NewConfined returns a Warehouse that makes its calls with Job through run, and Rows and Probe with StreamJob through
// stream.
func NewConfined(run ports.Confined, stream ports.ConfinedStream) *Confined {
	return &Confined{run: run, stream: stream}
}

// The calls of ports.Warehouse, by their names in requests to a child.
const (
	callProbe   = "probe" // streamed
	callTables  = "tables"
	callPreview = "preview"
	callRows    = "rows" // streamed
)

// request is a call on its way to the child. It contains the credential's secrets in plain text.
type request struct {
	Call       string
	Kind       connection.Kind
	Credential json.RawMessage
	Egress     identity.Egress
	Limits     ports.Limits
	Query      connection.TableQuery
	Preview    connection.PreviewQuery
	Rows       connection.RowsQuery
}

// answer is a request's result.
type answer struct {
	Tables  []connection.Table
	Preview connection.Preview
	failure
}

// failure is an error on its way from the child.
type failure struct {
	Code  connection.Code // "" without a failure
	State string          // of a connection.UnreadableError
}

// failureOf returns a warehouse kind error as a failure.
func failureOf(err error) failure {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure{Code: connection.QueryTimeout}
	}
	if unreadable, ok := errors.AsType[*connection.UnreadableError](err); ok {
		return failure{Code: connection.TableUnreadable, State: unreadable.State}
	}
	if code, ok := errors.AsType[connection.Code](err); ok {
		return failure{Code: code}
	}
	return failure{Code: connection.Internal}
}

// err is the inverse of failureOf; nil if there is no error.
func (f failure) err() error {
	switch f.Code {
	case "":
		return nil
	case connection.TableUnreadable:
		return connection.Unreadable(f.State)
	}
	return f.Code
}

// Probe is ports.Warehouse's.
func (c *Confined) Probe(ctx context.Context, target ports.Target) connection.Report {
	trace := NewTrace()
	trace.Watch = target.Watch
	report, err := c.probe(ctx, target, trace)
	switch {
	case errors.Is(err, connection.ErrTooManyReads):
		return connection.FailedAt(connection.Resolve, connection.TooManyReads)
	case errors.Is(err, ports.ErrUnavailable):
		return connection.FailedAt(connection.Resolve, connection.NotRun)
	}
	if err != nil {
		return trace.Report(err)
	}
	return report
}

// probePart is a part of the answer to a probe: a check, and at the end the report.
type probePart struct {
	Check  *connection.Check
	Report *connection.Report
}

// probe streams a probe's checks from the child, which trace follows.
func (c *Confined) probe(ctx context.Context, target ports.Target, trace *Trace) (connection.Report, error) {
	r, err := requestTo(target, request{Call: callProbe})
	if err != nil {
		return connection.Report{}, err
	}
	var report *connection.Report
	err = c.stream(ctx, target.Workspace, JobName, target.Limits.Total, r, func(text json.RawMessage) error {
		var part probePart
		if err := json.Unmarshal(text, &part); err != nil {
			return connection.Internal // without err, which may quote a value
		}
		if part.Check != nil && len(trace.checks) < len(connection.Steps()) {
			trace.add(*part.Check)
		}
		report = part.Report
		return nil
	})
	if err != nil {
		return connection.Report{}, failed(ctx, err)
	}
	if report == nil {
		return connection.Report{}, connection.Internal
	}
	return *report, nil
}

// requestTo adds the target to r.
func requestTo(target ports.Target, r request) (request, error) {
	credential, err := target.Credential.Reveal()
	if err != nil {
		return request{}, connection.Internal
	}
	r.Kind, r.Credential, r.Egress, r.Limits = target.Credential.Kind(), credential, target.Egress, target.Limits
	return r, nil
}

// Tables is ports.Warehouse's.
func (c *Confined) Tables(
	ctx context.Context, target ports.Target, q connection.TableQuery,
) ([]connection.Table, error) {
	a, err := c.call(ctx, target, request{Call: callTables, Query: q})
	return a.Tables, err
}

// Preview is ports.Warehouse's.
func (c *Confined) Preview(
	ctx context.Context, target ports.Target, q connection.PreviewQuery,
) (connection.Preview, error) {
	a, err := c.call(ctx, target, request{Call: callPreview, Preview: q})
	return a.Preview, err
}

// call makes a request in a child process.
func (c *Confined) call(ctx context.Context, target ports.Target, r request) (answer, error) {
	// JSON would replace invalid UTF-8, and the result could be an existing name.
	if !valid(r.Preview.Table) {
		return answer{}, connection.TableNotFound
	}
	if !valid(r.Query.After) {
		return answer{}, nil
	}
	r, err := requestTo(target, r)
	if err != nil {
		return answer{}, err
	}
	var a answer
	err = c.run(ctx, target.Workspace, JobName, target.Limits.Total, r, &a)
	if err != nil {
		return answer{}, failed(ctx, err)
	}
	if err := a.err(); err != nil {
		return answer{}, err
	}
	return a, nil
}

// failed returns the error for a call that the child did not complete.
func failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ports.ErrJobRefused):
		return connection.ErrTooManyReads
	case errors.Is(err, ports.ErrUnavailable): // the tenant could not be looked up
		return ports.ErrUnavailable
	case errors.Is(err, ports.ErrJobTooLarge):
		return connection.ResponseTooLarge
	case errors.Is(err, ports.ErrJobOutOfMemory):
		return connection.OutOfMemory
	case errors.Is(err, ports.ErrJobTimeout):
		return connection.QueryTimeout
	}
	return connection.Internal
}

// Rows is ports.Warehouse's.
func (c *Confined) Rows(
	ctx context.Context, target ports.Target, q connection.RowsQuery, handle func(column.Batch) error,
) error {
	if !valid(q.Table) {
		return connection.TableNotFound
	}
	r, err := requestTo(target, request{Call: callRows, Rows: q})
	if err != nil {
		return err
	}
	var handlerErr error
	err = c.stream(ctx, target.Workspace, JobName, target.Limits.Total, r, func(text json.RawMessage) error {
		var f failure // at the end, if there is one; all other parts are packed batches
		if batch, err := column.Unpack(text); err == nil {
			handlerErr = handle(batch)
		} else if err := json.Unmarshal(text, &f); err != nil || f.err() == nil {
			handlerErr = connection.Internal // without err, which may quote a value
		} else {
			handlerErr = f.err()
		}
		return handlerErr
	})
	if err == nil || handlerErr != nil {
		return handlerErr
	}
	return failed(ctx, err)
}

// httpsPort is the port of kinds whose credential names no port.
const httpsPort = 443

// Needs returns what Job needs: SQLite reads the files of folder and connects to nothing, all other kinds connect to
// the port of their server, or of the SSH server in between, and read no files.
func Needs(folder string) func(input json.RawMessage) ports.JobNeeds {
	return func(input json.RawMessage) ports.JobNeeds {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return ports.JobNeeds{}
		}
		if r.Kind == connection.SQLite {
			return ports.JobNeeds{Folders: []string{folder}}
		}
		c, err := connection.RestoreCredential(r.Kind, r.Credential)
		if err != nil {
			return ports.JobNeeds{}
		}
		needs := ports.JobNeeds{Network: true, Ports: []uint16{cmp.Or(c.SSHPort(), c.Port(), httpsPort)}}
		if token := c.TokenPort(); token != 0 {
			needs.Ports = append(needs.Ports, token)
		}
		return needs
	}
}

// Job is the child's side of Confined: it passes a call to its kind of warehouse.
func Job(kinds map[connection.Kind]ports.Warehouse) func(ctx context.Context, input json.RawMessage) (any, error) {
	return func(ctx context.Context, input json.RawMessage) (any, error) {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return nil, errors.New("a request that cannot be read") // without err, which may quote it
		}
		w, target, ok := r.target(kinds)
		if !ok {
			return answer{failure: failure{Code: connection.Internal}}, nil
		}
		return do(ctx, w, target, r), nil
	}
}

func (r *request) target(kinds map[connection.Kind]ports.Warehouse) (ports.Warehouse, ports.Target, bool) {
	w, ok := kinds[r.Kind]
	c, err := connection.RestoreCredential(r.Kind, r.Credential)
	return w, ports.Target{Credential: c, Egress: r.Egress, Limits: r.Limits}, ok && err == nil
}

// StreamJob is the child's side of the calls of Confined whose answer is streamed: Rows and Probe.
func StreamJob(
	kinds map[connection.Kind]ports.Warehouse,
) func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
	return func(ctx context.Context, input json.RawMessage, emit func(any) error) error {
		var r request
		if err := json.Unmarshal(input, &r); err != nil {
			return errors.New("a request that cannot be read") // without err, which may quote it
		}
		w, target, ok := r.target(kinds)
		if !ok {
			return emit(failure{Code: connection.Internal})
		}
		if r.Call == callProbe {
			target.Watch = func(c connection.Check) { _ = emit(probePart{Check: &c}) } // the report has it too
			report := w.Probe(ctx, target)
			return emit(probePart{Report: &report})
		}
		if err := w.Rows(ctx, target, r.Rows, func(b column.Batch) error {
			message, err := b.Pack()
			if err != nil {
				return err
			}
			return emit(message)
		}); err != nil {
			return emit(failureOf(err))
		}
		return nil
	}
}

// do makes a request to a warehouse, within the child process.
func do(ctx context.Context, w ports.Warehouse, target ports.Target, r request) (a answer) {
	var err error
	switch r.Call {
	case callTables:
		a.Tables, err = w.Tables(ctx, target, r.Query)
	case callPreview:
		a.Preview, err = w.Preview(ctx, target, r.Preview)
	default:
		err = connection.Internal
	}
	if err != nil {
		return answer{failure: failureOf(err)}
	}
	return a
}
