package warehouses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// KeyTable is a table for Keys with a column of each of some types.
type KeyTable struct {
	Columns string           // with their types
	Rows    string           // values, each row in parentheses
	Nulls   map[string][]int // the numbers of the rows without a value, by column
	names   map[string]string
}

// NewKeyTable returns a table with these values of types, as many for each. number is the type of the column n.
func NewKeyTable(number string, keys map[string][]string, quote func(name string) string) KeyTable {
	k := KeyTable{Columns: "n " + number, Nulls: map[string][]int{}, names: map[string]string{}}
	var rows []string
	for declaration, values := range keys {
		name := fmt.Sprintf("k%d?", len(k.names)+1)
		k.names[declaration] = name
		k.Columns += ", " + quote(name) + " " + declaration
		for i, v := range values {
			if i == len(rows) {
				rows = append(rows, strconv.Itoa(i+1))
			}
			if rows[i] += ", " + v; v == "NULL" {
				k.Nulls[name] = append(k.Nulls[name], i+1)
			}
		}
	}
	k.Rows = "(" + strings.Join(rows, "), (") + ")"
	return k
}

// Named returns the names of the columns whose types begin with any of some texts.
func (k KeyTable) Named(begins ...string) (names []string) {
	for declaration, name := range k.names {
		if slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(declaration, begin) }) {
			names = append(names, name)
		}
	}
	return names
}

// Keys checks a table by each of its columns as the key: pages of some sizes return every row once, and end. The table
// has a column n with the numbers of its rows, from 1. Each other column has another value in each row, as its type
// distinguishes values or as their texts do, and at most one NULL. refused are the columns whose types have no order:
// they are refused as keys. Conditions on each column lose no row, and rows that are sorted by it are in its order.
func Keys(t *testing.T, w ports.Warehouse, target ports.Target, table connection.TableRef, refusals ...string) {
	p, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: table})
	must(t, err)
	for _, c := range p.Columns {
		t.Run(fmt.Sprintf("by %s, a %s", c.Name, c.DatabaseType), func(t *testing.T) {
			finds(t, w, target, table, c)
			sorts(t, w, target, table, c)
			q := connection.RowsQuery{Table: table, Columns: []string{"n", c.Name}, Key: c.Name, Limit: 1000}
			assert.Equal(t, "a preview says that it is unordered", c.Unordered, slices.Contains(refusals, c.Name))
			if slices.Contains(refusals, c.Name) {
				assert.ErrorIs(t, w.Rows(t.Context(), target, q, nil), connection.KeyUnsupported)
				return
			}
			_, rows := collect(t, w, target, q)
			want := numbersOf(rows)
			if len(want) < 3 { // of a boolean
				t.Fatalf("%d rows", len(want))
			}
			for _, size := range []int{1, 3} {
				if got := paged(t, w, target, q, size, len(want)); !slices.Equal(got, want) {
					t.Errorf("in pages of %d: rows %v, want %v; values %v", size, got, want, rowTexts(rows))
				}
			}
			if slices.Sort(want); !slices.Equal(want, sequence(len(want))) {
				t.Errorf("rows %v", want)
			}
		})
	}
}

// paged reads the rows of a query in pages, at most all of them and one more page. It returns their numbers.
func paged(t *testing.T, w ports.Warehouse, item ports.Target, q connection.RowsQuery, size, all int) (numbers []int) {
	t.Helper()
	for q.Limit = size; len(numbers) <= all; {
		_, rows := collect(t, w, item, q)
		numbers = append(numbers, numbersOf(rows)...)
		if len(rows) < size {
			break
		}
		last := rows[len(rows)-1]
		if q.After = last[len(last)-1]; q.After == nil {
			break // the row without a key, which is the last one
		}
	}
	return numbers
}

func numbersOf(rows [][]*string) (numbers []int) {
	for _, row := range rows {
		n, err := strconv.Atoi(*row[0])
		if err != nil {
			panic(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

func rowTexts(rows [][]*string) (out []string) {
	for _, row := range rows {
		if row[1] == nil {
			out = append(out, "NULL")
			continue
		}
		out = append(out, strconv.Quote(*row[1]))
	}
	return out
}

func sequence(n int) (all []int) {
	for i := range n {
		all = append(all, i+1)
	}
	return all
}
