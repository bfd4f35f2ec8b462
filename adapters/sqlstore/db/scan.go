package db

import (
	"context"

	"github.com/atrium-hq/atrium/domain/page"
)

// Branch is one part of a list that is ordered by id, latest first: its conditions are the first columns of an index
// that ends with the id.
type Branch struct {
	From  string
	ID    string
	Where *Conditions
}

// PageFloor returns the id at which a page has to end so that none of its branches examines more than n
// rows: the highest of their n-th ids, or empty if all of them end before. It reads indexes only.
func (db *DB) PageFloor(ctx context.Context, n int, branches ...Branch) (string, error) {
	floor := ""
	for _, b := range branches {
		var id string
		if _, err := db.Get(ctx, &id, `SELECT `+b.ID+` FROM `+b.From+` WHERE `+b.Where.SQL()+
			` ORDER BY `+b.ID+` DESC LIMIT 1 OFFSET ?`, b.Where.Args(n-1)...); err != nil {
			return "", err
		}
		floor = max(floor, id)
	}
	return floor, nil
}

// ContinueAt returns p, which was read down to floor, with a position to continue from: there may be more below.
func ContinueAt[T any](p page.Of[T], floor string) page.Of[T] {
	if p.Next == "" {
		p.Next = floor
	}
	return p
}
