// Package page holds one page of a longer list.
package page

// Query asks for at most Limit items after the position After, which is the Next of the previous page.
// An empty After asks for the first page. The store defines positions; clients see them only sealed.
type Query struct {
	After string
	Limit int
}

// Of is one page. An empty Next means that it is the last. A page with a Next may hold fewer items than
// requested, or none, if a store limits how many it examines.
type Of[T any] struct {
	Items []T
	Next  string
}

// Cut returns a page of up to limit+1 items that a store read. position returns an item's position in
// the list.
func Cut[T any](items []T, limit int, position func(T) string) Of[T] {
	if len(items) <= limit {
		return Of[T]{Items: items}
	}
	items = items[:limit]
	return Of[T]{Items: items, Next: position(items[limit-1])}
}
