// Package clickhouse reads ClickHouse through its HTTP interface.
package clickhouse

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// New returns ports.Warehouse for connection.ClickHouse, which reaches servers through guard.
func New(guard warehouse.Guard) *warehouse.Sessions { return warehouse.NewSessions(guard, open) }

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return "`" + escape.Replace(name) + "`" }

// literal writes a text as a value.
func literal(s string) string { return "'" + escape.Replace(s) + "'" }

var escape = strings.NewReplacer(`\`, `\\`, "`", "\\`", `'`, `\'`)
