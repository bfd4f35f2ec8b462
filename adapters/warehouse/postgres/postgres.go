// Package postgres reads PostgreSQL, and compatible servers, and Amazon Redshift, through pgx.
package postgres

import (
	"context"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/ports"
)

// New returns ports.Warehouse for connection.Postgres, which reaches servers through guard.
func New(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, openPostgres)
}

// NewRedshift returns ports.Warehouse for connection.Redshift, which reaches servers through guard.
func NewRedshift(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, func(ctx context.Context, n warehouse.Network, target ports.Target,
		t *warehouse.Trace) (*redshift, error) {
		return openRedshift(ctx, n, target, t, warehouse.RedshiftAPI{})
	})
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
