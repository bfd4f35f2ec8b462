package main

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestAKeyThatIsTypedIsNotShown(t *testing.T) {
	const key = "atk_typed-by-hand"
	terminal, stdin := fixture.NewTerminal(t), os.Stdin
	os.Stdin = terminal.TTY
	t.Cleanup(func() { os.Stdin = stdin })
	read := make(chan string, 1)
	go func() {
		got, err := (&loginCommand{}).key(&process{stderr: terminal.TTY})
		if err != nil {
			got = err.Error()
		}
		read <- got
	}()
	proof.Eventually(t, "the terminal does not show what is typed", func() bool {
		mode, err := unix.IoctlGetTermios(int(terminal.TTY.Fd()), unix.TCGETS)
		return err == nil && mode.Lflag&unix.ECHO == 0
	})
	terminal.Type(t, key+"\n")
	assert.Equal(t, "read", <-read, key)
	if text := terminal.Close(); !strings.Contains(text, "API key: ") || strings.Contains(text, key) {
		t.Errorf("the terminal shows %q", text)
	}
}
