// Package sqlserver reads Microsoft SQL Server, Azure SQL Database and compatible servers, through go-mssqldb.
package sqlserver

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// New returns ports.Warehouse for connection.SQLServer, which reaches servers through guard.
func New(guard warehouse.Guard) *warehouse.Sessions { return warehouse.NewSessions(guard, open) }

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return "[" + strings.ReplaceAll(name, "]", "]]") + "]" }
