package sqlstore

// BoundScans makes every page of a filtered list end after n rows that it examined.
func BoundScans(db *DB, n int) {
	db.scans = scanBounds{templates: n, keys: n, presences: n, events: n}
}
