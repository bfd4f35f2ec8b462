package source_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/require"
)

var guests = source.Type{Key: "guests", Title: "Guests", Accepts: []source.Backend{source.SheetBackend},
	Fields: []column.Field{
		{Key: "first", Title: "First", Type: column.String, Required: true},
		{Key: "last", Title: "Last", Type: column.String},
		{Key: "born", Title: "Born", Type: column.Date},
		{Key: "paid", Title: "Paid", Type: column.Number},
		{Key: "state", Title: "State", Type: column.Enum, Enum: []string{"open", "done"}},
	}}

var guestColumns = []column.Header{{Name: "Name"}, {Name: "Born"}, {Name: "Paid"}, {Name: "State"}, {Name: "Extra"}}

func wrongIn(err error) []string {
	var out []string
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, w := range f.Fields {
			out = append(out, w.Pointer+" "+w.Code)
		}
	}
	return out
}

func TestTransformationsOfAMappingAreChecked(t *testing.T) {
	part := func(p column.Part) column.Transform { return column.Transform{Split: &column.Split{Part: p}} }
	join := func(names ...string) column.Transform {
		return column.Transform{Join: &column.Join{Columns: names, Separator: " "}}
	}
	multiple := map[string]string{}
	for i := range column.MaxReplaced + 1 {
		multiple[fmt.Sprint(i)] = "open"
	}
	first := func(t column.Transform) []source.Pair {
		return []source.Pair{{Field: "first", Column: "Name", Transform: t}}
	}
	state := func(values map[string]string) []source.Pair {
		return []source.Pair{{Field: "state", Column: "State", Transform: column.Transform{Values: values}}}
	}
	last := func(t column.Transform) source.Pair { return source.Pair{Field: "last", Column: "Name", Transform: t} }
	long := strings.Repeat("-", column.MaxSeparator+1)
	for name, c := range map[string]struct {
		pairs []source.Pair
		wrong []string
	}{
		"several fields can have parts of a column": {
			pairs: append(first(part(column.First)), last(part(column.Rest)))},
		"one field can have the whole column in addition": {
			pairs: append(first(part(column.First)), last(column.Transform{}))},
		"also if it comes first": {
			pairs: append(first(column.Transform{}), last(part(column.Rest)))},
		"two fields can have a whole column": {
			pairs: append(first(column.Transform{Trim: true}), last(column.Transform{}))},
		"parts that fit no type": {pairs: append(first(column.Transform{Dates: column.DayFirst, Decimal: ",",
			Values: map[string]string{"x": "y"}}),
			source.Pair{Field: "born", Column: "Born", Transform: column.Transform{Case: column.Lower}}),
			wrong: []string{"/0/transform/date_order not_allowed_value", "/0/transform/decimal not_allowed_value",
				"/0/transform/values not_allowed_value", "/1/transform/case not_allowed_value"}},
		"a format that no value of the type can have": {append(first(column.Transform{Format: "YYYY"}),
			source.Pair{Field: "born", Column: "Born", Transform: column.Transform{Format: "DD.MM"}}),
			[]string{"/0/transform/format not_allowed_value", "/1/transform/format not_allowed_value"}},
		"joined columns exist, once": {first(join("Extra", "Extra", "no", "Name")), []string{
			"/0/transform/join/columns duplicate_item", "/0/transform/join/columns unknown_column",
			"/0/transform/join/columns duplicate_item"}},
		"at most four columns": {first(join("Extra", "Born", "Paid", "State", "a")), []string{
			"/0/transform/join/columns not_allowed_value", "/0/transform/join/columns unknown_column"}},
		"values are those of the field": {state(map[string]string{"zu": "closed"}),
			[]string{"/0/transform/values not_allowed_value"}},
		"texts differ in more than case": {state(map[string]string{"zu": "open", "ZU ": "done"}),
			[]string{"/0/transform/values duplicate_item"}},
		"no text is empty":  {state(map[string]string{" ": "open"}), []string{"/0/transform/values not_allowed_value"}},
		"at most 200 texts": {state(multiple), []string{"/0/transform/values too_many_items"}},
		"separators are short": {first(column.Transform{Split: &column.Split{Part: column.First, Separator: long},
			Join: &column.Join{Columns: []string{"Extra"}, Separator: long}}), []string{
			"/0/transform/split/separator too_long", "/0/transform/join/separator too_long"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := guests.Transform(source.SheetBackend, guestColumns, c.pairs, nil)
			for i, w := range c.wrong {
				c.wrong[i] = "/mapping" + w
			}
			if got := wrongIn(err); !slices.Equal(got, c.wrong) {
				t.Errorf("%q, want %q (%v)", got, c.wrong, err)
			}
		})
	}
}

