package warehouses

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// sortTypes are the types of fields by which a database may sort a column.
var sortTypes = map[connection.Type]column.Type{connection.Text: column.String, connection.Integer: column.Integer,
	connection.Number: column.Number, connection.Boolean: column.Boolean, connection.Date: column.Date,
	connection.DateTime: column.DateTime}

// sorts checks that a warehouse that sorts by a column does so as column.Compare does, with those without a value last,
// and that pages in this order have each row once. The column n decides between equal values.
func sorts(t *testing.T, w ports.Warehouse, target ports.Target, table connection.TableRef, c connection.Column) {
	t.Helper()
	directions := []bool{false, true}
	random := rand.New(rand.NewPCG(proof.Seed(t), 2))
	random.Shuffle(len(directions), func(i, j int) { directions[i], directions[j] = directions[j], directions[i] })
	for _, isDescending := range directions[:proof.Sample(1, 2)] {
		q := connection.RowsQuery{Table: table, Columns: []string{"n", c.Name}, Key: "n", Limit: 1000,
			Sort: &connection.Sort{Column: c.Name, Type: sortTypes[c.Type], Descending: isDescending, Limit: 1000}}
		rows, ok := sorted(t, w, target, q)
		if c.Name == "n" || !ok {
			return
		}
		name := fmt.Sprintf("sorted, descending: %v", isDescending)
		if !strings.HasPrefix(c.DatabaseType, "DateTime('") { // rows show its moments in a zone with summer time
			checkOrder(t, name, rows, q.Sort)
		}
		want := numbersOf(rows)
		for _, size := range []int{2, 1}[:proof.Sample(1, 2)] {
			if got := sortedPages(t, w, target, q, size, len(rows)); !slices.Equal(got, want) {
				t.Errorf("%s, in pages of %d: rows %v, want %v; values %v", name, size, got, want, rowTexts(rows))
			}
		}
		if slices.Sort(want); !slices.Equal(want, sequence(len(want))) {
			t.Errorf("%s: rows %v", name, want)
		}
	}
}

// sorted reads the rows of a query. ok is false if the warehouse has not sorted them.
func sorted(
	t *testing.T, w ports.Warehouse, target ports.Target, q connection.RowsQuery,
) (rows [][]*string, ok bool) {
	t.Helper()
	isFirst := true
	must(t, w.Rows(t.Context(), target, q, func(b column.Batch) error {
		if isFirst {
			isFirst, ok = false, b.Sorted
		}
		for row := range b.Rows.All() {
			rows = append(rows, clonedRow(row))
		}
		return nil
	}))
	return rows, ok
}

// checkOrder checks the order of rows that have a value of the field, which Atrium compares.
func checkOrder(t *testing.T, name string, rows [][]*string, s *connection.Sort) {
	t.Helper()
	f := column.Field{Type: s.Type}
	var last *column.Value
	hasNull := false
	for _, row := range rows {
		if row[1] == nil {
			hasNull = true
			continue
		}
		if hasNull {
			t.Errorf("%s: a row without a value is before another one: %v", name, rowTexts(rows))
		}
		value, reason := f.Value(row[1], column.Warehouse)
		if reason != "" || value.IsNull() || (s.Type == column.Email && value.Text != *row[1]) {
			continue
		}
		if last != nil {
			if order := column.Compare(s.Type, last.Text, value.Text); (order > 0) != s.Descending && order != 0 {
				t.Errorf("%s: %s is before %s: %v", name, last.Text, value.Text, rowTexts(rows))
			}
		}
		last = &value
	}
}

// sortedPages reads the rows of a query in pages, at most all of them and one more page. It returns their numbers.
func sortedPages(
	t *testing.T, w ports.Warehouse, target ports.Target, q connection.RowsQuery, size, all int,
) (numbers []int) {
	t.Helper()
	order := *q.Sort
	order.Limit, q.Sort = size, &order
	for len(numbers) <= all {
		rows, _ := sorted(t, w, target, q)
		numbers = append(numbers, numbersOf(rows)...)
		if len(rows) < size {
			break
		}
		last := rows[len(rows)-1]
		if q.After, order.After = last[2], last[3]; order.After == nil {
			t.Errorf("a row without a place: %v", rowTexts(rows))
			break
		}
	}
	return numbers
}
