package numfmt

import (
	"math"
	"strconv"
	"strings"
)

// Show returns a number as a format code shows it, in English. date1904 means that days are counted from 1904. It
// returns false for what it does not support: General, names and digits of other languages, and numbers that are not
// valid dates.
func Show(code string, v float64, date1904 bool) (string, bool) {
	s, v, ok := choose(split(code), v)
	locale := strings.ToLower(s.locale)
	switch {
	case !ok:
		return strings.Repeat("#", 8), true
	case strings.HasPrefix(locale, "dbnum"), strings.HasPrefix(locale, "natnum"):
		return "", false
	case s.isDate():
		if s.isForeign() {
			return "", false
		}
		return s.date(v, date1904)
	}
	for _, t := range s.tokens {
		if !t.literal && (t.text == "General" || t.text == "@") {
			if len(s.tokens) == 1 {
				return "", false
			}
			return s.join(strconv.FormatFloat(v, 'G', 10, 64)), true
		}
	}
	return s.number(v)
}

// join returns a section's literals, with a text in the place of General.
func (s *section) join(text string) string {
	var out strings.Builder
	for _, t := range s.tokens {
		switch {
		case t.literal:
			out.WriteString(t.text)
		case t.text == "General" || t.text == "@":
			out.WriteString(text)
		}
	}
	return out.String()
}

// layout is where a section's digits are.
type layout struct {
	whole, decimals   []int // positions of placeholders before and after the point
	point             int   // -1: none
	exponent          int   // as point
	slash             int   // as point
	grouped           bool
	percents, scaling int // how many percent signs, and how many commas that divide by 1,000
}

func isDigit(t token) bool { return !t.literal && isOneOf(t.text, "0#?") }

func isOneOf(text, characters string) bool {
	return len(text) == 1 && strings.ContainsAny(text, characters)
}

// layout finds the digits, the point, the exponent and the fraction of a number format.
func (s *section) layout() layout {
	l := layout{point: -1, exponent: -1, slash: -1}
	commas := 0 // since the last placeholder of the whole part
	for i, t := range s.tokens {
		switch {
		case t.literal:
		case isDigit(t) && l.exponent >= 0, isDigit(t) && l.slash >= 0:
		case isDigit(t) && l.point >= 0:
			l.decimals = append(l.decimals, i)
		case isDigit(t):
			l.whole = append(l.whole, i)
			l.grouped, commas = l.grouped || commas > 0, 0
		case t.text == "," && len(l.whole) > 0 && l.point < 0:
			commas++
		case t.text == "," && len(l.decimals) > 0:
			commas++
		case t.text == "." && l.point < 0:
			l.point = i
			l.scaling, commas = l.scaling+commas, 0
		case t.text == "%":
			l.percents++
		case strings.HasPrefix(t.text, "E") && len(t.text) == 2:
			l.exponent = i
		case t.text == "/":
			l.slash = i
		}
	}
	l.scaling += commas
	return l
}

// number formats a number with a section that is not for dates.
func (s *section) number(v float64) (string, bool) {
	l := s.layout()
	v *= math.Pow(100, float64(l.percents))
	v /= math.Pow(1000, float64(l.scaling))
	negative := v < 0
	v = math.Abs(v)
	var text string
	switch {
	case l.slash >= 0:
		return s.fraction(l, v, negative)
	case l.exponent >= 0:
		text = s.scientific(l, v)
	default:
		integer, decimals := decimal(v, len(l.decimals))
		text = s.fill(l, integer, decimals, "")
	}
	if negative && strings.ContainsAny(s.digits(l, text), "123456789") {
		text = "-" + text
	}
	return text, true
}

// digits returns what is shown for a number without the literals around it.
func (s *section) digits(l layout, text string) string {
	for _, t := range s.tokens {
		if t.literal {
			text = strings.Replace(text, t.text, "", 1)
		}
	}
	return text
}