func TestTransformShowsValuesBeforeAndAfter(t *testing.T) {
	pairs := []source.Pair{
		{Field: "last", Column: "Name", Transform: column.Transform{Split: &column.Split{Part: column.Last}, Case: column.Upper}},
		{Field: "first", Column: "Name", Transform: column.Transform{Split: &column.Split{Part: column.First}}},
		{Field: "born", Column: "Born", Transform: column.Transform{Dates: column.MonthFirst}},
		{Field: "paid", Column: "Paid", Transform: column.Transform{}},
		{Field: "state", Column: "State", Transform: column.Transform{Values: map[string]string{"fertig": "done"}}},
	}
	rows := [][]*string{{new("Ada Lovelace"), new("12/10/1815"), new("1.234"), new("Fertig")},
		{nil, new("1"), new("1,5"), new("?")}, {}}
	show := func(b source.Backend) string {
		out, err := guests.Transform(b, guestColumns, pairs, rows)
		require.NoError(t, err)
		var text strings.Builder
		for _, row := range out {
			for _, v := range row {
				previous := "-"
				if v.Before[0] != nil {
					previous = *v.Before[0]
				}
				fmt.Fprintf(&text, "%s:%s>%s%s ", v.Field, previous, cmp.Or(v.After.Text, "<nil>"), v.Code)
			}
		}
		return text.String()
	}
	want := "last:Ada Lovelace>LOVELACE first:Ada Lovelace>Ada born:12/10/1815>1815-12-10 paid:1.234>1234 " +
		"state:Fertig>done last:-><nil> first:-><nil>missing born:1><nil>wrong_type paid:1,5>1.5 " +
		"state:?><nil>not_in_enum last:-><nil> first:-><nil>missing born:-><nil> paid:-><nil> state:-><nil> "
	if got := show(source.SheetBackend); got != want {
		t.Errorf("of a sheet:\n%s\n%s", got, want)
	}
	want = strings.Replace(want, "1.234>1234", "1.234>1.234", 1)
	want = strings.Replace(want, "paid:1,5>1.5", "paid:1,5><nil>wrong_type", 1)
	if got := show(source.WarehouseBackend); got != want {
		t.Errorf("of a warehouse:\n%s\n%s", got, want)
	}
}

func TestAJoinedColumnIsAMappedOne(t *testing.T) {
	by := actor("ann", identity.Member)
	r := source.Reading{Location: source.Location{Sheet: source.SheetLocation{URL: "https://files.example.com/a.csv"}},
		Columns: guestColumns, Rows: [][]*string{{new("Lovelace"), nil, nil, nil, new("Ada")}}}
	pairs := []source.Pair{{Field: "first", Column: "Name", Transform: column.Transform{
		Join: &column.Join{Columns: []string{"Extra"},
			Separator: " "}, Case: column.Lower}}}
	s, err := source.New(by, guests, source.Draft{Type: "guests", Location: r.Location, Mapping: pairs}, r, 0)
	require.NoError(t, err)
	if len(s.Learnt) != 0 {
		t.Errorf("learnt %v of a part of a column", s.Learnt)
	}
	if unmappedTexts := s.Report(&guests).UnmappedColumns; slices.Contains(unmappedTexts, "Extra") {
		t.Errorf("unmapped: %v", unmappedTexts)
	}
	if rows := s.Mapped(r); *rows[0]["first"] != "lovelace ada" {
		t.Errorf("%q", *rows[0]["first"])
	}
	s.Refreshed(by, &guests, source.Outcome{Of: 1, Reading: source.Reading{Columns: guestColumns[:3]}}, 0)
	if warnings := s.Report(&guests).Warnings; s.Drift.Level != source.Breaking || len(warnings) != 1 ||
		warnings[0].Code != source.ColumnMissing {
		t.Errorf("%+v, %+v", s.Drift, warnings)
	}
}
