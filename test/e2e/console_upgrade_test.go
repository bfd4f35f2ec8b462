package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/web"
)

// laterText is what the later build of the console says in place of "Set your status".
const laterText = "Say where you are now"

// laterDist is the console of a later build, in which a text of one screen is another. changed has the files that
// differ.
func laterDist(t *testing.T) (all, changedMapFS fstest.MapFS) {
	t.Helper()
	dist, err := fs.Sub(web.Dist, "dist")
	require.NoError(t, err)
	all, changedMapFS = fstest.MapFS{}, fstest.MapFS{}
	err = fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dist, name)
		laterContent := bytes.ReplaceAll(text, []byte("Set your status"), []byte(laterText))
		if all[name] = (&fstest.MapFile{Data: laterContent}); !bytes.Equal(text, laterContent) {
			changedMapFS[name] = all[name]
		}
		return err
	})
	if err != nil || len(changedMapFS) == 0 {
		t.Fatalf("%v, %d files have the text", err, len(changedMapFS))
	}
	for name, file := range maps.Clone(changedMapFS) {
		if all[name+".br"] == nil { // as the build compresses it
			continue
		}
		var compressedBuffer bytes.Buffer
		out := brotli.NewWriter(&compressedBuffer)
		_, err := out.Write(file.Data)
		require.NoError(t, errors.Join(err, out.Close()))
		all[name+".br"] = &fstest.MapFile{Data: compressedBuffer.Bytes()}
		changedMapFS[name+".br"] = all[name+".br"]
	}
	return all, changedMapFS
}

// laterProgram builds a later version of the program, with another build of the console. Only the link takes time.
func laterProgram(t *testing.T) (path string) {
	t.Helper()
	folder, replacedTexts := t.TempDir(), map[string]string{}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	_, changedMapFS := laterDist(t)
	for name, file := range changedMapFS {
		keptPath := filepath.Join(folder, filepath.Base(name))
		require.NoError(t, os.WriteFile(keptPath, file.Data, 0o600))
		replacedTexts[filepath.Join(root, "web", "dist", filepath.FromSlash(name))] = keptPath
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replacedTexts})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o600)
	}
	require.NoError(t, err)
	path = filepath.Join(folder, "atrium")
	build := exec.Command("go", "build", "-overlay", filepath.Join(folder, "overlay.json"),
		"-ldflags", "-s -w -X main.version=later", "-o", path, "./cmd/atrium")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return path
}

// TestTheProgramIsReplacedBelowAnOpenPage stops the server of an open page, and starts a later program on the same
// data.
func TestTheProgramIsReplacedBelowAnOpenPage(t *testing.T) {
	proof.Only(t)
	t.Parallel()
	port := freePort(t)
	d := deploy(t, sqlite, asText, set("server.addr", "127.0.0.1:"+port))
	serve := func(file string) *server {
		c := d.command("serve", "--addr", "127.0.0.1:"+port)
		c.Path, c.Args[0] = file, file
		s := d.spawn(t, c)
		s.url = s.stdout.await(t, s, greeting)[1]
		return s
	}
	s := serve(binary)
	ann := s.user(t, "owner")
	template := ann.create(t, templates, object{"name": "console/kept", "visibility": "workspace",
		"version": object{"text": "Hello"}}).at("id")
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, ann.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "console/kept")
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v1")
	write := func(text string) {
		inserts(ctx, t, ".cm-content", text+" ")
		reads(ctx, t, "Not saved yet.")
	}
	write("First")
	types(ctx, t, `[name=message]`, "What I was typing")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.stays = true`))
	s.stop(t)
	presses(ctx, t, "Save as a new version")
	reads(ctx, t, "The server cannot be reached.")
	s = serve(laterProgram(t))
	if version := s.stdout.String(); !bytes.Contains([]byte(version), []byte("Atrium later at")) {
		t.Fatalf("the server says %q", version)
	}
	ann.server = s

	t.Run("what was typed is there, and is saved by the later program", func(t *testing.T) {
		keptText := drive(ctx, t, chromedp.Evaluate[string](`document.querySelector('[name=message]').value`))
		assert.Equal(t, "the form has", keptText, "What I was typing")
		presses(ctx, t, "Save as a new version")
		reads(ctx, t, "Preview of v2")
		ann.get(t, templates+"/"+template+"/versions/latest").has(t, map[string]string{"text": "First Hello",
			"commit_message": "What I was typing"})
	})
	t.Run("the page shows what others change, without being loaded again", func(t *testing.T) {
		ann.do(t, "PATCH", templates+"/"+template, object{"name": "console/renamed"}).is(t, 200)
		reads(ctx, t, "console/renamed")
		if !drive(ctx, t, chromedp.Evaluate[bool](`window.stays === true`)) {
			t.Error("the page was loaded again")
		}
	})
	t.Run("a screen that is loaded only now is that of the later program, and the draft is kept", func(t *testing.T) {
		write("Second")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
		drive(ctx, t, chromedp.KeyEvent("gr"))
		reads(ctx, t, laterText)
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
		reads(ctx, t, "Not saved yet.")
		reads(ctx, t, "First Second Hello") // the caret stays where it was
	})
}
