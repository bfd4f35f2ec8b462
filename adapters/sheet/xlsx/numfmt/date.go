package numfmt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxSerial is the day after 9999-12-31, the last one that Excel knows.
const maxSerial = 2958466

func (s *section) isDate() bool {
	for _, t := range s.tokens {
		if !t.literal && (isOneOf(t.text, "yYmMdDhHsSbBgGeE") || t.text == "AM/PM" || t.text == "A/P" ||
			strings.HasPrefix(t.text, "[")) {
			return true
		}
	}
	return false
}

// isForeign reports whether a date has the names of another language than English, or another calendar.
func (s *section) isForeign() bool {
	for _, t := range s.tokens {
		if !t.literal && strings.ContainsAny(t.text, "bBgGeE") && len(t.text) == 1 {
			return true
		}
	}
	locale := strings.ToUpper(strings.TrimLeft(s.locale, "xX0"))
	switch {
	case locale == "", locale == "F400", locale == "F800":
		return false
	case len(locale) <= 4 && strings.HasSuffix(locale, "09"), strings.HasPrefix(locale, "EN"):
		return false
	}
	return true
}

// field is a run of equal letters in a date.
type field struct {
	letter  byte // y, m, d, h, s; n for minutes; a for AM/PM, p for A/P; . for a second's parts; 0 for a literal
	n       int
	elapsed bool
	text    string
}

// fields joins the tokens of a date format into its fields.
func (s *section) fields() (all []field) {
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		lower := strings.ToLower(t.text)
		switch {
		case t.literal:
			all = append(all, field{text: t.text})
		case strings.HasPrefix(t.text, "["):
			all = append(all, field{letter: lower[1], n: len(t.text) - 2, elapsed: true})
		case t.text == "AM/PM":
			all = append(all, field{letter: 'a'})
		case t.text == "A/P":
			all = append(all, field{letter: 'p'})
		case t.text == "." && i+1 < len(s.tokens) && !s.tokens[i+1].literal && s.tokens[i+1].text == "0":
			f := field{letter: '.'}
			for ; i+1 < len(s.tokens) && !s.tokens[i+1].literal && s.tokens[i+1].text == "0"; i++ {
				f.n++
			}
			all = append(all, f)
		case isOneOf(lower, "ymdhs"):
			if last := len(all) - 1; last >= 0 && all[last].letter == lower[0] && !all[last].elapsed {
				all[last].n++
			} else {
				all = append(all, field{letter: lower[0], n: 1})
			}
		default:
			all = append(all, field{text: t.text})
		}
	}
	minutes(all)
	return all
}

// minutes makes those m minutes that follow an hour or precede a second.
func minutes(all []field) {
	for i := range all {
		if all[i].letter != 'm' {
			continue
		}
		if all[i].elapsed {
			all[i].letter = 'n'
			continue
		}
		if all[i].n > 2 {
			continue
		}
		previous, next := byte(0), byte(0)
		for j := i - 1; j >= 0 && previous == 0; j-- {
			previous = all[j].letter
		}
		for j := i + 1; j < len(all) && next == 0; j++ {
			next = all[j].letter
		}
		if previous == 'h' || next == 's' {
			all[i].letter = 'n'
		}
	}
}

// date formats a number of days; ok is false if it is not a date.
func (s *section) date(v float64, date1904 bool) (string, bool) {
	if date1904 {
		v += 1462
	}
	if v < 0 || v >= maxSerial {
		return "", false
	}
	all := s.fields()
	decimals, seconds, half := 0, false, false
	for _, f := range all {
		seconds = seconds || f.letter == 's'
		half = half || f.letter == 'a' || f.letter == 'p'
		if f.letter == '.' {
			decimals = max(decimals, f.n)
		}
	}
	unit := math.Pow(10, float64(decimals))
	ticks := math.Round(v * 86400 * unit) // the smallest parts that are shown
	if !seconds {
		ticks = math.Round(v * 86400)
		unit = 1
	}
	total := math.Floor(ticks / unit)
	parts := int64(ticks - total*unit)
	day := math.Floor(total / 86400)
	clock := int(total - day*86400)
	moment := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(day))
	if day < 60 { // Excel has a 29 February 1900, so that earlier days are one later
		moment = moment.AddDate(0, 0, 1)
	}
	var out strings.Builder
	for _, f := range all {
		switch {
		case f.letter == 0:
			out.WriteString(f.text)
		case f.elapsed:
			seconds := map[byte]float64{'h': 3600, 'n': 60, 's': 1}[f.letter]
			fmt.Fprintf(&out, "%0*d", f.n, int64(math.Floor(total/seconds)))
		case f.letter == '.':
			fmt.Fprintf(&out, ".%0*d", f.n, parts/int64(math.Pow(10, float64(decimals-f.n))))
		case f.letter == 'a':
			out.WriteString(map[bool]string{false: "AM", true: "PM"}[clock >= 12*3600])
		case f.letter == 'p':
			out.WriteString(map[bool]string{false: "A", true: "P"}[clock >= 12*3600])
		default:
			out.WriteString(part(f, moment, day, clock, half))
		}
	}
	return out.String(), true
}

// part shows one part in a date or a time of day.
func part(f field, moment time.Time, day float64, clock int, half bool) string {
	number := func(n int) string {
		text := strconv.Itoa(n)
		if f.n >= 2 && len(text) < 2 {
			return "0" + text
		}
		return text
	}
	switch f.letter {
	case 'y':
		if f.n <= 2 {
			return fmt.Sprintf("%02d", moment.Year()%100)
		}
		return fmt.Sprintf("%04d", moment.Year())
	case 'm':
		switch f.n {
		case 1, 2:
			return number(int(moment.Month()))
		case 3:
			return moment.Format("Jan")
		case 5:
			return moment.Format("January")[:1]
		}
		return moment.Format("January")
	case 'd':
		switch {
		case f.n <= 2 && day == 60:
			return "29"
		case f.n <= 2:
			return number(moment.Day())
		case f.n == 3:
			return moment.Format("Mon")
		}
		return moment.Format("Monday")
	case 'h':
		hour := clock / 3600
		if half {
			hour = (hour+11)%12 + 1
		}
		return number(hour)
	case 'n':
		return number(clock / 60 % 60)
	}
	return number(clock % 60)
}
