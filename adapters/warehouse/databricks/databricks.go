// Package databricks reads a catalog of Databricks through the SQL Statement Execution API, version 2.0.
package databricks

import (
	"crypto/x509"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// place has a workspace's address.
type place struct {
	server func(host string) address
	roots  *x509.CertPool // nil for the machine's
}

type address struct {
	host string
	port uint16
}

// Kind is the kind of Databricks.
const Kind connection.Kind = "databricks"

// New returns ports.Warehouse of this kind, which reaches workspaces through guard.
func New(guard warehouse.Guard) *warehouse.Sessions {
	return warehouse.NewSessions(guard, place{server: serverOf}.open)
}

func serverOf(host string) address { return address{strings.TrimSuffix(host, "."), 443} }

// quote writes a name as an identifier ("Delimited identifiers" of Databricks' SQL reference).
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
