package e2e

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// supportDesk starts examples/support-desk beside a server with the one command that its README has, and returns the
// address of its shop. It works on a copy, since npm writes into the folder.
func supportDesk(t *testing.T, url, key string) string {
	t.Helper()
	npm, root := services.NPM(t), t.TempDir()
	for _, folder := range []string{"examples/support-desk", "clients/typescript"} {
		copySources(t, filepath.Join("../..", folder), filepath.Join(root, folder))
	}
	start := exec.Command(npm, "start", "--prefix", filepath.Join(root, "examples/support-desk"))
	start.Env = append(os.Environ(), "ATRIUM_URL="+url, "ATRIUM_KEY="+key, "PORT="+freePort(t))
	start.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // npm starts the program
	out, err := start.StdoutPipe()
	require.NoError(t, err)
	var failedText strings.Builder
	start.Stderr = &failedText
	require.NoError(t, start.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-start.Process.Pid, syscall.SIGTERM)
		_ = start.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if shop, found := strings.CutPrefix(lines.Text(), "The shop: "); found {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return strings.TrimSuffix(shop, "/")
		}
	}
	_ = start.Wait()
	t.Fatalf("the example ended: %s", failedText.String())
	return ""
}

// copySources copies a folder without what npm and the compiler wrote into it.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || d.Name() == "dist" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil || (strings.HasSuffix(name, ".json") && strings.HasPrefix(name, ".")) {
			return err // the state of a start
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o644)
	})
	require.NoError(t, err)
}

func TestTheExampleAnswersVisitorsAndShowsWhatHappensAtTheDesk(t *testing.T) {
	t.Parallel()
	d := deploy(t, sqlite, asText)
	d.flags = []string{"--demo"}
	s := d.start(t)
	owner := &client{server: s, token: s.stdout.await(t, s, regexp.MustCompile(`Bearer (atk_\w+)'`))[1]}
	shop := supportDesk(t, s.url, owner.token)
	chromium := browser(t)

	visitor, console := tab(t, chromium, shop+"/")
	drive(visitor, t, poll[bool](
		`[...document.querySelectorAll('div')].some((d) => d.shadowRoot?.querySelector('.starters button'))`))
	shows := func(text string) {
		t.Helper()
		drive(visitor, t, poll[bool](chatRoot+fmt.Sprintf(`.querySelector('.log').innerText.includes(%q)`, text)))
	}
	within[chromedp.Void](visitor, t, chatRoot, `$.querySelector('.starters button').click()`)
	shows("Orders leave us within a day.")
	shows("Our colleagues are back at nine.")
	keep(visitor, t, "example-shop")

	desk, _ := tab(t, chromium, shop+"/desk")
	reads(desk, t, "You are online")
	owner.get(t, "/api/presence/me").has(t, map[string]string{"status": "online"})
	writes(visitor, t, chatRoot, "Can I send a cup back?")
	shows("A colleague is here too")
	reads(desk, t, "customer-42: Can I send a cup back?")

	prompt := owner.get(t, templates+"?q=support-desk/answer").at("data.0.id")
	owner.create(t, templates+"/"+prompt+"/versions", object{"text": "In short: {{article}}", "activate": true})
	reads(desk, t, "prompt_template.activated")
	keep(desk, t, "example-desk")
	for n := 3; ; n++ { // the new version is fetched in the background
		writes(visitor, t, chatRoot, "And a refund?")
		drive(visitor, t, poll[bool](chatRoot+fmt.Sprintf(
			`.querySelectorAll('.them .actions').length >= %d`, n)))
		if within[bool](visitor, t, chatRoot, `$.querySelector('.log').innerText.includes('In short: Send it back')`) {
			break
		}
		if n == 10 {
			t.Fatal("the answers do not use the new version")
		}
	}
	drive(visitor, t, chromedp.Evaluate[chromedp.Void](`console.log('that was all')`))
	for m, err := range console {
		require.NoError(t, err)
		if m.Text == "that was all" {
			break
		}
		t.Errorf("the shop logs %s", m.Text)
	}
}
