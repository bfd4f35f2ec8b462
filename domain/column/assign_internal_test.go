package column

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// total returns the worth of an assignment. It fails if a column is used twice.
func total(t interface{ Fatalf(string, ...any) }, worth [][]float64, pairs []int) (sum float64) {
	usedCounts := map[int]bool{}
	for r, c := range pairs {
		if c < 0 {
			continue
		}
		if usedCounts[c] {
			t.Fatalf("column %d is used twice: %v", c, pairs)
		}
		usedCounts[c] = true
		sum += worth[r][c]
	}
	return sum
}

// best tries all assignments.
func best(worth [][]float64, row int, uses int) float64 {
	if row == len(worth) {
		return 0
	}
	limit := best(worth, row+1, uses)
	for c, w := range worth[row] {
		if uses&(1<<c) == 0 {
			limit = max(limit, w+best(worth, row+1, uses|1<<c))
		}
	}
	return limit
}

func TestNoAssignmentIsWorthMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(0, 6).Draw(t, "rows"), rapid.IntRange(0, 6).Draw(t, "columns")
		worth := make([][]float64, rows)
		for r := range worth {
			for range columns {
				worth[r] = append(worth[r], float64(rapid.IntRange(0, 5).Draw(t, "worth"))/5)
			}
		}
		pairs := assign(worth)
		if len(pairs) != rows {
			t.Fatalf("%d rows have %d results", rows, len(pairs))
		}
		if got, want := total(t, worth, pairs), best(worth, 0, 0); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v is worth %v, and %v can be had of %v", pairs, got, want, worth)
		}
		for r, c := range pairs {
			if c >= 0 && worth[r][c] == 0 {
				t.Fatalf("row %d has column %d, which is worth nothing", r, c)
			}
		}
	})
}

func TestAssignmentIsNotGreedy(t *testing.T) {
	// The best single pair is the first, but then the second row gets nothing.
	if got := assign([][]float64{{0.9, 0.8}, {0.85, 0}}); got[0] != 1 || got[1] != 0 {
		t.Errorf("assign = %v", got)
	}
}
