package column

import "math"

// assign pairs rows with columns so that the sum of worth over all pairs is maximal. It returns each
// row's column, -1 for a row without one. worth[r][c] is 0 or more, and all rows have the same length.
// A pair with worth 0 is not made.
//
// It is the method of shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987),
// in time rows² × columns. Among several optimal results, the choice depends only on worth.
func assign(worth [][]float64) []int {
	if len(worth) == 0 || len(worth[0]) == 0 {
		return unassigned(len(worth))
	}
	if len(worth) > len(worth[0]) { // each row needs a column below
		rows := unassigned(len(worth))
		for c, r := range assign(transpose(worth)) {
			if r >= 0 {
				rows[r] = c
			}
		}
		return rows
	}
	rows, columns := len(worth), len(worth[0])
	// Column index 0 means none; p[c] is the row of column c, from 1.
	u, v := make([]float64, rows+1), make([]float64, columns+1)
	p, way := make([]int, columns+1), make([]int, columns+1)
	lowest, seen := make([]float64, columns+1), make([]bool, columns+1)
	for r := 1; r <= rows; r++ {
		p[0] = r
		for c := range lowest {
			lowest[c], seen[c] = math.Inf(1), false
		}
		column := 0
		for {
			seen[column] = true
			row, delta, next := p[column], math.Inf(1), 0
			for c := 1; c <= columns; c++ {
				if seen[c] {
					continue
				}
				if cost := -worth[row-1][c-1] - u[row] - v[c]; cost < lowest[c] {
					lowest[c], way[c] = cost, column
				}
				if lowest[c] < delta {
					delta, next = lowest[c], c
				}
			}
			for c := range seen {
				if seen[c] {
					u[p[c]] += delta
					v[c] -= delta
				} else {
					lowest[c] -= delta
				}
			}
			if column = next; p[column] == 0 {
				break
			}
		}
		for column != 0 {
			p[column] = p[way[column]]
			column = way[column]
		}
	}
	out := unassigned(rows)
	for c, r := range p[1:] {
		if r > 0 && worth[r-1][c] > 0 { //nolint:gosec // a row from 1 to all of them
			out[r-1] = c
		}
	}
	return out
}

func unassigned(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = -1
	}
	return all
}

func transpose(m [][]float64) [][]float64 {
	out := make([][]float64, len(m[0]))
	for c := range out {
		out[c] = make([]float64, len(m))
		for r := range m {
			out[c][r] = m[r][c]
		}
	}
	return out
}
