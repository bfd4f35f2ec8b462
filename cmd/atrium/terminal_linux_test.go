package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestTextsOfOthersDoNotControlATerminal prints what a member of a workspace can write into a prompt, and a server into
// an error.
func TestTextsOfOthersDoNotControlATerminal(t *testing.T) {
	// It writes to the clipboard, sets the title, goes to the begin of the line, and clears the screen in two ways.
	const hostile = "a\x1b]52;c;cm0gLXJm\x07b\x1b]0;title\x1b\\c\rd\u009b2Je\x9b2Jf\x7f\tg\r\nh é"
	const shown = "a\ufffd]52;c;cm0gLXJm\ufffdb\ufffd]0;title\ufffd\\c\ufffdd\ufffd2Je\ufffd2Jf\ufffd\tg\nh é"
	screen := fixture.NewTerminal(t)
	p := &process{stdout: onTerminal(screen.TTY), stderr: onTerminal(screen.TTY)}
	text := hostile
	require.NoError(t, p.content(&text, nil))
	complain(p.stderr, errors.New(hostile))
	if _, err := io.WriteString(p.stdout, hostile); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(p.stdout, strings.NewReader("\x1bc\n")); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(screen.Close(), "\r\n", "\n")
	if want := shown + "\natrium: " + shown + "\n" + shown + "\ufffdc\n"; got != want {
		t.Errorf("the terminal gets %q\ninstead of        %q", got, want)
	}

	var pipedBuffer bytes.Buffer
	p = &process{stdout: onTerminal(&pipedBuffer)}
	if err := p.content(&text, nil); err != nil || pipedBuffer.String() != hostile+"\n" {
		t.Errorf("another program gets %q, %v", pipedBuffer.String(), err)
	}
}

// TestATerminalGetsWholeCharacters writes texts one byte at a time, as a copy can do at the end of its buffer.
func TestATerminalGetsWholeCharacters(t *testing.T) {
	screen := fixture.NewTerminal(t)
	out := onTerminal(screen.TTY)
	const text = "é€😀\r\nn\xe2\x82x\n" // with a character that is cut off
	for _, b := range []byte(text) {
		if n, err := out.Write([]byte{b}); n != 1 || err != nil {
			t.Fatalf("it wrote %d: %v", n, err)
		}
	}
	got := strings.ReplaceAll(screen.Close(), "\r\n", "\n")
	if want := "é€😀\nn\ufffd\ufffdx\n"; got != want {
		t.Errorf("the terminal gets %q, want %q", got, want)
	}
}
