package warehouse

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// CancelTimeout is the maximum time for ending a cancelled call's statement at the server.
const CancelTimeout = 450 * time.Millisecond

// Session is one call's own connection to a tenant's server, which has passed the step database.
type Session interface {
	// Read identifies the server, and checks that the credential can read from it.
	Read(server *connection.Server) error
	// CanWrite reports whether the credential may do more than read. It is called after Read.
	CanWrite() (bool, error)
	// Tables implements ports.Warehouse.
	Tables(q connection.TableQuery) ([]connection.Table, error)
	// Preview implements ports.Warehouse, except for the RowEstimate, which is not used.
	Preview(q connection.PreviewQuery) (connection.Preview, error)
	// Close ends the session without waiting for a server that may not answer.
	Close()
}

// Sessions implements ports.Warehouse for a kind that is reached through the network. Each call opens its own
// session, since connections to a tenant's server are not kept.
type Sessions struct {
	guard  Guard
	open   func(context.Context, Network, ports.Target, *Trace) (Session, error)
	google GoogleSignIn
}

// NewSessions returns Sessions whose networks guard creates. open opens a session: it passes the steps up to and
// including database.
func NewSessions[S Session](
	guard Guard, open func(context.Context, Network, ports.Target, *Trace) (S, error),
) *Sessions {
	return &Sessions{guard: guard, google: googleSignIn, open: func(ctx context.Context, n Network, target ports.Target,
		trace *Trace) (Session, error) {
		return open(ctx, n, target, trace)
	}}
}

// Probe implements ports.Warehouse.
func (w *Sessions) Probe(ctx context.Context, target ports.Target) connection.Report {
	trace := NewTrace()
	trace.Watch = target.Watch
	return trace.Report(w.withSession(ctx, target, trace, func(s Session) (err error) {
		if err := s.Read(&trace.Server); err != nil {
			return err
		}
		trace.Passed(connection.Read)
		if trace.Server.CanWrite, err = s.CanWrite(); err != nil {
			return err
		}
		if trace.Server.CanWrite {
			trace.Warned(connection.Privileges, connection.CredentialCanWrite)
			return nil
		}
		trace.Passed(connection.Privileges)
		return nil
	}))
}

// Tables implements ports.Warehouse.
func (w *Sessions) Tables(
	ctx context.Context, target ports.Target, q connection.TableQuery,
) (tables []connection.Table, err error) {
	err = w.withSession(ctx, target, NewTrace(), func(s Session) (err error) {
		tables, err = Matching(q, s.Tables)
		return err
	})
	return tables, err
}

// Matching returns the tables that q requests. list returns a page of all tables and ignores q.Match.
func Matching(
	q connection.TableQuery, list func(connection.TableQuery) ([]connection.Table, error),
) ([]connection.Table, error) {
	if q.Match == "" {
		return list(q)
	}
	match := strings.ToLower(q.Match)
	var found []connection.Table
	for page := (connection.TableQuery{After: q.After, Limit: connection.MaxTables}); ; {
		tables, err := list(page)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if strings.Contains(strings.ToLower(t.Name), match) {
				if found = append(found, t); len(found) == q.Limit {
					return found, nil
				}
			}
		}
		if len(tables) < page.Limit {
			return found, nil
		}
		page.After = tables[len(tables)-1].TableRef
	}
}

// Preview implements ports.Warehouse.
func (w *Sessions) Preview(
	ctx context.Context, target ports.Target, q connection.PreviewQuery,
) (p connection.Preview, err error) {
	err = w.withSession(ctx, target, NewTrace(), func(s Session) (err error) {
		if p, err = s.Preview(q); err != nil {
			if p, err = p.Sampled(err); err != nil {
				return err
			}
		}
		p.RowEstimate = -1
		if q.Estimate {
			p.RowEstimate = estimate(s, q.Table)
		}
		return nil
	})
	return p, err
}

// Chosen returns a preview with the columns that a query chooses from all table columns, and without rows.
func Chosen(q connection.PreviewQuery, all []connection.Column) connection.Preview {
	choice := connection.Choose(q, all, func(c connection.Column) string { return c.Name })
	return connection.Preview{Columns: choice.Columns, Total: choice.Total, Truncated: choice.Truncated}
}

// estimate returns a table's row count from the catalogue; -1 if it is unknown. It asks for the page of tables that
// follows all shorter names.
func estimate(s Session, t connection.TableRef) int64 {
	name := []rune(t.Name)
	previous := connection.TableRef{Schema: t.Schema, Name: string(name[:max(len(name)-1, 0)])}
	tables, err := s.Tables(connection.TableQuery{After: previous, Limit: connection.MaxTables})
	if err != nil {
		return -1
	}
	for _, found := range tables {
		if found.TableRef == t {
			return found.RowEstimate
		}
	}
	return -1
}

// withSession runs fn in a session of its own.
func (w *Sessions) withSession(ctx context.Context, target ports.Target, trace *Trace, fn func(Session) error) error {
	ctx, cancel, network := w.guard.Begin(ctx, target)
	defer cancel()
	target, err := w.withToken(ctx, network, target, trace)
	if err != nil {
		return err
	}
	s, err := w.open(ctx, network, target, trace)
	if err != nil {
		return recognise(ctx, network, target, trace.Step(), err)
	}
	defer s.Close()
	return fn(s)
}

// Filled reports whether a row has n values, none of them NULL.
func Filled(row []*string, n int) bool { return len(row) == n && !slices.Contains(row, nil) }

// Cells returns what a server sent as a preview's rows, each value cut to the length that is shown. It returns
// connection.NotThisDatabase if a row does not have width values.
func Cells(rows [][]*string, width int) ([][]*string, error) {
	for _, row := range rows {
		if len(row) != width {
			return nil, connection.NotThisDatabase
		}
		for i, v := range row {
			if v != nil {
				row[i] = connection.Cell(*v)
			}
		}
	}
	return rows, nil
}
