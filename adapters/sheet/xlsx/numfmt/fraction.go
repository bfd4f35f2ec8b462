package numfmt

import (
	"math"
	"strconv"
	"strings"
)

// fraction shows a number as a fraction, with its whole part before it if the section has a place for that.
func (s *section) fraction(l layout, v float64, negative bool) (string, bool) {
	top := l.slash
	for top > 0 && isDigit(s.tokens[top-1]) {
		top--
	}
	end, denominator := l.slash+1, ""
	for end < len(s.tokens) && (isDigit(s.tokens[end]) || isNumeral(s.tokens[end])) {
		denominator += s.tokens[end].text
		end++
	}
	places := end - l.slash - 1
	if top == l.slash || places == 0 || places > 4 {
		return "", false
	}
	first := top // of the whole part
	for i := range top {
		if isDigit(s.tokens[i]) {
			first = i
			break
		}
	}
	integer, part := 0.0, v
	if first < top {
		integer, part = math.Modf(v)
	}
	bottom, parseErr := strconv.Atoi(denominator)
	var n, d int
	if parseErr == nil && bottom > 0 && strings.IndexFunc(denominator, func(r rune) bool { return r != '0' }) >= 0 {
		n, d = int(math.Round(part*float64(bottom))), bottom
	} else {
		n, d = nearest(part, int(math.Pow(10, float64(places)))-1)
		parseErr = strconv.ErrSyntax
	}
	if first < top && n == d {
		integer, n = integer+1, 0
		if parseErr != nil {
			d = 1
		}
	}
	var out strings.Builder
	if negative {
		out.WriteByte('-')
	}
	for i := 0; i < len(s.tokens); i++ {
		t := s.tokens[i]
		switch {
		case i == first && first < top:
			digits := ""
			if integer > 0 {
				digits = strconv.FormatFloat(integer, 'f', 0, 64)
			}
			j := i
			for j < top && isDigit(s.tokens[j]) {
				j++
			}
			if digits == "" {
				for ; i < j; i++ {
					digits += pad(s.tokens[i].text)
				}
				if n == 0 && digits == "" {
					digits = "0"
				}
			}
			out.WriteString(digits)
			i = j - 1
		case i == top:
			out.WriteString(shownFraction(s.tokens[top:l.slash], n, d, first < top, end-l.slash-1, parseErr == nil))
			i = end - 1
		case t.literal:
			out.WriteString(t.text)
		}
	}
	return out.String(), true
}

func isNumeral(t token) bool { return len(t.text) == 1 && t.text >= "0" && t.text <= "9" }

// shownFraction shows the fraction itself: as spaces if it is 0 and a whole part is shown.
func shownFraction(top []token, n, d int, hasWhole bool, places int, isFixed bool) string {
	numerator, denominator := strconv.Itoa(n), strconv.Itoa(d)
	if hasWhole && n == 0 {
		width := len(top) + 1 + places
		if isFixed {
			width = len(top) + 1 + len(denominator)
		}
		return strings.Repeat(" ", width)
	}
	for i := len(top) - len(numerator) - 1; i >= 0; i-- {
		numerator = pad(top[i].text) + numerator
	}
	return numerator + "/" + denominator + strings.Repeat(" ", max(0, places-len(denominator)))
}

// nearest returns the fraction closest to v with a denominator of at most limit.
func nearest(v float64, limit int) (n, d int) {
	best := math.Inf(1)
	for try := 1; try <= limit; try++ {
		numerator := math.Round(v * float64(try))
		if difference := math.Abs(v - numerator/float64(try)); difference < best-1e-12 {
			best, n, d = difference, int(numerator), try
		}
	}
	return n, d
}
