package column

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The orders of a date's parts. All values of a column have the same one.
var orders = []struct {
	form             *regexp.Regexp
	year, month, day int // index of each part's group
}{
	{regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$`), 1, 2, 3},
	{regexp.MustCompile(`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})$`), 3, 2, 1},
	{regexp.MustCompile(`^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4}|\d{2})$`), 3, 1, 2},
	{regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|\.)?[ -]([A-Za-z]{3,9})\.?,?[ -](\d{4}|\d{2})$`), 3, 2, 1},
	{regexp.MustCompile(`^([A-Za-z]{3,9})\.?[ -](\d{1,2})(?:st|nd|rd|th)?,?[ -](\d{4}|\d{2})$`), 3, 1, 2},
}

var (
	weekdayForm = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? `)
	timeForm    = compiledOnce(
		`(?:T|,? +(?:at )?)([01]?\d|2[0-4]):[0-5]\d(?::[0-6]\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?$`)
)

func areDates(values []string) bool { return inOneOrder(values, false) }

// areDateTimes reports whether values are dates of which some have a time of day.
func areDateTimes(values []string) bool { return inOneOrder(values, true) }

// inOneOrder reports whether one order of day, month and year fits all values. times allows a time after each date.
func inOneOrder(values []string, times bool) bool {
	for _, o := range orders {
		if allMatch(func(v string) bool {
			v = weekdayForm.ReplaceAllString(v, "")
			if times {
				v = timeForm().ReplaceAllString(v, "")
			}
			m := o.form.FindStringSubmatch(v)
			return m != nil && isDay(m[o.year], m[o.month], m[o.day])
		})(values) {
			return true
		}
	}
	return false
}

// isDay reports whether the day exists; there is no year 0.
func isDay(year, month, day string) bool {
	y, _ := strconv.Atoi(year) // they are digits
	d, _ := strconv.Atoi(day)
	m, err := strconv.Atoi(month)
	if err != nil {
		m = monthByName(month)
	}
	if m == 0 || d == 0 || (y == 0 && len(year) == 4) {
		return false
	}
	if d <= 28 && m <= 12 { // most days, quickly
		return true
	}
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return int(t.Month()) == m && t.Day() == d
}

// monthByName returns the month with an English name, in full or cut to three letters, or Sept; 0 if not found.
func monthByName(s string) int {
	s = strings.ToLower(s)
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if s == name || s == name[:3] || (s == "sept" && m == time.September) {
			return int(m)
		}
	}
	return 0
}
