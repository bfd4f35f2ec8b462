package warehouses

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// Lossless checks that no value of a table of Keys is lost: the texts of different values differ, but in the columns
// same, and each text is a value of each type of field or has a reason why it is none. nulls are the numbers of the
// rows without a value, by column. It returns the texts by column and row, to be compared with what the database has.
func Lossless(
	t *testing.T, w ports.Warehouse, to ports.Target, table connection.TableRef, nulls map[string][]int, same ...string,
) map[connection.Column]map[int]string {
	t.Helper()
	texts := map[connection.Column]map[int]string{}
	p, err := w.Preview(t.Context(), to, connection.PreviewQuery{Table: table})
	must(t, err)
	q := connection.RowsQuery{Table: table, Limit: 1000}
	for _, c := range p.Columns {
		q.Columns = append(q.Columns, c.Name)
	}
	_, rows := collect(t, w, to, q)
	numbers := numbersOf(rows)
	for place, c := range p.Columns[1:] {
		seen := map[string]int{}
		texts[c] = map[int]string{}
		for i, row := range rows {
			text := row[place+1]
			if (text == nil) != slices.Contains(nulls[c.Name], numbers[i]) {
				t.Errorf("%s, a %s: row %d has %v", c.Name, c.DatabaseType, numbers[i], text)
			}
			if text == nil {
				continue
			}
			if seen[*text]++; seen[*text] > 1 && !slices.Contains(same, c.Name) {
				t.Errorf("%s, a %s: two values are %q", c.Name, c.DatabaseType, *text)
			}
			neverSilentlyNull(t, c, *text)
			texts[c][numbers[i]] = *text
		}
	}
	return texts
}

// neverSilentlyNull checks a text as each type of field. A text without characters is no value.
func neverSilentlyNull(t *testing.T, c connection.Column, text string) {
	t.Helper()
	for _, kind := range []column.Type{column.String, column.Text, column.Integer, column.Number, column.Boolean,
		column.Date, column.DateTime, column.URL, column.Email, column.Enum, column.JSON} {
		f := column.Field{Type: kind}
		value, reason := f.Value(&text, column.Warehouse)
		if (value.IsNull() && reason == "" && strings.TrimSpace(text) != "") || (!value.IsNull() && reason != "") {
			t.Errorf("%s, a %s: %q as a %s is %+v, %q", c.Name, c.DatabaseType, text, kind, value, reason)
		}
	}
}

// Values are what the rows of a column are as values of a field of a type, in the order of the table's numbers n: as
// JSON, or the reason why they are none after an exclamation mark.
type Values struct {
	Column string
	Field  column.Type
	Want   []string
}

// Exact checks the values of a table, whose column n has the numbers of its rows.
func Exact(t *testing.T, w ports.Warehouse, item ports.Target, table connection.TableRef, all []Values) {
	t.Helper()
	for _, one := range all {
		var got []string
		_, rows := collect(t, w, item, connection.RowsQuery{Table: table, Columns: []string{"n", one.Column}, Key: "n",
			Limit: 1000})
		f := column.Field{Type: one.Field}
		for _, row := range rows {
			got = append(got, valued(f, row[1]))
		}
		if !slices.Equal(got, one.Want) {
			t.Errorf("%s as %s: %q, want %q", one.Column, one.Field, got, one.Want)
		}
	}
}

// Kind is a type that a vendor documents, and samples of its values. Field is the type of the field that they are read
// for.
type Kind struct {
	Type    string // as the declaration of a column has it
	Field   column.Type
	Samples []Sample
}

// Sample is a value as a test's database is given it, and the text of what it is in a field: JSON, or the reason why it
// is none after an exclamation mark.
type Sample [2]any

// EveryKind checks that rows return the samples of each kind, as a multiset, and that each documented type has a kind.
// table creates a table with the samples of a kind in its only column, v.
func EveryKind(
	t *testing.T, w ports.Warehouse, target ports.Target, documentedTexts []string, kinds []Kind,
	table func(Kind) connection.TableRef,
) {
	t.Helper()
	missing := slices.Clone(documentedTexts)
	for _, kind := range kinds {
		isKind := func(name string) bool {
			rest, found := strings.CutPrefix(strings.ToLower(kind.Type), strings.ToLower(name))
			return found && (rest == "" || strings.ContainsAny(rest[:1], "(< "))
		}
		if !slices.ContainsFunc(documentedTexts, isKind) {
			t.Errorf("%s is not documented", kind.Type)
		}
		missing = slices.DeleteFunc(missing, isKind)
	}
	if len(missing) > 0 {
		t.Errorf("no samples of %q", missing)
	}
	for _, kind := range kinds {
		t.Run(kind.Type+" as "+string(kind.Field), func(t *testing.T) { sampled(t, w, target, kind, table(kind)) })
	}
}

func sampled(t *testing.T, w ports.Warehouse, target ports.Target, kind Kind, table connection.TableRef) {
	t.Helper()
	_, rows := collect(t, w, target, connection.RowsQuery{Table: table, Columns: []string{"v"}, Limit: 1000})
	field := column.Field{Type: kind.Field}
	var got, want []string
	for _, row := range rows {
		got = append(got, valued(field, row[0]))
		if row[0] != nil {
			neverSilentlyNull(t, connection.Column{Name: "v", DatabaseType: kind.Type}, *row[0])
		}
	}
	for _, sample := range kind.Samples {
		want = append(want, sample[1].(string))
	}
	slices.Sort(got)
	slices.Sort(want)
	assert.NoDiff(t, "the values", cmp.Diff(want, got))
}

// valued returns what a text is in a field, as a Sample has it.
func valued(field column.Field, text *string) string {
	value, reason := field.Value(text, column.Warehouse)
	if reason != "" {
		return "!" + string(reason)
	}
	return string(value.AppendJSON(nil))
}
