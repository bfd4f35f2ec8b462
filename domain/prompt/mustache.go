package prompt

import (
	"fmt"
	"regexp"
	"strings"
)

// This is an own parser for the part of Mustache that prompts use: variables, sections, inverted
// sections, includes, comments and set delimiters, with the whitespace rules of the Mustache specification 1.4.
// Libraries do not keep how a tag was written, which a partial render must restore, and resolve partials by opening
// files. This parser never opens a file, whatever the text contains.

const (
	maxNesting = 32  // nested sections, as deep as the JSON that a caller can send
	maxTagName = 256 // bytes of a name with all its members
	maxDelim   = 16  // bytes of a delimiter that {{= =}} sets
	tagOpen    = "{{"
	tagClose   = "}}"
)

// tagName matches what a tag can name: a variable, members of it after dots, or the item of a section.
// isTagName checks lengths, because counted repetitions make the expression slow.
var tagName = regexp.MustCompile(`^(?:\.|[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)$`)

func isTagName(name string) bool {
	return len(name) <= maxTagName && len(rootOf(name)) <= maxVariableName && tagName.MatchString(name)
}

type nodeKind int

const (
	literal nodeKind = iota
	interpolation
	section
	inverted
	inclusion // its text takes its place before a render (Content.Expand)
)

// node is a part of a text: the text between tags, a tag, or a section with its content.
type node struct {
	kind       nodeKind
	name       string // of the tag; "." is the item of the section around it
	line       int    // of the tag, from 1
	start, end int    // its position in the text; a section reaches to the end of its closing tag
	nodes      []node // in a section

	include *includeTag // of an inclusion, which has no name
}

// syntaxError says why a text is not the Mustache subset of prompts. It never quotes the text.
type syntaxError struct {
	line   int
	reason string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("Line %d: %s", e.line, e.reason) }

// parseMustache parses a text in time linear in its length.
func parseMustache(text string) ([]node, error) {
	p := newParser(text)
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.open[0].nodes, nil
}

func newParser(text string) *parser {
	return &parser{text: text, line: 1, open: []node{{}}, opening: tagOpen, closing: tagClose}
}

func (p *parser) parse() error {
	for p.pos < len(p.text) {
		i := strings.Index(p.text[p.pos:], p.opening)
		if i < 0 {
			p.literal(len(p.text))
			break
		}
		if err := p.tag(p.pos + i); err != nil {
			return err
		}
	}
	if last := p.open[len(p.open)-1]; len(p.open) > 1 {
		return &syntaxError{last.line, "the section is not closed."}
	}
	return nil
}

type parser struct {
	text    string
	pos     int    // everything before it is read
	line    int    // the line number at counted
	counted int    // the position up to which lines are counted
	open    []node // the whole text, and the sections that are not closed yet
	items   int    // how many of open have an item, which {{.}} names
	// The delimiters that are in force, {{ and }} at first.
	opening, closing string
	tags             []tagSpan // all tags, for an include
}

// tagSpan is where a tag is, without and with the blanks around it that leave no trace in the rendered text.
type tagSpan struct {
	rawStart, rawEnd, start, end int
	opening, closing             string // the delimiters that are in force after the tag
}

