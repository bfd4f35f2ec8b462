package column

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxLine is the maximum length of a String in characters. Longer values, and values of several lines,
// are Text.
const maxLine = 100

// Infer returns the type of a column's values. All values must fit it. Placeholders for no value (n/a,
// NULL, a dash), NaN and errors of a spreadsheet (#REF!) do not count. A column without values is String.
//
// Digits with leading zeros, or more than 18 of them, are codes, not numbers. Dates are of the years 1
// to 9999, and all must have the same order of day and month. Numbers can have thousands separators (a
// comma, a point, a space, an apostrophe), a currency's sign or code, a percent sign, brackets for a
// minus, or an exponent of any size.
func Infer(cells []*string) Type {
	var values []string
	for _, c := range cells {
		if c == nil {
			continue
		}
		if v := strings.TrimSpace(*c); !isPlaceholder(v) && !isSheetError(v) && !strings.EqualFold(v, "nan") {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return String
	}
	for _, t := range []struct {
		is Type
		of func([]string) bool
	}{
		{Boolean, allMatch(isBoolean)},
		{Email, allMatch(isEmail)},
		{URL, allMatch(isURL)},
		{Date, areDates},
		{DateTime, areDateTimes},
		{Integer, areIntegers},
		{Number, areNumbers},
		{JSON, allMatch(isJSON)},
	} {
		if t.of(values) {
			return t.is
		}
	}
	if slices.ContainsFunc(values,
		func(v string) bool { return strings.Contains(v, "\n") || utf8.RuneCountInString(v) > maxLine }) {
		return Text
	}
	return String
}

// placeholders are strings that mean no value, in lower case.
var placeholders = setOf("", "-", "--", "–", "—", "n/a", "na", "null", "nil", "none", "(none)", "(empty)", "?")

// isPlaceholder reports whether a string means that there is no value.
func isPlaceholder(text string) bool {
	const longest = len("(empty)")
	return len(text) <= longest && placeholders[strings.ToLower(text)]
}

// NotCalculated stands for a formula's value that a file has without its result, as programs write it that do not
// calculate. It is invalid in every field, as a formula's error is.
const NotCalculated = "#not calculated"

// sheetErrors are what spreadsheet programs show for a formula that failed, in upper case: the values of Excel's
// function ERROR.TYPE, and #ERROR! of Google Sheets.
var sheetErrors = setOf(strings.ToUpper(NotCalculated), "#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!",
	"#NUM!", "#GETTING_DATA", "#SPILL!",
	"#CONNECT!", "#BLOCKED!", "#UNKNOWN!", "#FIELD!", "#CALC!", "#BUSY!", "#EXTERNAL!", "#PYTHON!", "#TIMEOUT!",
	"#ERROR!")

// isSheetError reports whether a string is a formula's error. LibreOffice writes some as Err:502.
func isSheetError(text string) bool {
	switch {
	case strings.HasPrefix(text, "#"):
		const longest = len(NotCalculated)
		return len(text) <= longest && sheetErrors[strings.ToUpper(text)]
	case len(text) == len("Err:502") && strings.HasPrefix(text, "Err:5"):
		return integerForm.MatchString(text[len("Err:"):])
	}
	return false
}

// booleans are the words for true and false in several languages of spreadsheet programs.
var booleans = setOf("true", "false", "yes", "no", "y", "n", "wahr", "falsch", "ja", "nein", "vrai", "faux",
	"oui", "non",
	"verdadero", "falso", "sí", "si", "vero", "sim", "não", "nao", "waar", "onwaar", "nee", "on", "off", "☑",
	"☐", "✓", "✗")

func setOf(words ...string) map[string]bool {
	s := map[string]bool{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

func allMatch(matches func(string) bool) func([]string) bool {
	return func(values []string) bool {
		return !slices.ContainsFunc(values, func(v string) bool { return !matches(v) })
	}
}

func isBoolean(v string) bool { return booleans[strings.ToLower(v)] }

// isEmail reports whether v is what people write as an address, which is less than RFC 5322 allows.
func isEmail(v string) bool {
	local, domain, _ := strings.Cut(strings.TrimPrefix(v, "mailto:"), "@")
	if local == "" || strings.ContainsAny(local, " \t\n\f\r<>()[],;:\"\\") || len(v) > 254 ||
		(len(local) > 64 && utf8.RuneCountInString(local) > 64) {
		return false
	}
	labels, length := 1, 0 // of the last label
	for _, r := range domain {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-':
			length++
		case r == '.' && length > 0:
			labels, length = labels+1, 0
		case isWordRune(r):
			length++
		default:
			return false
		}
	}
	return labels > 1 && length > 0
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func isURL(v string) bool {
	lower := strings.ToLower(v)
	switch {
	case strings.HasPrefix(lower, "https://"), strings.HasPrefix(lower, "http://"):
	case strings.HasPrefix(lower, "www."):
		v = "https://" + v
	default:
		return false
	}
	u, err := url.Parse(v)
	return err == nil && u.Hostname() != "" && !strings.ContainsAny(v, " \n\t")
}

func isJSON(v string) bool {
	return (strings.HasPrefix(v, "{") || strings.HasPrefix(v, "[")) && json.Valid([]byte(v))
}

var (
	// A sign, groups of three with one separator, and a fraction after another one.
	groupedForm = compiledOnce(
		`^[+-]?\d{1,3}(?:(,\d{3})+(?:\.\d+)?|(\.\d{3})+(?:,\d+)?|([ '’\x{00A0}\x{202F}]\d{3})+(?:[.,]\d+)?)$`)
	plainForm   = regexp.MustCompile(`^[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?$`)
	integerForm = regexp.MustCompile(`^[+-]?(?:0|[1-9]\d{0,17})$`)
	codeForm    = regexp.MustCompile(`^[+-]?(?:0\d+|\d{19,})$`)
	phoneForm   = regexp.MustCompile(`^\+\d{1,3}[ '’\x{00A0}\x{202F}]`)
	moneyForm   = compiledOnce(`^(?:\p{Sc}\s*|[A-Z]{3}\s+)?(\S.*?)(?:\s*[\p{Sc}%]|\s+[A-Z]{3})?$`)
)

// compiledOnce compiles an expression when it is first used: Atrium starts a process for each job that reads data, and
// few of them need it.
func compiledOnce(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// number strips v to its digits and separators, and reports whether it is a number, and whether it can only be read as
// one without a fraction.
func number(v string) (ok, isWhole bool) {
	isBracketed := strings.HasPrefix(v, "(") && strings.HasSuffix(v, ")")
	if isBracketed {
		v = v[1 : len(v)-1]
	}
	sign := ""
	if strings.HasPrefix(v, "-") || strings.HasPrefix(v, "−") { // before a currency
		sign = "-"
		v = strings.TrimPrefix(strings.TrimPrefix(v, "-"), "−")
	}
	bare := v
	if m := moneyForm().FindStringSubmatch(v); m != nil {
		bare = m[1]
	}
	amount := bare != v || isBracketed
	bare = sign + bare
	switch {
	case strings.EqualFold(strings.TrimLeft(bare, "+-"), "inf"),
		strings.EqualFold(strings.TrimLeft(bare, "+-"), "infinity"), strings.TrimLeft(bare, "+-") == "∞":
		return true, false
	case phoneForm.MatchString(bare), codeForm.MatchString(bare):
		return false, false
	case integerForm.MatchString(bare):
		return true, !amount
	}
	if m := groupedForm().FindStringSubmatch(bare); m != nil {
		fraction := (m[1] != "" && strings.Contains(bare, ".")) || (m[2] != "" && strings.Contains(bare, ",")) ||
			(m[3] != "" && strings.ContainsAny(bare, ".,"))
		// 1.234 is more often a fraction than a thousand; 1,234 and 1.234.567 are not.
		unclear := m[2] != "" && strings.Count(bare, ".") == 1
		return true, !amount && !fraction && !unclear
	}
	return plainForm.MatchString(bare), false
}

func areNumbers(values []string) bool {
	return allMatch(func(v string) bool { ok, _ := number(v); return ok })(values)
}

func areIntegers(values []string) bool {
	return allMatch(func(v string) bool { ok, isWhole := number(v); return ok && isWhole })(values)
}
