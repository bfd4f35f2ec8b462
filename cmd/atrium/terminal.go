package main

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal is a terminal to which a command writes texts of others: prompts of other members, or a server's errors. A
// control character in them would be a command to the terminal, for example to write to the clipboard. The file is not
// embedded: io.Copy and io.WriteString would use its methods instead of Write.
type terminal struct {
	file *os.File

	mu   sync.Mutex
	rest []byte // the beginning of a character or line end that the last Write has cut in two
}

// onTerminal returns w, or a terminal if w is one.
func onTerminal(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &terminal{file: file}
	}
	return w
}

// Write writes p, with U+FFFD in the place of control characters other than tabs and ends of lines. A character that p
// ends in the middle of is written with the next Write.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := slices.Concat(t.rest, p)
	end := len(text) - unfinished(text)
	t.rest = bytes.Clone(text[end:])
	printable := bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return unicode.ReplacementChar
		}
		return r // an invalid byte's rune is also U+FFFD
	}, bytes.ReplaceAll(text[:end], []byte("\r\n"), []byte("\n")))
	if _, err := t.file.Write(printable); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished returns how many bytes at the end of text are only the beginning of a character or line end.
func unfinished(text []byte) int {
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// atTerminal reports whether standard output is a terminal.
func (p *process) atTerminal() bool {
	_, ok := p.stdout.(*terminal)
	return ok
}
