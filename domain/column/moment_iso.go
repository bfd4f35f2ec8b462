package column

import "strings"

// isoMoment is moment for strings as databases write them, such as 2026-03-14 10:00:00.5+01: without regular
// expressions, which would take most of a long stream's time. ok is false for all other strings, including invalid
// ones.
func isoMoment(text string, withTime bool) (out string, ok bool) {
	if len(text) < len("2026-03-14") || !hasForm(text[:10], "1000-00-00") {
		return "", false
	}
	date, rest := text[:10], text[10:]
	if date[0] == '0' || !isDay(date[:4], date[5:7], date[8:]) {
		return "", false
	}
	if rest == "" {
		if withTime {
			return date + "T00:00:00", true
		}
		return date, true
	}
	const clock = len("T10:00:00")
	if len(rest) < clock || (rest[0] != 'T' && rest[0] != ' ') || !hasForm(rest[1:clock], "00:00:00") ||
		rest[1:3] > "23" || rest[4:6] > "59" || rest[7:9] > "59" {
		return "", false
	}
	fraction, zone := "", rest[clock:]
	if strings.HasPrefix(zone, ".") {
		end := 1
		for end < len(zone) && isDigit(zone[end]) {
			end++
		}
		if end == 1 || end > 10 {
			return "", false
		}
		fraction, zone = strings.TrimRight(zone[1:end], "0"), zone[end:]
	}
	if zone, ok = isoZone(zone); !ok || !withTime {
		return date, ok
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return date + "T" + rest[1:clock] + fraction + zone, true
}

// isoZone returns an offset as RFC 3339 has it.
func isoZone(zone string) (string, bool) {
	switch {
	case zone == "", zone == "Z":
		return zone, true
	case zone == "+00", zone == "+00:00":
		return "Z", true
	case zone[0] != '+' && zone[0] != '-', strings.Trim(zone[1:], "0:") == "":
		return "", false
	case hasForm(zone[1:], "00"):
		return zone + ":00", true
	}
	return zone, hasForm(zone[1:], "00:00")
}

// hasForm reports whether a string has digits where form has them, and is like form elsewhere.
func hasForm(text, form string) bool {
	if len(text) != len(form) {
		return false
	}
	for i := range len(text) {
		if isDigit(form[i]) != isDigit(text[i]) || (!isDigit(form[i]) && text[i] != form[i]) {
			return false
		}
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
