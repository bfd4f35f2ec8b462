package column_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/column"
)

func TestAFormatSaysHowDatesAndNumbersAreWritten(t *testing.T) {
	for _, tt := range []struct {
		t                  column.Type
		format, text, want string // "" for none
	}{
		{column.Date, "YYYYMMDD", "20240105", "2024-01-05"},
		{column.Date, "DDMMYYYY", "05012024", "2024-01-05"},
		{column.Date, "DDMMYYYY", "5012024", "2024-01-05"}, // a cell with a number
		{column.Date, "DDMMYYYY", "20240105", ""},
		{column.Date, "yymmdd", "240105", ""}, // minutes
		{column.Date, "yyMMdd", "240105", "2024-01-05"},
		{column.Date, "YYMMDD", "990105", "1999-01-05"},
		{column.Date, "YYYYMMDD", "20240230", ""},
		{column.Date, "DD.MM.YYYY", "5.1.2024", "2024-01-05"},
		{column.Date, "MM/DD/YYYY", "01/05/2024", "2024-01-05"},
		{column.Date, "MM/DD/YYYY", "13/05/2024", ""},
		{column.Date, "YYYY-DD-MM", "2024-05-01", "2024-01-05"},
		{column.Date, "DD.MM.YYYY", "2024-01-05", "2024-01-05"}, // a cell with a date
		{column.Date, "MM/YYYY", "01/2024", "2024-01-01"},
		{column.Date, "D. MMM YYYY", "5. Januar 2024", "2024-01-05"},
		{column.Date, "D MMM YYYY", "5 févr.  2024", "2024-02-05"},
		{column.Date, "D MMM YYYY", "5 Foo 2024", ""},
		{column.Date, "DD.MM.YYYY", "5.1.2024 ", "2024-01-05"},
		{column.Date, "DD.MM.YYYY", "5.1.2024x", ""},
		{column.Date, "DD.MM.YYYY HH:mm", "5.1.2024 23:59", "2024-01-05"},
		{column.DateTime, "YYYYMMDDHHmmss", "20240105235958", "2024-01-05T23:59:58"},
		{column.DateTime, "YYYY-MM-DDTHH:mm:ss.SSSZ", "2024-01-05T23:59:58.1200+0100", "2024-01-05T23:59:58.12+01:00"},
		{column.DateTime, "MM/DD/YYYY H:mm A", "1/5/2024 12:07 a.m.", "2024-01-05T00:07:00"},
		{column.DateTime, "DD.MM.YYYY HH:mm", "5.1.2024 24:00", ""},
		{column.DateTime, "DD.MM.YYYY", "5.1.2024", "2024-01-05T00:00:00"},
		{column.DateTime, "unix", "0", "1970-01-01T00:00:00Z"},
		{column.DateTime, "unix", "-1.5", "1969-12-31T23:59:58.5Z"},
		{column.DateTime, "unix", "1704412800", "2024-01-05T00:00:00Z"},
		{column.DateTime, "unix", "999999999999", ""},
		{column.DateTime, "unix", "1.0000000001", ""}, // more than nine decimals
		{column.DateTime, "unix", "2024", "1970-01-01T00:33:44Z"},
		{column.DateTime, "unix_ms", "1704412800123", "2024-01-05T00:00:00.123Z"},
		{column.DateTime, "unix_us", "1704412800123456", "2024-01-05T00:00:00.123456Z"},
		{column.Date, "unix", "1704412800", "2024-01-05"},
		{column.Date, "unix", "x", ""},
		{column.Date, "excel", "45296", "2024-01-05"},
		{column.DateTime, "excel", "45296.999988426", "2024-01-05T23:59:59"},
		{column.Number, "hundredths", "1234", "12.34"},
		{column.Number, "hundredths", "-5", "-0.05"},
		{column.Number, "hundredths", "0", "0"},
		{column.Integer, "hundredths", "1200", "12"},
		{column.Integer, "hundredths", "1234", ""},
		{column.Number, "thousandths", "1234.5", "1.2345"},
		{column.Number, "thousandths", "1e80", ""},
	} {
		f := column.Field{Type: tt.t}
		transform := column.Transform{Format: tt.format}
		got, reason := f.Value(&tt.text, transform.Style(column.Style{}, tt.t))
		if got.Text != tt.want || (reason == column.WrongType) != (tt.want == "") {
			t.Errorf("%s %q as %s: %q, %s; want %q", tt.t, tt.text, tt.format, got.Text, reason, tt.want)
		}
	}
}

func TestAFormatThatCannotBeReadIsNone(t *testing.T) {
	for format, t1 := range map[string]column.Type{
		"": column.Date, "DD.MM": column.Date, "YYYY DD": column.Date, "YYYY-MM-DD mm": column.DateTime,
		"DMYYYY": column.Date, "YYYY-MM-DD DD": column.Date, "Uhr YYYY": column.Date, "YYYY-MM-DD A": column.DateTime,
		"YYYY-MM-DD                               ": column.Date, "YYYY/YY": column.Date,
		"hundredths": column.Date, "unix": column.Number, "YYYY": column.Number, "excel": column.String,
		"thousandths": column.Boolean,
	} {
		if _, ok := column.NewFormat(format, t1); ok {
			t.Errorf("%s as %q", t1, format)
		}
	}
}