// tag reads the tag that starts at start, and the text before it.
func (p *parser) tag(start int) error {
	p.line += strings.Count(p.text[p.counted:start], "\n")
	p.counted = start

	body, end, ok := p.tagBody(start)
	if !ok {
		return p.refuse("the tag is not closed.")
	}
	sigil, name := byte(0), strings.TrimSpace(body)
	if name != "" && strings.IndexByte("#^/!&{><$=", name[0]) >= 0 {
		sigil, name = name[0], strings.TrimSpace(name[1:])
	}
	if inner, ok := strings.CutSuffix(name, "}"); ok && sigil == '{' { // {{{name}}}
		name = strings.TrimSpace(inner)
	} else if sigil == '{' {
		return p.refuse("{{{ is not closed by }}}.")
	}
	switch sigil {
	case '>':
		return p.include(start, end, name)
	case '<', '$':
		return p.refuse("parents and blocks are not supported.")
	}
	if sigil != '!' && sigil != '=' && !isTagName(name) {
		return p.refuse("a tag must hold a name of at most 64 letters, digits, _ and -, with dots between a variable " +
			"and its members.")
	}
	if name == "." && p.items == 0 && sigil != '!' && sigil != '/' {
		return p.refuse("{{.}} has a meaning only inside a section.")
	}

	span := tagSpan{start, end, start, end, p.opening, p.closing}
	switch sigil {
	case '#', '^', '/', '!', '=':
		start, end = p.standalone(start, end)
		span.start, span.end = start, end
	}
	p.tags = append(p.tags, span)
	p.literal(start)
	p.pos = end
	switch sigil {
	case '!':
	case '=':
		err := p.setDelimiters(name)
		last := &p.tags[len(p.tags)-1]
		last.opening, last.closing = p.opening, p.closing
		return err
	case '#', '^':
		kind := inverted
		if sigil == '#' {
			kind = section
			p.items++
		}
		if len(p.open) > maxNesting {
			return p.refuse(fmt.Sprintf("sections are nested more than %d deep.", maxNesting))
		}
		p.open = append(p.open, node{kind: kind, name: name, line: p.line, start: start})
	case '/':
		closed := p.open[len(p.open)-1]
		if len(p.open) == 1 || closed.name != name {
			return p.refuse("the closing tag is not that of the innermost open section.")
		}
		if closed.kind == section {
			p.items--
		}
		closed.end = end
		p.open = p.open[:len(p.open)-1]
		p.add(closed)
	default:
		p.add(node{kind: interpolation, name: name, line: p.line, start: start, end: end})
	}
	return nil
}

// tagBody returns the text inside the tag that starts at start, and where the tag ends.
func (p *parser) tagBody(start int) (body string, end int, ok bool) {
	from, until := start+len(p.opening), p.closing
	switch {
	case strings.HasPrefix(p.text[from:], "{"):
		until = "}" + until
	case strings.HasPrefix(p.text[from:], "="):
		from, until = from+1, "="+until
	}
	i := strings.Index(p.text[from:], until)
	if i < 0 {
		return "", 0, false
	}
	end = from + i + len(until)
	if until[0] == '=' {
		from--
	}
	return p.text[from : end-len(p.closing)], end, true
}

// setDelimiters reads what follows the first = of a tag such as {{=<% %>=}}.
func (p *parser) setDelimiters(body string) error {
	body, closed := strings.CutSuffix(body, "=")
	fields := strings.Fields(body)
	if !closed || len(fields) != 2 || strings.Contains(body, "=") || max(len(fields[0]), len(fields[1])) > maxDelim {
		return p.refuse("{{= =}} must hold two delimiters of at most 16 bytes, with a space between them and no =.")
	}
	p.opening, p.closing = fields[0], fields[1]
	return nil
}

// standalone extends a tag to its whole line if the line has only blanks besides it: such a line leaves
// no trace in the rendered text.
func (p *parser) standalone(start, end int) (from, to int) {
	from, to = start, end
	for from > p.pos && isBlank(p.text[from-1]) {
		from--
	}
	if from > 0 && p.text[from-1] != '\n' {
		return start, end
	}
	for to < len(p.text) && isBlank(p.text[to]) {
		to++
	}
	switch rest := p.text[to:]; {
	case rest == "":
		return from, to
	case rest[0] == '\n':
		return from, to + 1
	case strings.HasPrefix(rest, "\r\n"):
		return from, to + 2
	}
	return start, end
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }

// literal adds the text up to end.
func (p *parser) literal(end int) {
	if end > p.pos {
		p.add(node{kind: literal, start: p.pos, end: end})
	}
}

func (p *parser) add(n node) {
	around := &p.open[len(p.open)-1]
	around.nodes = append(around.nodes, n)
}

func (p *parser) refuse(reason string) error { return &syntaxError{p.line, reason} }
