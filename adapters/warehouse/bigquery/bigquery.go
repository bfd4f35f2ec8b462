// Package bigquery reads a dataset of Google BigQuery through its REST API, version 2.
package bigquery

import (
	"context"
	"crypto/x509"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// servers are the addresses of the API. A credential does not determine them: anyone could write a key's token_uri.
type servers struct {
	api, token address
	roots      *x509.CertPool // nil for the machine's
}

type address struct {
	host string
	port uint16
}

// google are its own.
var google = servers{api: address{"bigquery.googleapis.com", 443}, token: address{"oauth2.googleapis.com", 443}}

// Kind is the kind of BigQuery.
const Kind connection.Kind = "bigquery"

// New returns ports.Warehouse of this kind, which reaches Google through guard.
func New(guard warehouse.Guard) *warehouse.Sessions {
	return newAt(guard, func(connection.Credential) servers { return google })
}

func newAt(guard warehouse.Guard, locate func(connection.Credential) servers) *warehouse.Sessions {
	return warehouse.NewSessions(guard, func(ctx context.Context, n warehouse.Network, target ports.Target,
		trace *warehouse.Trace) (*session, error) {
		return open(ctx, n, target, locate(target.Credential), trace)
	})
}
