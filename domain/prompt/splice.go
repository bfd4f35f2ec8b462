package prompt

import (
	"fmt"
	"strings"
)

// An included text means in its place what it means by itself: its tags begin with the usual delimiters, and those that
// are alone on a line leave no trace. What is around it keeps its meaning too. So a text is put in with comments and
// set delimiters where its first or last line would otherwise change its meaning, or that of the line around it.

// splice returns what takes the place of the tag. An include on a line of its own indents each line of the included
// text, as the Mustache specification says. The line ends as it did, also if the text does not end its last line.
func (t *includeTag) splice(c Content) string {
	body, begin, end := quoted(c, t.delims())
	if t.alone {
		return t.lines(body, begin, end)
	}
	if begin == usual {
		body = inline(body)
	}
	before, after := "", ""
	switch {
	case begin != t.delims():
		before = t.delims().set(begin) + begin.comment()
	case opensLine(body, begin):
		before = begin.comment() + begin.comment()
	}
	if rest := strings.TrimRight(body, end.opening[:1]); rest != body {
		// The next tag would begin within the text, as in {{{name}}.
		other := end.other(body)
		body, end = rest+end.set(other)+body[len(rest):], other
	}
	switch {
	case end != t.delims():
		after = end.comment() + end.set(t.delims()) + t.delims().comment()
	case closesLine(body, end):
		after = end.comment() + end.comment()
	}
	return before + body + after
}

// lines is splice for a tag that is alone on its line.
func (t *includeTag) lines(body string, begin, end delims) string {
	var out strings.Builder
	if begin != t.delims() {
		out.WriteString(t.delims().set(begin) + "\n")
	}
	for line := range strings.Lines(body) {
		if strings.Trim(line, "\r\n") != "" {
			out.WriteString(t.indent)
		}
		out.WriteString(line)
	}
	if !strings.HasSuffix(body, "\n") {
		out.WriteString(t.lineBreak)
	}
	if end != t.delims() && t.lineBreak != "" { // else nothing follows
		out.WriteString(end.set(t.delims()) + "\n")
	}
	return out.String()
}

func (t *includeTag) delims() delims { return delims{t.opening, t.closing} }

type delims struct{ opening, closing string }

var usual = delims{tagOpen, tagClose}

// set returns the tag that sets other delimiters.
func (d delims) set(to delims) string {
	return d.opening + "=" + to.opening + " " + to.closing + "=" + d.closing
}

// comment returns a tag that prints nothing. Two of them next to each other are never alone on their line.
func (d delims) comment() string { return d.opening + "!" + d.closing }

// quoted returns a text, and the delimiters that must be in force before it, and that are in force after it. A text
// that is used as it is must have no tag.
func quoted(c Content, now delims) (body string, begin, end delims) {
	if c.Format != Verbatim {
		p := newParser(c.Text)
		_ = p.parse() // it was valid when it was saved
		return c.Text, usual, delims{p.opening, p.closing}
	}
	if now == usual && !strings.Contains(c.Text, "{") {
		return c.Text, now, now
	}
	other := now.other(c.Text)
	return c.Text, other, other
}

// other returns delimiters that are not d, and of which a text has none.
func (d delims) other(text string) delims {
	other := delims{"<%", "%>"}
	for i := 0; strings.Contains(text, other.opening) || other == d; i++ {
		other.opening = fmt.Sprintf("<%%%d", i)
	}
	return other
}

// inline returns a text that means the same in the middle of a line. If a tag is alone on its first or last line, no
// tag of the result is alone on its line, and none has the blanks around it that would leave no trace.
func inline(body string) string {
	p := newParser(body)
	if p.parse() != nil || len(p.tags) == 0 {
		return body
	}
	first, last := p.tags[0], p.tags[len(p.tags)-1]
	if !(first.start == 0 && first.trims()) && !(last.end == len(body) && last.trims()) {
		return body
	}
	var out strings.Builder
	at := 0
	for _, tag := range p.tags {
		out.WriteString(body[at:tag.start])
		out.WriteString(body[tag.rawStart:tag.rawEnd])
		if at = tag.end; tag.trims() {
			out.WriteString(delims{tag.opening, tag.closing}.comment())
		}
	}
	out.WriteString(body[at:])
	return out.String()
}

// trims reports whether blanks around the tag leave no trace.
func (t tagSpan) trims() bool { return t.start != t.rawStart || t.end != t.rawEnd }

// opensLine reports whether the first line of a text could change the meaning of what is before it on the line.
func opensLine(body string, d delims) bool {
	line, _, _ := strings.Cut(body, "\n")
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, d.opening)
}

// closesLine is opensLine for the last line, and what is after it.
func closesLine(body string, d delims) bool {
	line := strings.TrimSpace(body[strings.LastIndexByte(body, '\n')+1:])
	return line == "" || strings.HasSuffix(line, d.closing)
}
