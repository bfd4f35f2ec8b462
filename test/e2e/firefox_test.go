package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// firefoxTab is a Firefox with a profile of its own, driven by Marionette, the protocol that geckodriver speaks with
// it (https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html). A message is its length, a colon and
// JSON: [0, id, command, parameters], answered by [1, id, error, result].
type firefoxTab struct {
	*testing.T
	conn   net.Conn
	reader *bufio.Reader
	sent   *int
}

// firefoxSettings keep Firefox from connecting to anything but this machine. The port 0 is any that is free.
const firefoxSettings = `
user_pref("marionette.port", 0);
user_pref("network.proxy.type", 1);
user_pref("network.proxy.http", "127.0.0.1");
user_pref("network.proxy.http_port", 9);
user_pref("network.proxy.ssl", "127.0.0.1");
user_pref("network.proxy.ssl_port", 9);
user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
`

// newFirefox starts Firefox, which ends with the test.
func newFirefox(t *testing.T) *firefoxTab {
	t.Helper()
	path, profile := services.Firefox(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(firefoxSettings), 0o600))
	cmd := exec.Command(path, "--headless", "--marionette", "--no-remote", "--profile", profile)
	cmd.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	// With its own children, which could write into the profile while it is removed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	f := &firefoxTab{T: t, sent: new(int)}
	proof.Eventually(t, "Firefox accepts connections of Marionette", func() bool {
		port, err := os.ReadFile(filepath.Join(profile, "MarionetteActivePort"))
		if err == nil && len(port) > 0 {
			f.conn, err = net.Dial("tcp", "127.0.0.1:"+strings.TrimSpace(string(port)))
		}
		return err == nil && f.conn != nil
	})
	t.Cleanup(func() { _ = f.conn.Close() })
	f.reader = bufio.NewReader(f.conn)
	f.read() // the greeting
	f.call("WebDriver:NewSession", object{"capabilities": object{}})
	return f
}

// in returns f for a part of its test.
func (f *firefoxTab) in(t *testing.T) *firefoxTab {
	part := *f
	part.T = t
	return &part
}

// read returns the next message.
func (f *firefoxTab) read() json.RawMessage {
	f.Helper()
	_ = f.conn.SetReadDeadline(time.Now().Add(patience))
	length, err := f.reader.ReadString(':')
	if err != nil {
		f.Fatalf("Firefox: %v", err)
	}
	size, err := strconv.Atoi(strings.TrimSuffix(length, ":"))
	if err != nil {
		f.Fatalf("Firefox: %v", err)
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(f.reader, message); err != nil {
		f.Fatalf("Firefox: %v", err)
	}
	return message
}

// call sends a command and returns its result.
func (f *firefoxTab) call(command string, parameters object) (result json.RawMessage) {
	f.Helper()
	*f.sent++
	message, err := json.Marshal([]any{0, *f.sent, command, parameters})
	require.NoError(f, err)
	if _, err := fmt.Fprintf(f.conn, "%d:%s", len(message), message); err != nil {
		f.Fatalf("Firefox: %v", err)
	}
	var answer []json.RawMessage
	if err := json.Unmarshal(f.read(), &answer); err != nil || len(answer) != 4 {
		f.Fatalf("Firefox answers with %s, %v", answer, err)
	}
	if string(answer[2]) != "null" {
		f.Fatalf("%s: %s", command, answer[2])
	}
	return answer[3]
}

func (f *firefoxTab) open(url string) {
	f.Helper()
	f.call("WebDriver:Navigate", object{"url": url})
}

// evaluate returns the value of an expression in the page, as JSON.
func (f *firefoxTab) evaluate(expression string) string {
	f.Helper()
	var result struct {
		Value json.RawMessage `json:"value"`
	}
	require.NoError(f, json.Unmarshal(f.call("WebDriver:ExecuteScript", object{"script": "return (" + expression + ")",
		"args": []any{}, "sandbox": nil}), &result))
	return string(result.Value)
}

// waits waits until an expression is true in the page.
func (f *firefoxTab) waits(expression string) {
	f.Helper()
	proof.Await(f, expression, func() string {
		return f.evaluate("!!(" + expression + ") || document.body.innerText")
	}, func(result string) bool { return result == "true" })
}
