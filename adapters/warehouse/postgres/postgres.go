// Package postgres reads PostgreSQL, and compatible servers, and Amazon Redshift, through pgx.
package postgres

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// New returns ports.Warehouse for connection.Postgres, which reaches servers through guard.
func New(guard warehouse.Guard) *warehouse.Sessions { return warehouse.NewSessions(guard, open) }

// NewRedshift returns ports.Warehouse for connection.Redshift, which reaches servers through guard.
func NewRedshift(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, openRedshift)
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
