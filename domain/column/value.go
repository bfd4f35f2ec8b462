package column

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Invalid is the reason why a string is not a field value.
type Invalid string

// The reasons.
const (
	WrongType Invalid = "wrong_type"
	Ambiguous Invalid = "ambiguous" // a date or number with several possible meanings
	NotInEnum Invalid = "not_in_enum"
	Missing   Invalid = "missing"   // a required field is empty
	Duplicate Invalid = "duplicate" // a row before has the value of a field that is unique
)

// DateOrder is the order in which a date's parts are written; empty if it is unknown.
type DateOrder string

// The orders.
const (
	YearFirst  DateOrder = "ymd"
	DayFirst   DateOrder = "dmy"
	MonthFirst DateOrder = "mdy"
)

// Style is how a column's dates and numbers are written.
type Style struct {
	Dates    DateOrder
	Decimal  string // "." or ","; empty if it is unknown
	Database bool   // whether strings are a database's values, where #REF! is no formula error, and n/a a value
	Format   *Format
}

// Warehouse is the style of databases.
var Warehouse = Style{Decimal: ".", Database: true} //nolint:gochecknoglobals // a constant

// StyleOf returns the style that a column's first cells show: what all of them have in common.
func StyleOf(cells []*string) Style {
	var s Style
	days, months := false, false
	for _, c := range cells {
		if c == nil {
			continue
		}
		v := strings.TrimSpace(*c)
		if m := numericDate.FindStringSubmatch(v); m != nil {
			days = days || (isDay(m[3], m[2], m[1]) && !isDay(m[3], m[1], m[2]))
			months = months || (isDay(m[3], m[1], m[2]) && !isDay(m[3], m[2], m[1]))
			continue
		}
		bare, _, _ := amount(v)
		if sign := decimalOf(bare); sign != "" {
			if s.Decimal != "" && s.Decimal != sign {
				s.Decimal = "?"
			} else {
				s.Decimal = sign
			}
		}
	}
	switch {
	case days && !months:
		s.Dates = DayFirst
	case months && !days:
		s.Dates = MonthFirst
	}
	if s.Decimal == "?" {
		s.Decimal = ""
	}
	return s
}

// decimalOf returns a number's decimal sign if it can only have one; else "".
func decimalOf(bare string) string {
	point, comma := strings.LastIndex(bare, "."), strings.LastIndex(bare, ",")
	separator := max(point, comma)
	if separator < 0 || (!plainForm.MatchString(bare) && !groupedForm().MatchString(bare)) {
		return ""
	}
	last, other := bare[separator:separator+1], ","
	if last == "," {
		other = "."
	}
	switch {
	case point >= 0 && comma >= 0: // the other one separates thousands
		return last
	case strings.Count(bare, last) > 1: // it separates thousands
		return other
	case len(bare)-separator-1 != 3 || strings.HasPrefix(strings.TrimLeft(bare, "+-"), "0"+last) ||
		(separator > 3 && !strings.ContainsAny(bare[:1], "+-")):
		return last
	}
	return ""
}

// Value returns a string as a field value, Null if it is empty or, in a file, a placeholder for no value. An Enum's
// value is the field's value that equals the string, whatever its case. A string that is no value has a reason. No
// other function decides this, and no other string becomes Null without a reason.
func (f *Field) Value(cell *string, s Style) (value Value, reason Invalid) {
	if cell == nil || *cell == "" {
		return Value{}, ""
	}
	isText := f.Type == String || f.Type == Text
	if isText && s.Database {
		return TextValue(*cell), ""
	}
	text := strings.TrimSpace(*cell)
	switch {
	case !s.Database && isSheetError(text):
		return Value{}, WrongType
	case isText:
		return TextValue(*cell), ""
	}
	if f.Type != Enum && (text == "" || (!s.Database && isPlaceholder(text))) {
		return Value{}, ""
	}
	switch f.Type {
	case Integer, Number:
		return numeric(text, f.Type == Integer, s)
	case Boolean:
		return boolean(text)
	case Date, DateTime:
		if s.Format != nil {
			return s.Format.moment(text, f.Type == DateTime)
		}
		return moment(text, f.Type == DateTime, s)
	case Email:
		if text = strings.TrimPrefix(text, "mailto:"); isEmail(text) {
			return TextValue(text), ""
		}
	case URL:
		if isURL(text) {
			return TextValue(text), ""
		}
	case JSON:
		if json.Valid([]byte(text)) {
			return Value{JSONDocument, text}, ""
		}
	case Enum:
		return f.member(text)
	}
	return Value{}, WrongType
}

// member returns the enum value that equals text, in any case. Ambiguous if several do.
func (f *Field) member(text string) (Value, Invalid) {
	if slices.Contains(f.Enum, text) {
		return TextValue(text), ""
	}
	found := ""
	for _, v := range f.Enum {
		if strings.EqualFold(v, text) {
			if found != "" {
				return Value{}, Ambiguous
			}
			found = v
		}
	}
	if found == "" {
		return Value{}, NotInEnum
	}
	return TextValue(found), ""
}

// trues are the words of booleans that mean true, and what databases write for it.
var trues = setOf("true", "yes", "y", "wahr", "ja", "vrai", "oui", "verdadero", "sí", "si", "vero", "sim", "waar",
	"on", "☑", "✓", "1", "t")

