// Package bigquery reads a dataset of Google BigQuery through its REST API, version 2.
package bigquery

import (
	"context"
	"crypto/x509"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Warehouse is ports.Warehouse for connection.BigQuery.
type Warehouse struct {
	guard   warehouse.Guard
	servers func(connection.Credential) servers
}

// servers are where a call goes. Nothing of a credential says so: a key's token_uri is anybody's.
type servers struct {
	api, token address
	roots      *x509.CertPool // nil for the machine's
}

type address struct {
	host string
	port uint16
}

// New returns a Warehouse that reaches Google through guard.
func New(guard warehouse.Guard) *Warehouse {
	return &Warehouse{guard: guard, servers: func(connection.Credential) servers {
		return servers{api: address{"bigquery.googleapis.com", 443}, token: address{"oauth2.googleapis.com", 443}}
	}}
}

// Probe is ports.Warehouse's.
func (w *Warehouse) Probe(ctx context.Context, to ports.Target) connection.Report {
	trace := warehouse.NewTrace()
	return trace.Report(w.in(ctx, to, trace, func(s *session) error {
		trace.Server.Product, trace.Server.Version = "BigQuery", "v2"
		first, err := s.read()
		if err != nil {
			return err
		}
		trace.Passed(connection.Read)
		if trace.Server.CanWrite, err = s.canWrite(first); err != nil {
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
	s, err := open(ctx, network, to, w.servers(to.Credential), trace)
	if err != nil {
		return err
	}
	defer s.web.Close()
	return fn(s)
}
