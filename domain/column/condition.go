package column

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Operator is how a Condition compares a field's value.
type Operator string

// The operators. Numbers, dates and times are compared as values, and other values by their code points.
const (
	Equals     Operator = "eq"
	In         Operator = "in"
	IsNull     Operator = "is_null"
	StartsWith Operator = "starts_with"
	Greater    Operator = "gt"
	AtLeast    Operator = "gte"
	Less       Operator = "lt"
	AtMost     Operator = "lte"
)

// IsRange reports whether o compares by an order.
func (o Operator) IsRange() bool {
	return slices.Contains([]Operator{Greater, AtLeast, Less, AtMost}, o)
}

// Condition is what a field's value in a row must satisfy.
type Condition struct {
	Type     Type // of the field
	Operator Operator
	Values   []Value // one, or several of In. IsNull has true or false
}

// Condition reads a condition on f's values from strings, as Value does. ok is false if a string is no value of f, or
// if f's type has no such comparison: only numbers, dates, times and strings are in an order, and only strings begin
// with others. The empty string is no value, for which Equals and In look.
func (f *Field) Condition(o Operator, texts []string) (c Condition, ok bool) {
	c = Condition{Type: f.Type, Operator: o}
	isText := !slices.Contains([]Type{Integer, Number, Boolean, Date, DateTime, JSON}, f.Type)
	for _, text := range texts {
		var value Value
		var reason Invalid
		switch {
		case o == IsNull:
			ok = text == "true" || text == "false"
			value = Value{Truth, text}
		case o == StartsWith:
			ok = isText && text != ""
			value = TextValue(text)
		default:
			limits := f
			if f.Type == Integer && o != Equals && o != In { // a limit can be between two integers
				limits = &Field{Type: Number}
			}
			value, reason = limits.Value(&text, Warehouse)
			ok = reason == ""
			if o != Equals && o != In {
				ok = ok && !value.IsNull() && f.Type != Boolean && f.Type != JSON
			}
		}
		if !ok {
			return Condition{}, false
		}
		c.Values = append(c.Values, value)
	}
	return c, len(c.Values) > 0
}

// Holds reports whether v satisfies the condition.
func (c *Condition) Holds(v Value) bool {
	switch c.Operator {
	case IsNull:
		return v.IsNull() == (c.Values[0].Text == "true")
	case Equals, In:
		return slices.ContainsFunc(c.Values, func(value Value) bool {
			return value.Kind == v.Kind && (value.Text == v.Text || Compare(c.Type, v.Text, value.Text) == 0)
		})
	case StartsWith:
		return strings.HasPrefix(v.Text, c.Values[0].Text)
	}
	if v.IsNull() {
		return false
	}
	switch order := Compare(c.Type, v.Text, c.Values[0].Text); c.Operator {
	case Greater:
		return order > 0
	case AtLeast:
		return order >= 0
	case Less:
		return order < 0
	case AtMost:
		return order <= 0
	}
	return false
}

// Compare returns the order of two values with a type, as cmp.Compare does: of numbers, dates and times as values, and
// of other values by their code points.
func Compare(t Type, a, b string) int {
	switch t {
	case Integer, Number:
		return compareNumbers(a, b)
	case DateTime:
		return compareMoments(a, b)
	}
	return cmp.Compare(a, b)
}

// compareMoments compares times as Field.Value writes them.
func compareMoments(a, b string) int {
	first, errA := Instant(a)
	second, errB := Instant(b)
	if errA != nil || errB != nil { // an offset of more than a day, which time does not read
		return cmp.Compare(a, b)
	}
	return first.Compare(second)
}

// Instant reads a time as Field.Value writes it. One without an offset counts as UTC.
func Instant(text string) (time.Time, error) {
	const day = len(time.DateOnly)
	if clock := text[min(day, len(text)):]; !strings.ContainsAny(clock, "Z+-") {
		text += "Z"
	}
	return time.Parse(time.RFC3339Nano, text)
}

// compareNumbers compares numbers of any size exactly, without computing them: 1e300000000 is short.
func compareNumbers(a, b string) int {
	first, second := scientificOf(a), scientificOf(b)
	if order := cmp.Compare(first.sign, second.sign); order != 0 || first.sign == 0 {
		return order
	}
	return first.sign * cmp.Or(cmp.Compare(first.exponent, second.exponent), cmp.Compare(first.digits, second.digits))
}

// PlainNumber writes a number without an exponent and without zeros that change nothing: 1.50e3 is 1500. ok is false if
// it needs more than 65 digits, or 30 after the point: the most that a DECIMAL of MySQL has ("Precision Math").
func PlainNumber(text string) (plain string, ok bool) { return shifted(text, 0) }

// shifted writes a number with its point moved to the right, as PlainNumber does.
func shifted(text string, places int) (plain string, ok bool) {
	const most, mostDecimals = 65, 30
	n := scientificOf(text)
	n.exponent += places
	if n.sign == 0 {
		return "0", true
	}
	decimals := len(n.digits) - n.exponent
	if decimals > mostDecimals || max(n.exponent, 0)+max(decimals, 0) > most {
		return "", false
	}
	switch {
	case decimals <= 0:
		plain = n.digits + strings.Repeat("0", -decimals)
	case n.exponent <= 0:
		plain = "0." + strings.Repeat("0", -n.exponent) + n.digits
	default:
		plain = n.digits[:n.exponent] + "." + n.digits[n.exponent:]
	}
	if n.sign < 0 {
		plain = "-" + plain
	}
	return plain, true
}

// scientific is the number sign × 0.digits × 10^exponent. Its first and last digit are not 0.
type scientific struct {
	sign     int // -1, 0 or 1
	digits   string
	exponent int
}

// scientificOf reads a number as JSON has it.
func scientificOf(text string) scientific {
	n := scientific{sign: 1}
	if rest, isNegative := strings.CutPrefix(text, "-"); isNegative {
		text, n.sign = rest, -1
	}
	if place := strings.IndexAny(text, "eE"); place >= 0 {
		const most = 1 << 30                        // beyond all numbers that a type has
		exponent, _ := strconv.Atoi(text[place+1:]) // of one that is too large, Atoi returns the largest
		text, n.exponent = text[:place], min(max(exponent, -most), most)
	}
	integer, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	n.exponent += len(digits) - len(fraction)
	if n.digits = strings.TrimRight(digits, "0"); n.digits == "" {
		return scientific{}
	}
	return n
}
