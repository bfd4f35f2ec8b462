package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// TestTheTour starts the program as docs/tour.md says, and runs the tour's commands in sh, with the address and the key
// that the first start printed.
func TestTheTour(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite, asText, set("data", "./atrium-data"), // as by default, and with the default limits
		set("server.rate_limit.per_minute", "600"), set("server.rate_limit.burst", "100"),
		set("server.rate_limit.unauthenticated_per_minute", "60"))
	d.flags = []string{"--demo"}
	s := d.start(t)
	key := s.stdout.await(t, s, regexp.MustCompile(`Bearer (atk_\w+)'`))[1]
	sh := newShell(t)

	t.Run("the command that the first start prints works as it is", func(t *testing.T) {
		s.stdout.await(t, s, regexp.MustCompile(`everything is kept in \./atrium-data\.`))
		printedText := s.stdout.await(t, s, regexp.MustCompile(`(?m)^curl .*$`))[0]
		answers := sh.run(t, []string{printedText})
		if len(answers[0]) != 1 || answers[0][0] != "200" {
			t.Errorf("%s: %v", strings.ReplaceAll(printedText, key, "atk_…"), answers)
		}
	})

	t.Run("each command of the quickstart succeeds", func(t *testing.T) {
		sh.follow(t, "quickstart.md", s.url, key)
	})
	for _, guide := range []string{"chats.md", "payments.md", "presence.md", "sources.md"} {
		t.Run("each command of "+guide+" succeeds", func(t *testing.T) { sh.follow(t, guide, s.url, key) })
	}
	t.Run("each command of the tour prints what the page says", func(t *testing.T) {
		text := sh.follow(t, "tour.md", s.url, key)
		for i := range 10 {
			if strings.Count(text, fmt.Sprintf("\n**%d. ", i+1)) != 1 {
				t.Errorf("the tour has no single step %d", i+1)
			}
		}
		for _, area := range []string{"prompt-templates", "chat-templates", "connections", "datasources", "payments",
			"presence"} {
			if !strings.Contains(text, "/api/"+area) {
				t.Errorf("the tour does not come to %s", area)
			}
		}
	})
}

var (
	promise = regexp.MustCompile(`\s# ([1-5]\d\d)\b`)
	asks    = regexp.MustCompile(`(^|[=$(])(api|curl) `)
	block   = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// follow runs the commands of a page in docs/, with the address and the key of a server in place of those of the page,
// and expects the statuses that the page promises. It returns the text of the page.
func (s shell) follow(t *testing.T, name, url, key string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	require.NoError(t, err)
	text := string(page)
	for label, value := range map[string]string{"URL=http://127.0.0.1:8080": "URL=" + url, "KEY=atk_…": "KEY=" + key} {
		if strings.Count(text, label) != 1 {
			t.Fatalf("%s sets %s %d times, want once", name, label, strings.Count(text, label))
		}
		text = strings.Replace(text, label, value, 1)
	}
	lines := shellOf(text)
	answers := s.run(t, lines)
	for i, line := range lines {
		want := "2"
		if promisedTexts := promise.FindStringSubmatch(line); promisedTexts != nil {
			want = promisedTexts[1]
		}
		if len(answers[i]) == 0 && asks.MatchString(line) {
			t.Errorf("%s\nwas not answered", line)
		}
		for _, status := range answers[i] {
			if !strings.HasPrefix(status, want) {
				t.Errorf("%s\nanswers %s, want %s", strings.ReplaceAll(line, key, "atk_…"), status, (want + "xx")[:3])
			}
		}
	}
	return text
}

// shellOf is the commands of a text's blocks, each on its line, without those that only comment.
func shellOf(text string) (lines []string) {
	for _, b := range block.FindAllStringSubmatch(text, -1) {
		for _, line := range strings.Split(b[1], "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// shell is an sh in which curl records the status of each response.
type shell struct{ folder string }

// watchedCurl is curl that writes the status of each response to a file.
const watchedCurl = `#!/bin/sh
body=$(mktemp)
%s "$@" -o "$body" -w '%%{http_code}\n' >> "$STATUSES"
code=$?
cat "$body"
rm "$body"
exit $code
`

func newShell(t *testing.T) shell {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "curl"), fmt.Appendf(nil, watchedCurl, services.Curl(t)),
		0o700))
	return shell{folder}
}

// run runs lines in one sh, one after the other, and returns the statuses that each one's requests
// were answered. A line that fails ends the test.
func (s shell) run(t *testing.T, lines []string) [][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	statuses := filepath.Join(s.folder, "statuses")
	script := "set -eu\n"
	for _, line := range lines {
		script += "echo next >> \"$STATUSES\"\n" + line + "\n"
	}
	sh := exec.CommandContext(ctx, "sh", "-c", script)
	sh.Dir, sh.WaitDelay = s.folder, time.Second
	sh.Env = append(os.Environ(), "PATH="+s.folder+":"+os.Getenv("PATH"), "STATUSES="+statuses)
	wrote, err := sh.CombinedOutput()
	notedContent, errNoted := os.ReadFile(statuses)
	if errNoted != nil {
		t.Fatal(errNoted)
	}
	_ = os.Remove(statuses)
	answers := make([][]string, 0, len(lines))
	for _, status := range strings.Fields(string(notedContent)) {
		if status == "next" {
			answers = append(answers, nil)
			continue
		}
		answers[len(answers)-1] = append(answers[len(answers)-1], status)
	}
	if err != nil {
		t.Fatalf("%s\n%v\n%s", lines[max(len(answers)-1, 0)], err, wrote)
	}
	return answers
}
