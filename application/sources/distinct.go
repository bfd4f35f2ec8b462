package sources

import (
	"hash/maphash"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// distinct finds values that were there before, by hashes of 64 bits under its own key. It compares at most
// source.MaxDistinct values.
type distinct struct {
	seed      maphash.Seed
	seen      map[string]map[uint64]struct{} // by field
	remaining int
	skipped   map[string]int
}

func newDistinct() *distinct {
	return &distinct{seed: maphash.MakeSeed(), seen: map[string]map[uint64]struct{}{}, remaining: source.MaxDistinct,
		skipped: map[string]int{}}
}

// add reports whether a field value is new, as far as that is known.
func (d *distinct) add(field string, value column.Value) bool {
	sum := maphash.Comparable(d.seed, value)
	seen := d.seen[field]
	if _, ok := seen[sum]; ok {
		return false
	}
	if d.remaining == 0 {
		d.skipped[field]++
		return true
	}
	if seen == nil {
		seen = map[uint64]struct{}{}
		d.seen[field] = seen
	}
	seen[sum] = struct{}{}
	d.remaining--
	return true
}
