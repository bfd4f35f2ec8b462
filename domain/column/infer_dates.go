package column

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	{regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|er|º|\.)?[ -](?:de )?(\p{L}{3,12})\.?,?[ -](?:de )?(\d{4}|\d{2})$`),
		3, 2, 1},
	{regexp.MustCompile(`^(\p{L}{3,12})\.?[ -](\d{1,2})(?:st|nd|rd|th)?,?[ -](\d{4}|\d{2})$`), 3, 1, 2},
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

// monthNames are the names of each month and their abbreviations in English, German, French, Spanish, Italian,
// Portuguese, Dutch, Polish and Swedish. No name means another month in another one of these languages.
var monthNames = [12]string{
	"january jan januar jänner janvier janv enero ene gennaio gen janeiro januari styczeń stycznia sty",
	"february feb februar feber février févr fév fev febrero febbraio fevereiro februari luty lutego lut",
	"march mar märz maerz mär mrz mars marzo março marco maart mrt marzec marca",
	"april apr avril avr abril abr aprile kwiecień kwietnia kwi",
	"may mai mayo maggio mag maio mei maj maja",
	"june jun juni juin junio giugno giu junho czerwiec czerwca cze",
	"july jul juli juillet juil julio luglio lug julho lipiec lipca lip",
	"august aug août aout agosto ago augustus augusti sierpień sierpnia sie",
	"september sep sept septembre septiembre setiembre settembre set setembro wrzesień września wrz",
	"october oct oktober okt octobre octubre ottobre ott outubro out październik października paź",
	"november nov novembre noviembre novembro listopad listopada lis",
	"december dec dezember dez décembre déc diciembre dicembre dic dezembro grudzień grudnia gru",
}

// monthByName returns the month with a name of monthNames; 0 if not found.
func monthByName(name string) int { return months()[strings.ToLower(name)] }

var months = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for i, names := range monthNames {
		for name := range strings.FieldsSeq(names) {
			all[name] = i + 1
		}
	}
	return all
})
