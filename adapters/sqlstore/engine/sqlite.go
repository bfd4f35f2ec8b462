package engine

import (
	"context"
	"database/sql/driver"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
)

// SQLiteSource is a data source name of SQLite, as a connector.
type SQLiteSource string

// Connect implements driver.Connector.
func (c SQLiteSource) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

// Driver implements driver.Connector.
func (c SQLiteSource) Driver() driver.Driver { return &sqlite.Driver{} }

func init() { sqlx.BindDriver("sqlite", sqlx.QUESTION) }
