// Package snowflake reads a database of Snowflake through its SQL API, version 2.
package snowflake

import (
	"context"
	"crypto/x509"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouse is ports.Warehouse for connection.Snowflake.
type Warehouse struct {
	guard  warehouse.Guard
	server func(account string) address
	roots  *x509.CertPool // nil for the machine's
}

type address struct {
	host string
	port uint16
}

// New returns a Warehouse that reaches Snowflake through guard.
func New(guard warehouse.Guard) *Warehouse { return &Warehouse{guard: guard, server: serverOf} }

// serverOf returns where an account is. Snowflake has hyphens in host names for underscores in accounts'.
func serverOf(account string) address {
	return address{strings.ToLower(strings.ReplaceAll(account, "_", "-")) + ".snowflakecomputing.com", 443}
}

// Probe is ports.Warehouse's. None of its statements starts the warehouse, which would be paid for.
func (w *Warehouse) Probe(ctx context.Context, to ports.Target) connection.Report {
	trace := warehouse.NewTrace()
	return trace.Report(w.in(ctx, to, trace, func(s *session) error {
		trace.Server.Product, trace.Server.Version = "Snowflake", warehouse.Word(s.version)
		if err := s.read(); err != nil {
			return err
		}
		trace.Passed(connection.Read)
		canWrite, err := s.canWrite()
		if err != nil {
			return err
		}
		trace.Server.CanWrite = canWrite
		if canWrite {
			trace.Warned(connection.Privileges, connection.CredentialCanWrite)
			return nil
		}
		trace.Passed(connection.Privileges)
		return nil
	}))
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
	s, err := w.open(ctx, network, to, trace)
	if err != nil {
		return err
	}
	defer s.web.Close()
	return fn(s)
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
