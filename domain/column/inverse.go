package column

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Inverse returns conditions on a column's values that all values satisfy whose transformation satisfies c; others may,
// too. They have c's type if t changes nothing; otherwise they are conditions on numbers or booleans, which are true of
// columns with such values. ok is false without any.
func (t Transform) Inverse(c Condition) (conditions []Condition, ok bool) {
	values, text := t.Values, t.Format
	if t.Values, t.Format = nil, ""; !t.IsZero() || (text != "" && len(values) > 0) {
		return nil, false
	}
	switch {
	case len(values) > 0:
		return inverseValues(values, c)
	case text != "":
		format, _ := NewFormat(text, c.Type)
		return format.inverse(c)
	}
	return []Condition{c}, true
}

// inverseValues returns a condition on the numbers or booleans that become a condition's values, or are one.
func inverseValues(values map[string]string, c Condition) ([]Condition, bool) {
	if c.Operator != Equals && c.Operator != In {
		return nil, false
	}
	numbers, truths := Condition{Type: Number, Operator: In}, Condition{Type: Boolean, Operator: In}
	add := func(text string) {
		if number, reason := numeric(text, false, Warehouse); reason == "" && plainForm.MatchString(text) {
			numbers.Values = append(numbers.Values, number)
		}
		if text = strings.ToLower(text); text == "true" || text == "false" {
			truths.Values = append(truths.Values, Value{Truth, text})
		}
	}
	for _, v := range c.Values {
		if v.IsNull() {
			return nil, false
		}
		add(v.Text)
		for from, to := range values {
			if to == v.Text {
				add(strings.TrimSpace(from))
			}
		}
	}
	slices.SortFunc(numbers.Values, func(a, b Value) int { return cmp.Compare(a.Text, b.Text) })
	switch {
	case len(numbers.Values) > 0 && len(truths.Values) == 0:
		return []Condition{numbers}, true
	case len(truths.Values) > 0 && len(numbers.Values) == 0:
		return []Condition{truths}, true
	}
	return nil, false
}

// inverse returns conditions on a column's numbers.
func (f *Format) inverse(c Condition) ([]Condition, bool) {
	one := func(o Operator, values ...Value) Condition { return Condition{Number, o, values} }
	switch {
	case c.Operator == IsNull:
		return []Condition{one(IsNull, c.Values...)}, true
	case c.Operator == StartsWith || (c.Operator.IsRange() && !f.isOrdered()):
		return nil, false
	}
	all := one(In)
	for _, v := range c.Values {
		if v.IsNull() {
			all.Values = append(all.Values, v)
			continue
		}
		low, high, ok := f.bounds(c.Type, v.Text)
		switch isExact := low == high; {
		case !ok:
			return nil, false
		case c.Operator == Greater, c.Operator == AtLeast:
			return []Condition{one(AtLeast, Value{Numeral, low})}, true
		case c.Operator == Less, c.Operator == AtMost:
			return []Condition{one(AtMost, Value{Numeral, high})}, true
		case !isExact && len(c.Values) > 1:
			return nil, false
		case !isExact:
			return []Condition{one(AtLeast, Value{Numeral, low}), one(AtMost, Value{Numeral, high})}, true
		}
		all.Values = append(all.Values, Value{Numeral, low})
	}
	return []Condition{all}, true
}

// fallingUnits are the tokens of dates whose order as numbers is the order of the dates.
const fallingUnits = "YYYYMMDDHHmmssSSS"

// isOrdered reports whether numbers of the format are in the order of what they stand for.
func (f *Format) isOrdered() bool {
	order := ""
	for _, p := range f.parts {
		order += p.token
	}
	return len(f.parts) == 0 || strings.HasPrefix(fallingUnits, order)
}

// bounds returns the numbers between which those are that stand for a value.
func (f *Format) bounds(t Type, text string) (low, high string, ok bool) {
	if f.scale > 0 {
		low, ok = shifted(text, f.scale)
		return low, low, ok
	}
	first, err := time.Parse(time.DateOnly, text)
	last := first.Add(secondsOfDay * time.Second)
	if t == DateTime {
		first, err = Instant(text)
		last = first
	}
	if err != nil {
		return "", "", false
	}
	if f.unit == nil {
		low, ok = f.digits(first.UTC(), t)
		return low, low, ok
	}
	const day = secondsOfDay * time.Second
	if f.epoch.Sign() != 0 { // fractions of days are rounded
		first, last = first.Add(-day), last.Add(day)
	}
	return f.count(first), f.count(last), true
}

// count returns the number of units from the epoch to a moment.
func (f *Format) count(moment time.Time) string {
	seconds := new(big.Rat).SetFrac64(int64(moment.Nanosecond()), int64(time.Second))
	seconds.Add(seconds, new(big.Rat).SetInt64(moment.Unix()))
	const decimals = 9
	text := seconds.Quo(seconds.Sub(seconds, f.epoch), f.unit).FloatString(decimals)
	plain, _ := PlainNumber(text)
	return plain
}

// digits writes a moment in a pattern that has only digits. ok is false for other patterns, and for a date's times.
func (f *Format) digits(moment time.Time, t Type) (text string, ok bool) {
	layouts := map[string]string{"YYYY": "2006", "YY": "06", "MM": "01", "DD": "02", "HH": "15", "mm": "04", "ss": "05"}
	for _, p := range f.parts {
		layout, isFound := layouts[p.token]
		if !isFound || (t == Date && p.token == "HH") {
			return "", false
		}
		text += moment.Format(layout)
	}
	return PlainNumber(text)
}
