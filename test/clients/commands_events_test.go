package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestCommandsOfEvents follows, exports and forwards the events of a server.
func TestCommandsOfEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	home := t.TempDir()
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(suite.Binary(t), args...)
		c.Dir, c.Env = home, []string{"HOME=" + home}
		return c
	}
	check := func(args ...string) string {
		t.Helper()
		var failedBuffer bytes.Buffer
		c := command(args...)
		c.Stdin, c.Stderr = strings.NewReader(w.key+"\n"), &failedBuffer
		out, err := c.Output()
		if err != nil {
			t.Fatalf("atrium %v: %v: %s", args, err, &failedBuffer)
		}
		return string(out)
	}
	// running starts a command that goes on, and returns the lines that it prints.
	running := func(args ...string) <-chan string {
		t.Helper()
		c := command(args...)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		require.NoError(t, err)
		lines := make(chan string, 1000)
		read := make(chan struct{})
		go func() {
			defer close(read)
			for s := bufio.NewScanner(out); s.Scan(); {
				lines <- s.Text()
			}
		}()
		t.Cleanup(func() {
			_ = c.Process.Signal(os.Interrupt)
			<-read
			if err := c.Wait(); err != nil {
				t.Errorf("atrium %v does not end by an interrupt: %v", args, err)
			}
		})
		return lines
	}
	next := func(lines <-chan string) string {
		t.Helper()
		select {
		case line := <-lines:
			return line
		case <-time.After(proof.Patience):
			t.Fatal("nothing is printed")
			return ""
		}
	}
	check("login", w.node.URL)
	create := func(name string) string {
		t.Helper()
		newText := check("api", "POST", "/api/prompt-templates", "-d", `{"name": "`+name+`"}`)
		_, rest, _ := strings.Cut(newText, `"id": "`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	first := create("first")

	t.Run("tail prints events from a place", func(t *testing.T) {
		lines := running("events", "tail", "--after", "0", "--types", "prompt_template.created")
		assert.Contains(t, "it prints", next(lines), "\tprompt_template.created\t"+first+"\t")
		asJSON := running("events", "tail", "--after", "0", "--types", "prompt_template.created", "--json")
		var e atrium.Event
		if err := json.Unmarshal([]byte(next(asJSON)), &e); err != nil || e.Subject != first || e.Seq == nil {
			t.Errorf("it prints %+v, %v", e, err)
		}
	})
	t.Run("export goes on where it ended", func(t *testing.T) {
		to := filepath.Join(home, "events.ndjson")
		if out := check("events", "export", to, "--types", "prompt_template.created"); out != "1 event written.\n" {
			t.Errorf("it prints %q", out)
		}
		complete, err := os.ReadFile(to)
		if err == nil {
			err = os.WriteFile(to, append(complete, `{"seq": 99`...), 0o600)
		}
		require.NoError(t, err)
		second := create("second")
		next(running("events", "tail", "--after", "0", "--types", "prompt_template.created"))
		var lines []string
		for deadline := time.Now().Add(proof.Patience); len(lines) < 2 && time.Now().Before(deadline); {
			check("events", "export", to, "--types", "prompt_template.created") // the event gets its place in a second
			text, err := os.ReadFile(to)
			require.NoError(t, err)
			lines = strings.Split(strings.TrimSpace(string(text)), "\n")
		}
		if len(lines) != 2 || lines[0]+"\n" != string(complete) || !strings.Contains(lines[1], second) {
			t.Errorf("it holds %q", lines)
		}
		other := command("events", "export", writeFile(t, "not an export\n"))
		if out, err := other.CombinedOutput(); err == nil || !strings.Contains(string(out), "name another file") {
			t.Errorf("another file is overwritten: %s", out)
		}
	})
	t.Run("listen forwards signed webhooks", func(t *testing.T) {
		type received struct {
			body   []byte
			header http.Header
		}
		hooks := make(chan received, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			hooks <- received{body, r.Header}
			w.WriteHeader(http.StatusNoContent)
		}))
		defer receiver.Close()
		lines := running("listen", "--forward", receiver.URL+"/hook", "--after", "0", "--types",
			"prompt_template.created")
		_, secret, _ := strings.Cut(next(lines), "The secret of this run: ")
		if line := next(lines); !strings.HasSuffix(line, "\tprompt_template.created\t204") {
			t.Errorf("it prints %q", line)
		}
		got := <-hooks
		assert.NoError(t, atrium.VerifyWebhook(got.body, got.header, secret))
		var payload atrium.WebhookPayload
		if err := json.Unmarshal(got.body, &payload); err != nil || payload.Data.Subject.ID != first ||
			payload.Data.Subject.Type != "prompt_template" || payload.Data.Change["name"] != "first" ||
			payload.Data.ID != got.header.Get("Webhook-Id") {
			t.Errorf("it sends %s, %v", got.body, err)
		}
		for _, problem := range []string{"localhost:3000", "ftp://localhost", "http://"} {
			out, err := command("listen", "--forward", problem).CombinedOutput()
			if err == nil || !strings.Contains(string(out), "must be a URL") {
				t.Errorf("it forwards to %s: %s", problem, out)
			}
		}
	})
}
