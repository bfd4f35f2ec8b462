package page_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/page"
)

// TestCut reads a list as stores do: up to one item more than a page holds, after a position.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total, limit := rapid.IntRange(0, 50).Draw(t, "total"), rapid.IntRange(1, 20).Draw(t, "limit")
		var all []int
		for q := (page.Query{Limit: limit}); ; {
			current, _ := strconv.Atoi(q.After)
			var read []int
			for i := current + 1; i <= total && len(read) < q.Limit+1; i++ {
				read = append(read, i)
			}
			cut := page.Cut(read, q.Limit, strconv.Itoa)
			if len(cut.Items) > limit || (cut.Next != "" && len(cut.Items) < limit) {
				t.Fatalf("a page of %d, next %q", len(cut.Items), cut.Next)
			}
			all = append(all, cut.Items...)
			if q.After = cut.Next; q.After == "" {
				break
			}
			if len(cut.Items) == 0 {
				t.Fatal("an empty page is not the last")
			}
		}
		if len(all) != total || !slices.IsSorted(all) || len(slices.Compact(all)) != total {
			t.Fatalf("%d items came as %v", total, all)
		}
	})
}
