package main

import (
	"bytes"
	"io"
	"os"
	"unicode"

	"github.com/mattn/go-isatty"
)

// terminal is a terminal to which a command writes texts of others: prompts of other members, or errors of a server. A
// control character in them would be a command to the terminal, for example to write to the clipboard. The file is not
// embedded: io.Copy and io.WriteString would use its methods instead of Write.
type terminal struct{ file *os.File }

// onTerminal returns w, or a terminal if w is one.
func onTerminal(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return terminal{file}
	}
	return w
}

// Write writes p, with U+FFFD in the place of control characters other than tabs and ends of lines.
func (t terminal) Write(p []byte) (int, error) {
	shown := bytes.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' {
			return unicode.ReplacementChar
		}
		return r // that of an invalid byte is also U+FFFD
	}, bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")))
	if _, err := t.file.Write(shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// atTerminal reports whether standard output is a terminal.
func (p *process) atTerminal() bool {
	_, ok := p.stdout.(terminal)
	return ok
}
