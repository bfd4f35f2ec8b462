// Package postgres reads PostgreSQL, and what speaks like it, through pgx.
package postgres

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouse is ports.Warehouse for connection.Postgres.
type Warehouse struct {
	guard warehouse.Guard
}

// New returns a Warehouse that reaches servers through guard.
func New(guard warehouse.Guard) *Warehouse { return &Warehouse{guard: guard} }

// Probe is ports.Warehouse's.
func (w *Warehouse) Probe(ctx context.Context, to ports.Target) connection.Report {
	trace := warehouse.NewTrace()
	return trace.Report(w.in(ctx, to, trace, func(s *session) error { return s.probe(trace) }))
}

// Tables is ports.Warehouse's.
func (w *Warehouse) Tables(ctx context.Context, to ports.Target, q connection.TableQuery) (tables []connection.Table, err error) {
	err = w.in(ctx, to, warehouse.NewTrace(), func(s *session) error {
		tables, err = s.tables(q)
		return err
	})
	return tables, err
}

// Preview is ports.Warehouse's.
func (w *Warehouse) Preview(ctx context.Context, to ports.Target, table connection.TableRef, rows int) (p connection.Preview, err error) {
	err = w.in(ctx, to, warehouse.NewTrace(), func(s *session) error {
		p, err = s.preview(table, rows)
		return err
	})
	return p, err
}

// in runs fn in a session of its own.
func (w *Warehouse) in(ctx context.Context, to ports.Target, trace *warehouse.Trace, fn func(*session) error) error {
	ctx, cancel, network := w.guard.Begin(ctx, to)
	defer cancel()
	s, err := open(ctx, network, to, trace)
	if err != nil {
		return err
	}
	defer s.close()
	return fn(s)
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
