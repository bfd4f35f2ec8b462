package sources

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/source"
)

// position is where a read continues.
type position struct {
	Shape   string  // of what is read: the location and the mapping
	Version string  `json:",omitempty"` // of the file
	Number  int     `json:",omitempty"` // of the last row that was read
	Key     string  `json:",omitempty"` // the column that rows are ordered by
	Place   *string `json:",omitempty"` // of the last row that was read, as connection.RowsQuery has it

	Sort   *sortPlace `json:",omitempty"` // of the last row in the order of RowsQuery.Sort
	hasKey bool       // the last row has a value of Key, even if it has no Place
}

// shapeOf returns a text that changes with what is read, in which locale, and how it is mapped.
func (s *Service) shapeOf(src *source.Source) string {
	location := src.Location
	if location.Backend() == source.SheetBackend {
		location.Sheet.Locale = cmp.Or(location.Sheet.Locale, s.deps.Offers(src.Org).Sheets.Locale)
	}
	text, _ := json.Marshal([]any{location, src.Mapping}) //nolint:errchkjson // texts and numbers
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// isRepeated reports whether a row is at the place of the last one.
func (r *rowReader) isRepeated(cells []*string) bool {
	if r.key == "" || !equal(cells[len(r.names)], r.last.Place) {
		return false
	}
	return r.last.Sort == nil || equal(cells[len(r.names)+1], r.last.Sort.Place)
}

// keepPlace keeps where a table's row is.
func (r *rowReader) keepPlace(cells []*string) {
	if r.key == "" {
		return
	}
	r.last.Place = clone(cells[len(r.names)])
	if r.sort != nil && !r.sort.isAtriums {
		r.last.Sort = &sortPlace{Place: clone(cells[len(r.names)+1])}
		r.last.hasKey = cells[r.columnsOf[r.sort.key][0]] != nil
	}
}

// canFollow reports whether a row can follow the place of the last one. Those without a key are the last ones of their
// value, so that the next row has another value.
func (p *position) canFollow() bool {
	if p.Sort == nil {
		return p.Place != nil
	}
	return p.Sort.Place != nil && (p.Place != nil || !p.hasKey)
}

// end returns how the read ended. A table read without a unique field, or whose key is not unique, cannot be continued.
func (r *rowReader) end() (RowsEnd, error) {
	out := RowsEnd{More: r.more, Cut: r.cut, Last: r.last.Number, FilteredBy: r.filteredBy(),
		SortedBy: r.sortedBy()}
	if r.distinct != nil {
		out.Skipped = r.distinct.skipped
	}
	isAtriums := r.sortedBy() == SortedByAtrium
	if !r.more || (r.version == "" && (r.key == "" || r.repeated || (!isAtriums && !r.last.canFollow()))) {
		return out, nil
	}
	next := position{Shape: r.shape, Version: r.version, Key: r.key, Place: r.last.Place, Sort: r.last.Sort}
	switch {
	case isAtriums:
		next.Place = nil
	case r.version != "":
		next.Number = r.last.Number
	}
	text, err := json.Marshal(next)
	out.Next = string(text)
	return out, err
}
