package sqlstore

import (
	"context"

	"github.com/atrium-hq/atrium/domain/page"
)

// scanBounds are the most rows that one page of a list examines where no index serves its filter. A page
// that reaches its bound ends there, with a position after which the next one begins.
type scanBounds struct {
	templates int // wide rows, and a text that is searched
	keys      int
	presences int
	events    int // two or more filters at once
}

// defaultScans keep a page of any list within some ten milliseconds.
var defaultScans = scanBounds{templates: 1000, keys: 2000, presences: 10_000, events: 2000}

// branch is one part of a list that is ordered by id, latest first: its conditions are the first columns of an index
// that ends with the id.
type branch struct {
	from  string
	id    string
	where *conditions
}

// floor returns the id at which a page has to end so that none of its branches examines more than n
// rows: the highest of their n-th ids, or empty if all of them end before. It reads indexes only.
func (db *DB) floor(ctx context.Context, n int, branches ...branch) (string, error) {
	floor := ""
	for _, b := range branches {
		var id string
		if _, err := db.get(ctx, &id, `SELECT `+b.id+` FROM `+b.from+` WHERE `+b.where.sql()+
			` ORDER BY `+b.id+` DESC LIMIT 1 OFFSET ?`, b.where.args(n-1)...); err != nil {
			return "", err
		}
		floor = max(floor, id)
	}
	return floor, nil
}

// endingAt returns p, which was read down to floor, with a position to continue from: there may be more below.
func endingAt[T any](p page.Of[T], floor string) page.Of[T] {
	if p.Next == "" {
		p.Next = floor
	}
	return p
}
