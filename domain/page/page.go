// Package page holds one page of a longer list.
package page

// Query asks for at most Limit items after the position After, which is the Next of the page
// before. An empty After is the first page. Positions are the store's own: a client sees them
// only sealed.
type Query struct {
	After string
	Limit int
}

// Of is one page. An empty Next says that it is the last; a page with a Next may hold fewer items than were
// asked for, or none, where a store bounds what it examines.
type Of[T any] struct {
	Items []T
	Next  string
}

// Cut makes a page from up to limit+1 items that a store read; position names where an item
// stands in the list.
func Cut[T any](items []T, limit int, position func(T) string) Of[T] {
	if len(items) <= limit {
		return Of[T]{Items: items}
	}
	items = items[:limit]
	return Of[T]{Items: items, Next: position(items[limit-1])}
}
