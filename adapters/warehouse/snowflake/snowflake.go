// Package snowflake reads a database of Snowflake through its SQL API, version 2.
package snowflake

import (
	"crypto/x509"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// place has Snowflake's address.
type place struct {
	server func(account string) address
	roots  *x509.CertPool // nil for the machine's
}

type address struct {
	host string
	port uint16
}

// Kind is the kind of Snowflake.
const Kind connection.Kind = "snowflake"

// New returns ports.Warehouse of this kind, which reaches Snowflake through guard.
func New(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, place{server: serverOf}.open)
}

// serverOf returns an account's host. In host names, Snowflake replaces underscores of account names with hyphens.
func serverOf(account string) address {
	return address{strings.ToLower(strings.ReplaceAll(account, "_", "-")) + ".snowflakecomputing.com", 443}
}

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
