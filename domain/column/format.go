package column

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// MaxFormat is a Format's maximum length in characters.
const MaxFormat = 40

// Format determines how a column's dates or numbers are written, where the values do not show it. Its text is one of
// the names below, or a pattern for dates with YYYY, YY, MM, M, MMM (a month's name), DD, D, HH, H, mm, ss, SSS, A (AM
// or PM) and Z (an offset from UTC); other characters than letters, and T, stand for themselves. Two digits that are
// between other characters can be one.
type Format struct {
	parts []formatPart // the pattern's
	unit  *big.Rat     // in seconds, of which a column has the number since epoch
	epoch *big.Rat     // in seconds since 1970
	scale int          // the number of decimals that a column's numbers lack
}

type formatPart struct {
	token   string // empty for a literal
	literal string
	isFixed bool // whether it has as many digits as the token has letters
}

const secondsOfDay = 24 * 60 * 60

// namedFormats are the formats with a name. excel is the number of days since 30 December 1899, as a cell without a
// format shows a date from March 1900 on.
var namedFormats = map[string]Format{
	"unix":        {unit: big.NewRat(1, 1), epoch: new(big.Rat)},
	"unix_ms":     {unit: big.NewRat(1, 1e3), epoch: new(big.Rat)},
	"unix_us":     {unit: big.NewRat(1, 1e6), epoch: new(big.Rat)},
	"excel":       {unit: big.NewRat(secondsOfDay, 1), epoch: big.NewRat(-25569*secondsOfDay, 1)},
	"hundredths":  {scale: 2},
	"thousandths": {scale: 3},
}

// formatTokens are the tokens of patterns, longer ones before those that they begin with.
var formatTokens = []string{"YYYY", "YY", "MMM", "MM", "M", "DD", "D", "HH", "H", "mm", "ss", "SSS", "A", "Z"}

// NewFormat reads a Format for a field type. ok is false if they cannot have it.
func NewFormat(text string, t Type) (format *Format, ok bool) {
	isMoment := t == Date || t == DateTime
	if f, isNamed := namedFormats[text]; isNamed {
		return &f, (f.scale == 0) == isMoment && (isMoment || t == Integer || t == Number)
	}
	f := Format{}
	rest := strings.NewReplacer("y", "Y", "d", "D", "h", "H").Replace(text)
	for rest != "" {
		part := formatPart{}
		for _, token := range formatTokens {
			if strings.HasPrefix(rest, token) {
				part.token = token
				break
			}
		}
		if part.token == "" {
			literal := []rune(rest)[0]
			if unicode.IsLetter(literal) && literal != 'T' {
				return nil, false
			}
			part.literal = string(literal)
		}
		rest = rest[len(part.token)+len(part.literal):]
		if last := len(f.parts) - 1; part.isDigits() && last >= 0 && f.parts[last].isDigits() {
			part.isFixed, f.parts[last].isFixed = true, true
		}
		f.parts = append(f.parts, part)
	}
	if !isMoment || !f.isComplete() || len([]rune(text)) > MaxFormat {
		return nil, false
	}
	return &f, true
}

func (p *formatPart) isDigits() bool {
	return p.token != "" && p.token != "MMM" && slices.Contains([]byte("YMDHmsS"), p.token[0])
}

// isComplete reports whether a pattern has a year, and no day without a month; each token once, and adjoining numbers
// with two digits.
func (f *Format) isComplete() bool {
	count := map[byte]int{}
	for _, p := range f.parts {
		if p.token != "" {
			count[p.token[0]]++
		}
		if p.isFixed && len(p.token) == 1 {
			return false
		}
	}
	for _, n := range count {
		if n > 1 {
			return false
		}
	}
	return count['Y'] == 1 && count['D'] <= count['M'] && count['m'] <= count['H'] && count['s'] <= count['m'] &&
		count['S'] <= count['s'] && count['A'] <= count['H'] && count['Z'] <= count['H'] && count['H'] <= count['D']
}

// moment reads a date, with a time of day if withTime is set. Files have ISO 8601 for cells that are dates.
func (f *Format) moment(text string, withTime bool) (value Value, reason Invalid) {
	if value, reason = f.read(text, withTime); reason != "" {
		if iso, ok := isoMoment(text, withTime); ok {
			return TextValue(iso), ""
		}
	}
	return value, reason
}

func (f *Format) read(text string, withTime bool) (Value, Invalid) {
	if f.unit != nil {
		return f.counted(text, withTime)
	}
	found, ok := f.match(f.padded(text))
	if !ok {
		return Value{}, WrongType
	}
	month, day := found['M'], found['D']
	if month == "" {
		month = "1"
	}
	if day == "" {
		day = "1"
	}
	if !isDay(found['Y'], month, day) {
		return Value{}, WrongType
	}
	date := written(found['Y'], month, day)
	if !withTime {
		return TextValue(date), ""
	}
	if found['H'] == "" {
		return TextValue(date + "T00:00:00"), ""
	}
	clock, ok := timeOf([]string{"", found['H'], twoDigits(found['m']), twoDigits(found['s']), found['S'], found['A'],
		found['Z']})
	if !ok {
		return Value{}, WrongType
	}
	return TextValue(date + "T" + clock), ""
}

