// Package mysql reads MySQL, MariaDB, and compatible servers, through go-sql-driver.
package mysql

import (
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// New returns ports.Warehouse for connection.MySQL, which reaches servers through guard.
func New(guard warehouse.Guard) *warehouse.Sessions { return warehouse.NewSessions(guard, open) }

// quote writes a name that the catalogue confirmed as an identifier.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