func boolean(text string) (Value, Invalid) {
	lower := strings.ToLower(text)
	switch {
	case trues[lower]:
		return Value{Truth, "true"}, ""
	case booleans[lower], lower == "0", lower == "f":
		return Value{Truth, "false"}, ""
	}
	return Value{}, WrongType
}

// amount strips a string to the sign, digits and separators of its number, and reports whether it is a percentage. ok
// is false for a code, such as 007.
func amount(v string) (bare string, percent, ok bool) {
	negative := false
	if strings.HasPrefix(v, "(") && strings.HasSuffix(v, ")") {
		v, negative = v[1:len(v)-1], true
	}
	for _, minus := range []string{"-", "−"} {
		if rest, found := strings.CutPrefix(v, minus); found {
			v, negative = rest, !negative
			break
		}
	}
	percent = strings.HasSuffix(v, "%")
	if m := moneyForm().FindStringSubmatch(v); m != nil {
		v = m[1]
	}
	if phoneForm.MatchString(v) || strings.HasPrefix(v, "-") {
		return "", false, false
	}
	if negative {
		v = "-" + strings.TrimPrefix(v, "+")
	}
	return v, percent, true
}

const maxDigits = 400 // of a number

// numeric reads a number as JSON writes it.
func numeric(text string, isWhole bool, s Style) (Value, Invalid) {
	bare, percent, ok := amount(text)
	if !ok || len(bare) > maxDigits || (codeForm.MatchString(bare) && !isLong(bare) && !s.Database) {
		return Value{}, WrongType
	}
	plain, reason := decimalForm(bare, s)
	if reason != "" {
		return Value{}, reason
	}
	if percent {
		plain += "e-2"
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return Value{}, WrongType
	}
	if percent {
		plain = strconv.FormatFloat(f, 'g', -1, 64)
	}
	if s.Format != nil {
		if plain, ok = shifted(plain, -s.Format.scale); !ok {
			return Value{}, WrongType
		}
	}
	if !isWhole {
		return Value{Numeral, plain}, ""
	}
	n, ok := wholeNumber(plain)
	if !ok {
		return Value{}, WrongType
	}
	return Value{Numeral, strconv.FormatInt(n, 10)}, ""
}

// wholeNumber reads a number of 64 bits without a fraction, such as 5.00 and 1e6.
func wholeNumber(plain string) (int64, bool) {
	if place := strings.IndexAny(plain, "eE"); place >= 0 {
		const most = 100 // of an exponent, so that the number stays small
		exponent, err := strconv.Atoi(plain[place+1:])
		if err != nil || exponent < -most || exponent > most {
			return 0, false
		}
		r, ok := new(big.Rat).SetString(plain)
		if !ok || !r.IsInt() || !r.Num().IsInt64() {
			return 0, false
		}
		return r.Num().Int64(), true
	}
	if integer, fraction, found := strings.Cut(plain, "."); found && strings.Trim(fraction, "0") == "" {
		plain = integer
	}
	n, err := strconv.ParseInt(plain, 10, 64)
	return n, err == nil
}

// isLong reports whether digits count as a code only because of their length: a database has numbers of more than 18
// digits.
func isLong(bare string) bool { return strings.TrimLeft(bare, "+-")[0] != '0' }

// Stored returns a number as programs store it, with a point, so that Value cannot take it for a thousand.
func Stored(number string) string {
	if strings.Contains(number, ".") && plainForm.MatchString(number) && !strings.ContainsAny(number, "eE") {
		return number + noExponent
	}
	return number
}

// noExponent is the exponent of a number that Stored marks.
const noExponent = "e0"

// decimalForm writes a number with a point and without groups, as JSON requires.
func decimalForm(bare string, s Style) (string, Invalid) {
	isGrouped := groupedForm().MatchString(bare)
	if !isGrouped && !plainForm.MatchString(bare) {
		return "", WrongType
	}
	decimal := decimalOf(bare)
	if decimal == "." && strings.HasSuffix(bare, noExponent) {
		s.Decimal = decimal // as Stored marks it, however the file shows numbers
	}
	point, comma := strings.Count(bare, "."), strings.Count(bare, ",")
	switch {
	case decimal != "" && s.Decimal != "" && decimal != s.Decimal:
		return "", WrongType // the others in its column are written in another way
	case decimal == "":
		decimal = s.Decimal
	}
	if decimal == "" && isGrouped && point+comma == 1 {
		if point == 1 {
			return "", Ambiguous // 1.234 is a thousand or a fraction
		}
		decimal = "." // 1,234 is a thousand
	}
	mantissa := strings.TrimPrefix(bare, "+")
	for _, group := range []string{" ", "'", "’", "\u00a0", "\u202f"} {
		mantissa = strings.ReplaceAll(mantissa, group, "")
	}
	if decimal == "," {
		mantissa = strings.ReplaceAll(strings.ReplaceAll(mantissa, ".", ""), ",", ".")
	} else {
		mantissa = strings.ReplaceAll(mantissa, ",", "")
	}
	sign := ""
	if rest, found := strings.CutPrefix(mantissa, "-"); found {
		sign, mantissa = "-", rest
	}
	digits, exponent := mantissa, ""
	if place := strings.IndexAny(mantissa, "eE"); place >= 0 {
		digits, exponent = mantissa[:place], mantissa[place:]
	}
	integer, fraction, _ := strings.Cut(digits, ".")
	if integer = strings.TrimLeft(integer, "0"); integer == "" {
		integer = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	if exponent == noExponent {
		exponent = ""
	}
	return sign + integer + fraction + exponent, ""
}