func twoDigits(text string) string { return strings.Repeat("0", max(0, 2-len(text))) + text }

// padded adds the zero that a number loses before its first digit: 5012024 is of DDMMYYYY.
func (f *Format) padded(text string) string {
	width := 0
	for _, p := range f.parts {
		if !p.isDigits() {
			return text
		}
		width += len(p.token)
	}
	if len(text) == width-1 && digitsOf(text, width) == len(text) {
		return "0" + text
	}
	return text
}

// match returns the strings for a pattern's tokens by their first letter, in the form that timeOf takes.
func (f *Format) match(text string) (found map[byte]string, ok bool) {
	found = map[byte]string{}
	for _, p := range f.parts {
		size := 0
		switch {
		case strings.TrimSpace(p.literal) == "" && p.literal != "":
			size = len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		case p.literal != "":
			if strings.HasPrefix(text, p.literal) {
				size = len(p.literal)
			}
		case p.token == "MMM":
			size = len(text) - len(strings.TrimLeftFunc(text, unicode.IsLetter))
		case p.token == "A":
			if m := halfForm().FindString(text); m != "" {
				found['A'], text = strings.ToLower(m[:1]), text[len(m):]
				continue
			}
		case p.token == "Z":
			size = len(zoneForm().FindString(text))
		case p.token == "SSS":
			size = digitsOf(text, 9)
		default:
			size = digitsOf(text, max(2, len(p.token)))
			if (p.isFixed || p.token[0] == 'Y') && size != len(p.token) {
				return nil, false
			}
		}
		if size == 0 {
			return nil, false
		}
		if p.token != "" {
			found[p.token[0]] = text[:size]
		}
		if text = text[size:]; p.token == "MMM" {
			text = strings.TrimPrefix(text, ".")
		}
	}
	return found, text == ""
}

var (
	halfForm = compiledOnce(`^[AaPp]\.?[Mm]\.?`)
	zoneForm = compiledOnce(`^(Z|UTC|GMT|[+-]\d{2}(:?\d{2})?)`)
)

// digitsOf returns with how many digits a text begins, at most limit.
func digitsOf(text string, limit int) int {
	for i := range min(len(text), limit) {
		if text[i] < '0' || text[i] > '9' {
			return i
		}
	}
	return min(len(text), limit)
}

// counted reads a number of units since the epoch. Of days, whose fractions are rounded, it has milliseconds.
func (f *Format) counted(text string, withTime bool) (Value, Invalid) {
	number, reason := numeric(text, false, Warehouse)
	plain, ok := PlainNumber(number.Text)
	if reason != "" || !ok {
		return Value{}, WrongType
	}
	seconds, _ := new(big.Rat).SetString(plain)
	seconds.Add(seconds.Mul(seconds, f.unit), f.epoch)
	moment, ok := momentOf(seconds, f.epoch.Sign() == 0)
	switch {
	case !ok:
		return Value{}, WrongType
	case !withTime:
		return TextValue(moment.Format(time.DateOnly)), ""
	case f.epoch.Sign() != 0: // a cell has no zone
		return TextValue(moment.Format("2006-01-02T15:04:05.999999999")), ""
	}
	return TextValue(moment.Format(time.RFC3339Nano)), ""
}

// momentOf returns the moment after a number of seconds since 1970, rounded to milliseconds unless isExact is set. ok
// is false if it has more than nine decimals, or its year more than four digits.
func momentOf(seconds *big.Rat, isExact bool) (moment time.Time, ok bool) {
	const decimals, roundedDecimals, lastYear = 9, 3, 9999
	text := seconds.FloatString(decimals)
	if !isExact {
		text = seconds.FloatString(roundedDecimals) + "000000"
	} else if value, _ := new(big.Rat).SetString(text); value.Cmp(seconds) != 0 {
		return moment, false
	}
	integer, part, _ := strings.Cut(text, ".")
	count, err := strconv.ParseInt(integer, 10, 64)
	nanoseconds, _ := strconv.ParseInt(part, 10, 64)
	if strings.HasPrefix(text, "-") {
		nanoseconds = -nanoseconds
	}
	const mostSeconds = 1 << 40
	if err != nil || count > mostSeconds || count < -mostSeconds {
		return moment, false
	}
	moment = time.Unix(count, nanoseconds).UTC()
	return moment, moment.Year() >= 1 && moment.Year() <= lastYear
}