// decimal returns the digits in a number that is not negative, rounded half up to n decimals after 15 digits. A whole
// part of 0 has no digits.
func decimal(v float64, n int) (integer, decimals string) {
	text := strconv.FormatFloat(v, 'e', 14, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exponent)
	if e < 0 {
		digits, e = strings.Repeat("0", -e)+digits, 0
	}
	if missing := e + 1 + n + 1 - len(digits); missing > 0 {
		digits += strings.Repeat("0", missing)
	}
	significant := []byte(digits[:e+1+n])
	if digits[e+1+n] >= '5' {
		i := len(significant) - 1
		for ; i >= 0 && significant[i] == '9'; i-- {
			significant[i] = '0'
		}
		if i >= 0 {
			significant[i]++
		} else {
			significant, e = append([]byte{'1'}, significant...), e+1
		}
	}
	return strings.TrimLeft(string(significant[:e+1]), "0"), string(significant[e+1:])
}

// pad is what a placeholder shows that has no digit.
func pad(placeholder string) string {
	switch placeholder {
	case "0":
		return "0"
	case "?":
		return " "
	}
	return ""
}

// fill shows digits in a section's places. exponent is what is shown for an exponent.
func (s *section) fill(l layout, integer, decimals, exponent string) string {
	texts := make([]string, len(s.tokens))
	for i, t := range s.tokens {
		if t.literal {
			texts[i] = t.text
		} else if t.text == "%" || (t.text == "." && i == l.point) {
			texts[i] = t.text
		}
	}
	place := 0 // from the right
	group := func(digit string) string {
		if place++; l.grouped && place > 1 && place%3 == 1 && digit != " " {
			return digit + ","
		}
		return digit
	}
	for i := len(l.whole) - 1; i >= 0; i-- {
		place := l.whole[i]
		digit := pad(s.tokens[place].text)
		if len(integer) > 0 {
			digit, integer = integer[len(integer)-1:], integer[:len(integer)-1]
		}
		if digit != "" {
			texts[place] = group(digit)
		}
		for i == 0 && len(integer) > 0 { // more digits than places
			texts[place] = group(integer[len(integer)-1:]) + texts[place]
			integer = integer[:len(integer)-1]
		}
	}
	if len(l.whole) == 0 && integer != "" && l.point >= 0 {
		texts[l.point] = integer + texts[l.point]
	}
	trailing := true
	for i := len(l.decimals) - 1; i >= 0; i-- {
		place := l.decimals[i]
		digit := decimals[i : i+1]
		if trailing = trailing && digit == "0"; trailing {
			digit = pad(s.tokens[place].text)
		}
		texts[place] = digit
	}
	if l.exponent >= 0 {
		texts[l.exponent] = exponent
	}
	return strings.Join(texts, "")
}

// scientific shows a number with an exponent, a multiple of the number of whole places.
func (s *section) scientific(l layout, v float64) string {
	step := max(len(l.whole), 1)
	e := 0
	if v > 0 {
		e = int(math.Floor(math.Log10(v)))
	}
	scale := func() (string, string) {
		power := int(math.Floor(float64(e)/float64(step))) * step
		return decimal(v/math.Pow(10, float64(power)), len(l.decimals))
	}
	integer, decimals := scale()
	if len(integer) > step { // it was rounded up
		e++
		integer, decimals = scale()
	}
	e = int(math.Floor(float64(e)/float64(step))) * step
	sign := ""
	if e < 0 {
		sign = "-"
	} else if s.tokens[l.exponent].text == "E+" {
		sign = "+"
	}
	width := 0
	for i := l.exponent + 1; i < len(s.tokens) && isDigit(s.tokens[i]); i++ {
		if s.tokens[i].text == "0" {
			width++
		}
	}
	digits := strconv.Itoa(max(e, -e))
	return s.fill(l, integer, decimals, "E"+sign+strings.Repeat("0", max(0, width-len(digits)))+digits)
}
