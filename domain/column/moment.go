package column

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	compactForm = regexp.MustCompile(`^(\d{4})(\d{2})(\d{2})$`) // ISO 8601, basic format
	numericDate = regexp.MustCompile(`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})(?:$|[T ,])`)
	clock       = compiledOnce(`^(?:T|,? +(?:at )?)(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?` +
		`(?: ?([AaPp])\.?[Mm]\.?)?(?: ?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))?$`)
)

// moment reads a date, with a time of day if there is one.
func moment(text string, withTime bool, s Style) (Value, Invalid) {
	if out, ok := isoMoment(text, withTime); ok {
		return TextValue(out), ""
	}
	return slowMoment(text, withTime, s)
}

// slowMoment reads a date as people write it, too.
func slowMoment(text string, withTime bool, s Style) (Value, Invalid) {
	if unixForm.MatchString(text) {
		return unixMoment(text, withTime), ""
	}
	text = weekdayForm.ReplaceAllString(text, "")
	day, rest := text, ""
	for _, match := range clockAt.FindAllStringIndex(text, -1) {
		if clock().MatchString(text[match[0]:]) {
			day, rest = text[:match[0]], text[match[0]:]
			break
		}
	}
	date, reason := dateOf(day, s)
	if reason != "" {
		return Value{}, reason
	}
	if !withTime {
		return TextValue(date), ""
	}
	if rest == "" {
		return TextValue(date + "T00:00:00"), ""
	}
	time, ok := timeOf(clock().FindStringSubmatch(rest))
	if !ok {
		return Value{}, WrongType
	}
	return TextValue(date + "T" + time), ""
}

// unixForm is a Unix time in seconds or milliseconds, from September 2001 to November 2286.
var unixForm = regexp.MustCompile(`^[1-9]\d{9}(?:\d{3})?$`)

// unixMoment returns a Unix time's date in UTC, and its time of day.
func unixMoment(text string, withTime bool) Value {
	const secondDigits = 10
	n, _ := strconv.ParseInt(text, 10, 64) // it is of unixForm
	moment := time.Unix(n, 0)
	if len(text) > secondDigits {
		moment = time.UnixMilli(n)
	}
	if !withTime {
		return TextValue(moment.UTC().Format(time.DateOnly))
	}
	return TextValue(moment.UTC().Format(time.RFC3339Nano))
}

var clockAt = regexp.MustCompile(`T|,? +`)

// dateOf returns the date in a text in the form YYYY-MM-DD. Ambiguous if several orders fit and s names none of them.
func dateOf(text string, s Style) (string, Invalid) {
	if m := compactForm.FindStringSubmatch(text); m != nil && isDay(m[1], m[2], m[3]) {
		return written(m[1], m[2], m[3]), ""
	}
	found := ""
	for i, o := range orders {
		m := o.form.FindStringSubmatch(text)
		if m == nil || !isDay(m[o.year], m[o.month], m[o.day]) {
			continue
		}
		if order := []DateOrder{YearFirst, DayFirst, MonthFirst}; i < len(order) && i > 0 && s.Dates != "" &&
			s.Dates != order[i] {
			continue
		}
		date := written(m[o.year], m[o.month], m[o.day])
		if found != "" && found != date {
			return "", Ambiguous
		}
		found = date
	}
	if found == "" {
		return "", WrongType
	}
	return found, ""
}

// written writes a date that exists. Years of two digits mean what they mean in spreadsheets: 30 to 99 are 1930 to
// 1999.
func written(year, month, day string) string {
	const century, split = 100, 30
	y, _ := strconv.Atoi(year) // they are digits
	if len(year) == 2 {
		if y < split {
			y += century
		}
		y += 1900
	}
	d, _ := strconv.Atoi(day)
	m, err := strconv.Atoi(month)
	if err != nil {
		m = monthByName(month)
	}
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// timeOf writes the parts of a time of day as RFC 3339 does.
func timeOf(m []string) (string, bool) {
	const noon = 12
	hour, _ := strconv.Atoi(m[1]) // they are digits
	switch strings.ToLower(m[5]) {
	case "p":
		if hour < noon {
			hour += noon
		}
	case "a":
		if hour == noon {
			hour = 0
		}
	}
	if m[3] == "" {
		m[3] = "00"
	}
	if hour > 23 || m[2] > "59" || m[3] > "59" {
		return "", false
	}
	out := strconv.Itoa(hour)
	if hour < 10 {
		out = "0" + out
	}
	out += ":" + m[2] + ":" + m[3]
	if fraction := strings.TrimRight(m[4], "0"); fraction != "" {
		out += "." + fraction
	}
	const hours = len("+01")
	switch zone := m[6]; {
	case zone == "":
	case zone == "Z", zone == "UTC", zone == "GMT", strings.Trim(zone, "+-:0") == "":
		out += "Z"
	case len(zone) == hours:
		out += zone + ":00"
	case !strings.Contains(zone, ":"):
		out += zone[:hours] + ":" + zone[hours:]
	default:
		out += zone
	}
	return out, true
}
