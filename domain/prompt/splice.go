package prompt

import (
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/mustache"
)

// An included text means in its place what it means by itself: its tags begin with the usual delimiters, and those that
// are alone on a line leave no trace. What is around it keeps its meaning too. So a text is put in with comments and
// set delimiters where its first or last line would otherwise change its meaning or the surrounding line's.

// splice returns what takes the place of the tag. An include on its own line indents each line of the included text, as
// the Mustache specification requires. The line ends as it did, even if the text does not end its last line. A result
// that needs more than room bytes is incomplete, but longer than room.
func splice(t *mustache.PartialTag, c Content, room int) string {
	in := delims(t.In)
	body, begin, end := quoted(c, in)
	if t.Alone {
		return spliceLines(t, body, begin, end, room)
	}
	if begin == usual {
		body = inline(body)
	}
	opening, closing := "", ""
	switch {
	case begin != in:
		opening = in.set(begin) + begin.comment()
	case opensLine(body, begin):
		opening = begin.comment() + begin.comment()
	}
	if rest := strings.TrimRight(body, end.Opening[:1]); rest != body {
		// The next tag would begin within the text, as in {{{name}}.
		other := end.other(body)
		body, end = rest+end.set(other)+body[len(rest):], other
	}
	switch {
	case end != in:
		closing = end.comment() + end.set(in) + in.comment()
	case closesLine(body, end):
		closing = end.comment() + end.comment()
	}
	return opening + body + closing
}

// spliceLines is splice for a tag that is alone on its line. It stops beyond room, because a long indent before each
// of many lines would need gigabytes.
func spliceLines(t *mustache.PartialTag, body string, begin, end delims, room int) string {
	in := delims(t.In)
	var out strings.Builder
	if begin != in {
		out.WriteString(in.set(begin) + "\n")
	}
	for line := range strings.Lines(body) {
		if strings.Trim(line, "\r\n") != "" {
			out.WriteString(t.Indent)
		}
		out.WriteString(line)
		if out.Len() > room {
			return out.String()
		}
	}
	if !strings.HasSuffix(body, "\n") {
		out.WriteString(t.LineBreak)
	}
	if end != in && t.LineBreak != "" { // else nothing follows
		out.WriteString(end.set(in) + "\n")
	}
	return out.String()
}

type delims mustache.Delimiters

var usual = delims(mustache.Usual)

// set returns the tag that sets other delimiters.
func (d delims) set(target delims) string {
	return d.Opening + "=" + target.Opening + " " + target.Closing + "=" + d.Closing
}

// comment returns a tag that prints nothing. Two of them next to each other are never alone on their line.
func (d delims) comment() string { return d.Opening + "!" + d.Closing }

// quoted returns a text, and the delimiters that must be in force before it, and that are in force after it. A text
// that is used as it is must have no tag.
func quoted(c Content, current delims) (body string, begin, end delims) {
	if c.Format != Verbatim {
		_, delimiters := mustache.Tags(c.Text)
		return c.Text, usual, delims(delimiters)
	}
	if current == usual && !strings.Contains(c.Text, "{") {
		return c.Text, current, current
	}
	other := current.other(c.Text)
	return c.Text, other, other
}

// other returns delimiters that are not d, and of which a text has none.
func (d delims) other(text string) delims {
	other := delims{"<%", "%>"}
	if !strings.Contains(text, other.Opening) && other != d {
		return other
	}
	numbers := numbersAfter(text, other.Opening)
	for i := 0; ; i++ {
		unique := delims{other.Opening + strconv.Itoa(i), other.Closing}
		if !numbers[i] && unique != d {
			return unique
		}
	}
}

// numbersAfter returns the numbers that a text has after a prefix. A number counts with each beginning of its digits,
// since 12 begins with 1. One pass finds all of them: to search the text for each number would take its length squared.
func numbersAfter(text, prefix string) map[int]bool {
	found := map[int]bool{}
	for {
		i := strings.Index(text, prefix)
		if i < 0 {
			return found
		}
		text = text[i+len(prefix):]
		n := 0
		for k := 0; k < len(text) && k < maxDigits && '0' <= text[k] && text[k] <= '9'; k++ {
			n = 10*n + int(text[k]-'0')
			found[n] = true
			if n == 0 { // no other number begins with 0
				break
			}
		}
	}
}

// maxDigits is how many digits are read from a number: no text has room for all numbers of so many digits.
const maxDigits = 9

// inline returns a text that means the same within a line. If a tag is alone on its first or last line, no tag of the
// result is alone on its line, and none has the blanks around it that would leave no trace.
func inline(body string) string {
	tags, _ := mustache.Tags(body)
	if len(tags) == 0 {
		return body
	}
	first, last := tags[0], tags[len(tags)-1]
	if !(first.Start == 0 && first.Trims()) && !(last.End == len(body) && last.Trims()) {
		return body
	}
	var out strings.Builder
	offset := 0
	for _, tag := range tags {
		out.WriteString(body[offset:tag.Start])
		out.WriteString(body[tag.From:tag.To])
		if offset = tag.End; tag.Trims() {
			out.WriteString(delims(tag.After).comment())
		}
	}
	out.WriteString(body[offset:])
	return out.String()
}

// opensLine reports whether a text's first line could change the meaning of what is before it on the line.
func opensLine(body string, d delims) bool {
	line, _, _ := strings.Cut(body, "\n")
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, d.Opening)
}

// closesLine is opensLine for the last line, and what is after it.
func closesLine(body string, d delims) bool {
	line := strings.TrimSpace(body[strings.LastIndexByte(body, '\n')+1:])
	return line == "" || strings.HasSuffix(line, d.Closing)
}
