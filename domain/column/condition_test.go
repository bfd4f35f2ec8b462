package column_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/column"
)

func TestAConditionComparesValuesAndNotTheirSpellings(t *testing.T) {
	for _, tt := range []struct {
		of       column.Type
		operator column.Operator
		texts    string // separated by |
		holds    string // values for which it holds, separated by blanks; - is no value
		fails    string
	}{
		{column.Number, column.Equals, "7.5", "7.5 7.50 75e-1 0.75E1", "7.51 -7.5 75 -"},
		{column.Number, column.Equals, "100", "100 1e2 100.0", "10 1000 -100"},
		{column.Number, column.Equals, "0", "0 0.00 -0 0e9", "1e-400 -"},
		{column.Number, column.In, "1|2.50", "1.0 2.5", "3 -"},
		{column.Number, column.AtLeast, "7", "7 7.0 8 1e30", "6.9 -7 -1e30 -"},
		{column.Number, column.Greater, "-1.5", "-1.4 0 1", "-1.5 -1.50 -2"},
		{column.Number, column.Less, "1e-20", "0 -5 9e-21", "1e-20 1e-19"},
		{column.Number, column.AtMost, "99999999999999999999.5", "99999999999999999999.5 1", "99999999999999999999.6"},
		{column.Number, column.Less, "1e99", "1 9e98", "1e300 1e99"},
		{column.Integer, column.Equals, "7.00", "7", "8"},
		{column.Integer, column.Greater, "7.5", "8", "7"},
		{column.Integer, column.AtMost, "9223372036854775807", "9223372036854775807", "9223372036854775808"},
		{column.Boolean, column.Equals, "yes", "true", "false -"},
		{column.Boolean, column.In, "true|false", "true false", "-"},
		{column.Date, column.AtLeast, "2024-02-29", "2024-02-29 2024-03-01", "2024-02-28 -"},
		{column.DateTime, column.Equals, "2024-07-01T12:00:00Z", "2024-07-01T12:00:00Z 2024-07-01T14:00:00+02:00 " +
			"2024-07-01T12:00:00", "2024-07-01T12:00:00.001Z"},
		{column.DateTime, column.AtLeast, "2024-07-01", "2024-07-01T00:00:00 2024-07-01T01:59:00+01:00",
			"2024-07-01T01:00:00+02:00 2024-06-30T23:59:59.999Z"},
		{column.String, column.Equals, "a,b", "a,b", "A,b -"},
		{column.String, column.In, "a||ä", "a ä -", "b"},
		{column.String, column.StartsWith, "Ad", "Ada Ad", "ada A bAd -"},
		{column.String, column.Greater, "10", "9 2", "10 1"},
		{column.Email, column.Equals, "mailto:ada@example.com", "ada@example.com", "Ada@example.com"},
		{column.Number, column.IsNull, "true", "-", "0"},
		{column.Number, column.IsNull, "false", "0", "-"},
		{column.String, column.Equals, "", "-", "a"},
	} {
		f := column.Field{Key: "f", Type: tt.of}
		c, ok := f.Condition(tt.operator, strings.Split(tt.texts, "|"))
		if !ok {
			t.Errorf("%s %s %q is refused", tt.of, tt.operator, tt.texts)
			continue
		}
		for text := range strings.FieldsSeq(tt.holds) {
			if !c.Holds(valueOf(tt.of, text)) {
				t.Errorf("%s %s does not hold for %s", tt.operator, tt.texts, text)
			}
		}
		for text := range strings.FieldsSeq(tt.fails) {
			if c.Holds(valueOf(tt.of, text)) {
				t.Errorf("%s %s holds for %s", tt.operator, tt.texts, text)
			}
		}
	}
}

// valueOf returns the value with a text, as Field.Value returns it for a field of a type. "-" is no value.
func valueOf(of column.Type, text string) column.Value {
	switch {
	case text == "-":
		return column.Value{}
	case of == column.Number || of == column.Integer:
		return column.Value{Kind: column.Numeral, Text: text}
	case of == column.Boolean:
		return column.Value{Kind: column.Truth, Text: text}
	}
	return column.TextValue(text)
}

func TestAConditionThatAFieldCannotHaveIsRefused(t *testing.T) {
	for _, tt := range []struct {
		of       column.Type
		operator column.Operator
		text     string
	}{
		{column.Number, column.Equals, "seven"}, {column.Integer, column.Equals, "7.5"}, {column.Number, column.Less, ""},
		{column.Boolean, column.Greater, "true"}, {column.JSON, column.Less, "1"}, {column.Number, column.StartsWith, "1"},
		{column.Date, column.AtLeast, "yesterday"}, {column.String, column.IsNull, "yes"}, {column.String, column.IsNull, ""},
		{column.String, column.StartsWith, ""}, {column.Email, column.Equals, "nobody"},
	} {
		f := column.Field{Key: "f", Type: tt.of}
		if c, ok := f.Condition(tt.operator, []string{tt.text}); ok {
			t.Errorf("%s %s %q: %+v", tt.of, tt.operator, tt.text, c)
		}
	}
	f := column.Field{Key: "f", Type: column.String}
	if c, ok := f.Condition(column.In, nil); ok {
		t.Errorf("none of no values: %+v", c)
	}
}

func TestANumberIsWrittenWithoutAnExponent(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0.00": "0", "0e99": "0", "7": "7", "7.50": "7.5", "-1.50e3": "-1500", "12e-4": "0.0012", "100": "100",
		"1234.5e1": "12345", "1e64": "1" + strings.Repeat("0", 64), "1e65": "", "1e-30": "0." + strings.Repeat("0", 29) + "1",
		"1e-31": "", "1e999999999999999999999": "", "1e-999999999999999999999": "",
	} {
		if got, ok := column.PlainNumber(text); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %t, want %q", text, got, ok, want)
		}
	}
}

// math/big computes what the comparison of digits must find.
func TestNumbersAreComparedAsMathBigComparesThem(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		first, okA := new(big.Rat).SetString(a)
		second, okB := new(big.Rat).SetString(b)
		if !okA || !okB {
			t.Fatalf("%q, %q", a, b)
		}
		f := column.Field{Type: column.Number}
		for operator, want := range map[column.Operator]bool{
			column.Equals: first.Cmp(second) == 0, column.Greater: first.Cmp(second) > 0,
			column.AtLeast: first.Cmp(second) >= 0, column.Less: first.Cmp(second) < 0,
			column.AtMost: first.Cmp(second) <= 0,
		} {
			c, ok := f.Condition(operator, []string{b})
			if got := c.Holds(column.Value{Kind: column.Numeral, Text: a}); !ok || got != want {
				t.Errorf("%s %s %s: %t, want %t", a, operator, b, got, want)
			}
		}
	})
}