// TestAnInverseLosesNoRow compares values of columns, which have numbers or booleans, before and after transformations.
func TestAnInverseLosesNoRow(t *testing.T) {
	state := map[string]string{"1": "new", " 2": "paid", "true": "paid", "x": "new"}
	operators := []column.Operator{column.Equals, column.In, column.Greater, column.AtLeast, column.Less, column.AtMost}
	for _, tt := range []struct {
		t         column.Type
		transform column.Transform
		texts     []string
		inverted  int // of the operators
	}{
		{column.Date, column.Transform{Format: "YYYYMMDD"}, []string{"20240105", "20240106", "20231231", "2024"}, 6},
		{column.Date, column.Transform{Format: "DDMMYYYY"}, []string{"5012024", "31122023", "15062024"}, 2},
		{column.Date, column.Transform{Format: "DD.MM.YYYY"}, []string{"5.1.2024"}, 0},
		{column.Date, column.Transform{Format: "YYYYMMDDHHmmss"}, []string{"20240105000001", "20240105235959"}, 0},
		{column.DateTime, column.Transform{Format: "YYYYMMDDHHmm"}, []string{"202401050000", "202401052359"}, 6},
		{column.DateTime, column.Transform{Format: "unix"}, []string{"0", "1704412800", "-1.5", "1704412800.25"}, 6},
		{column.Date, column.Transform{Format: "unix_ms"}, []string{"1704412800000", "1704499199999",
			"1704499200000"}, 5},
		{column.Date, column.Transform{Format: "excel"}, []string{"45296", "45296.9999999999", "45297"}, 5},
		{column.DateTime, column.Transform{Format: "excel"}, []string{"45296.00000000001", "45296.5"}, 5},
		{column.Number, column.Transform{Format: "hundredths"}, []string{"1234", "-5", "0", "1234.5"}, 6},
		{column.Enum, column.Transform{Values: state}, []string{"1", "2", "1.0", "3", "7"}, 2},
		{column.Enum, column.Transform{Values: map[string]string{"TRUE": "paid", "false": "new"}},
			[]string{"true", "false"}, 2},
		{column.Number, column.Transform{Decimal: ","}, []string{"1"}, 0},
		{column.Number, column.Transform{Format: "hundredths", Trim: true}, []string{"1"}, 0},
	} {
		f := column.Field{Type: tt.t, Enum: []string{"new", "paid", "7"}}
		style := tt.transform.Style(column.Warehouse, tt.t)
		valueOf := func(text string) column.Value {
			value, _ := f.Value(tt.transform.Text(&text, nil), style)
			return value
		}
		inverted := map[column.Operator]bool{}
		for _, operator := range operators {
			for _, text := range tt.texts {
				texts := []string{valueOf(text).Text}
				if operator == column.In {
					texts = append(texts, valueOf(tt.texts[0]).Text)
				}
				c, ok := f.Condition(operator, texts)
				if !ok {
					continue
				}
				inverse, ok := tt.transform.Inverse(c)
				inverted[operator] = inverted[operator] || ok
				for _, other := range tt.texts {
					if ok && !valueOf(other).IsNull() && c.Holds(valueOf(other)) && !areTrue(inverse, other) {
						t.Errorf("%s %+v: %s %q of %q is lost by %+v", tt.t, tt.transform, operator, texts, other,
							inverse)
					}
				}
			}
		}
		if len(present(inverted)) != tt.inverted {
			t.Errorf("%s %+v: inverted %v", tt.t, tt.transform, inverted)
		}
	}
}

func present(inverted map[column.Operator]bool) (operators []column.Operator) {
	for operator, ok := range inverted {
		if ok {
			operators = append(operators, operator)
		}
	}
	return operators
}

// areTrue reports whether a number or a boolean satisfies conditions.
func areTrue(conditions []column.Condition, text string) bool {
	for _, c := range conditions {
		f := column.Field{Type: c.Type}
		if value, _ := f.Value(&text, column.Warehouse); !c.Holds(value) {
			return false
		}
	}
	return len(conditions) > 0
}

func TestAnInverseIsAsNarrowAsItsTransformation(t *testing.T) {
	for _, tt := range []struct {
		t            column.Type
		format       string
		o            column.Operator
		value, wants string
	}{
		{column.Date, "YYYYMMDD", column.Equals, "2024-01-05", "[in [20240105]]"},
		{column.Date, "YYYYMMDD", column.Greater, "2024-01-05", "[gte [20240105]]"},
		{column.Date, "unix", column.Equals, "1970-01-02", "[gte [86400] lte [172800]]"},
		{column.DateTime, "unix", column.In, "1970-01-01T00:00:01.5Z", "[in [1.5]]"},
		{column.Number, "hundredths", column.Less, "12.34", "[lte [1234]]"},
		{column.Date, "excel", column.IsNull, "true", "[is_null [true]]"},
	} {
		f := column.Field{Type: tt.t}
		c, _ := f.Condition(tt.o, []string{tt.value})
		inverse, _ := column.Transform{Format: tt.format}.Inverse(c)
		var parts []string
		for _, c := range inverse {
			parts = append(parts, fmt.Sprint(c.Operator, " [", c.Values[0].Text, "]"))
		}
		if got := fmt.Sprint(parts); got != tt.wants {
			t.Errorf("%s %s %s: %s, want %s", tt.format, tt.o, tt.value, got, tt.wants)
		}
	}
}
