package db

import (
	"context"
)

// ServerLimits are the connection limits of PostgreSQL and their use by nodes.
type ServerLimits struct {
	Server   int `db:"server"`   // connections of users without privileges: max_connections less the reserved ones
	Role     int `db:"role"`     // of this user; -1: no limit
	Database int `db:"database"` // to this database; -1: no limit
	Nodes    int `db:"nodes"`    // running servers, if they signal presences through PostgreSQL
}

// Allowed returns the lowest limit, and its name.
func (c ServerLimits) Allowed() (limit int, name string) {
	limit, name = c.Server, "max_connections less the reserved ones"
	if c.Role >= 0 && c.Role < limit {
		limit, name = c.Role, "the limit of the role"
	}
	if c.Database >= 0 && c.Database < limit {
		limit, name = c.Database, "the limit of the database"
	}
	return limit, name
}

// ServerLimits returns the limits of PostgreSQL for the user and the database of this connection.
func (db *DB) ServerLimits(ctx context.Context) (c ServerLimits, err error) {
	_, err = db.Get(ctx, &c, `SELECT
		current_setting('max_connections')::int - (SELECT SUM(setting::int) FROM pg_settings
			WHERE name IN ('superuser_reserved_connections', 'reserved_connections')) AS server,
		(SELECT CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END FROM pg_roles WHERE rolname = session_user) AS role,
		(SELECT CASE WHEN rolsuper THEN -1 ELSE datconnlimit END FROM pg_database, pg_roles
			WHERE datname = current_database() AND rolname = session_user) AS database,
		(SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = session_user
			AND query LIKE 'LISTEN %') AS nodes`)
	return c, err
}
