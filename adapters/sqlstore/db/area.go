package db

import "github.com/atrium-hq/atrium/ports"

// Area is what an area adds to what concerns all areas. Package sqlstore composes them.
type Area struct {
	// AddStores adds the area's stores on a database or transaction.
	AddStores func(*ports.Stores, *DB)
}
