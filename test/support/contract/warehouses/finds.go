package warehouses

import (
	"cmp"
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

// fieldTypes are the types of fields whose conditions a database may be given.
var fieldTypes = []column.Type{column.String, column.Text, column.Integer, column.Number, column.Boolean, column.Date,
	column.DateTime, column.Email, column.Enum, column.JSON}

// operators are those of conditions on a value.
var operators = []column.Operator{column.Equals, column.In, column.Greater, column.AtLeast, column.Less, column.AtMost,
	column.StartsWith, column.IsNull}

// others are values that databases read or order in a way of their own: years with two digits, and case.
var others = []string{"0", "1", "-1", "69", "70", "99", "2155", "B", "b", "1e3", "2024-02-29"}

// Finds checks that conditions on the columns of a table lose no row, and that the database is given those on the
// columns whose numbers, dates, times and texts it compares. The table has a column n with the numbers of its rows, and
// each other column at least two values.
func Finds(t *testing.T, w ports.Warehouse, target ports.Target, table connection.TableRef, compared ...string) {
	p, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: table})
	must(t, err)
	for _, c := range p.Columns {
		t.Run(fmt.Sprintf("%s, a %s", c.Name, c.DatabaseType), func(t *testing.T) {
			for range proof.Sample(6, 1) { // each a condition, or all of them
				finds(t, w, target, table, c)
			}
			isGiven(t, w, target, connection.RowsQuery{Table: table, Columns: []string{"n", c.Name}, Limit: 1000},
				cmp.Or(sortTypes[c.Type], column.String), slices.Contains(compared, c.Name))
		})
	}
}

// isGiven checks that the database looks for each value of a query's second column, beside another condition, if want
// is set.
func isGiven(
	t *testing.T, w ports.Warehouse, target ports.Target, q connection.RowsQuery, fieldType column.Type, want bool,
) {
	t.Helper()
	_, rows := collect(t, w, target, q)
	for _, row := range rows {
		if row[1] == nil {
			continue
		}
		conditions := conditionsOf(q.Columns[1], fieldType, column.Equals, *row[1])
		q.Where = append(conditions, conditionsOf("n", column.Integer, column.AtLeast, "-5")...)
		isApplied := false
		var found [][]*string
		must(t, w.Rows(t.Context(), target, q, func(b column.Batch) error {
			isApplied = isApplied || b.Applied
			for r := range b.Rows.All() {
				found = append(found, clonedRow(r))
			}
			return nil
		}))
		if isApplied != want || (want && len(conditions) > 0 && len(found) == len(rows)) {
			t.Errorf("%d of %d rows; the database has the conditions: %v, want %v", len(found), len(rows), isApplied,
				want)
		}
		if len(conditions) > 0 && !slices.Equal(satisfying(found, conditions[0]), satisfying(rows, conditions[0])) {
			t.Errorf("%s: %v", described(conditions[0]), rowTexts(found))
		}
	}
}

// finds checks that conditions lose no row: of the rows that a condition on a column leaves, those that satisfy it are
// those of the whole table that satisfy it. The values compared with are those that rows returned, and others.
func finds(
	t *testing.T, w ports.Warehouse, target ports.Target, table connection.TableRef, c connection.Column,
) {
	t.Helper()
	q := connection.RowsQuery{Table: table, Columns: []string{"n", c.Name}, Limit: 1000}
	_, rows := collect(t, w, target, q)
	var cases []connection.Condition
	values := slices.Clone(others)
	for _, row := range rows {
		if row[1] != nil {
			values = append(values, *row[1])
		}
	}
	for _, fieldType := range fieldTypes {
		for _, o := range operators {
			for _, value := range values {
				cases = append(cases, conditionsOf(c.Name, fieldType, o, value)...)
			}
		}
	}
	random := rand.New(rand.NewPCG(proof.Seed(t), 1))
	random.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	for _, condition := range cases[:min(len(cases), proof.Sample(1, 1<<20))] {
		q.Where = []connection.Condition{condition}
		want := satisfying(rows, condition)
		var found [][]*string
		if err := w.Rows(t.Context(), target, q, func(b column.Batch) error {
			for row := range b.Rows.All() {
				found = append(found, clonedRow(row))
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", described(condition), err)
			continue
		}
		if got := satisfying(found, condition); !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, want %v; values %v", described(condition), got, want, rowTexts(rows))
		}
	}
}

// conditionsOf returns the conditions on a field's type and an operator with a value: none if such a field cannot have
// it.
func conditionsOf(name string, fieldType column.Type, o column.Operator, text string) []connection.Condition {
	f := column.Field{Type: fieldType, Enum: []string{text}}
	texts := []string{text}
	switch o {
	case column.StartsWith:
		texts[0] = text[:min(len(text), 2)]
		if !isCharacters(texts[0]) {
			return nil
		}
	case column.IsNull:
		texts[0] = "true"
	case column.In:
		texts = append(texts, "")
	}
	c, ok := f.Condition(o, texts)
	if !ok {
		return nil
	}
	condition := connection.Condition{Column: name, Type: fieldType, Operator: o}
	for _, v := range c.Values {
		if v.IsNull() {
			condition.Values = append(condition.Values, nil)
			continue
		}
		condition.Values = append(condition.Values, &v.Text)
	}
	return []connection.Condition{condition}
}

func isCharacters(text string) bool { return strings.ToValidUTF8(text, "") == text }

// satisfying returns the numbers of the rows whose values satisfy a condition, in order.
func satisfying(rows [][]*string, condition connection.Condition) (numbers []int) {
	f := column.Field{Type: condition.Type}
	texts := make([]string, len(condition.Values))
	for i, v := range condition.Values {
		if v != nil {
			texts[i] = *v
		}
	}
	f.Enum = texts
	c, ok := f.Condition(condition.Operator, texts)
	if !ok {
		panic("a condition that is none: " + described(condition))
	}
	var left [][]*string
	for _, row := range rows {
		if value, reason := f.Value(row[1], column.Warehouse); reason == "" && c.Holds(value) {
			left = append(left, row)
		}
	}
	numbers = numbersOf(left)
	slices.Sort(numbers)
	return numbers
}

func described(c connection.Condition) string {
	var texts []string
	for _, v := range c.Values {
		if v == nil {
			texts = append(texts, "nothing")
			continue
		}
		texts = append(texts, fmt.Sprintf("%q", *v))
	}
	return fmt.Sprintf("as %s, %s %s", c.Type, c.Operator, strings.Join(texts, ", "))
}

func clonedRow(row []*string) []*string {
	out := make([]*string, len(row))
	for i, v := range row {
		if v != nil {
			out[i] = new(*v)
		}
	}
	return out
}
