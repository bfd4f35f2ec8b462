package chaos

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// git runs git in this repository and returns its output.
func git(args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = suite.Root
	out, err := c.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// release is a tagged version and its program.
type release struct {
	tag, commit, binary string
}

// tagged has a line with the tag and the commit of each release, oldest first, for clones without tags.
//
//go:embed testdata/release
var tagged string

// releases returns the tags that this tree descends from and their commits, oldest first.
func releases(t *testing.T) (all []release) {
	t.Helper()
	dependOnTags(t)
	tags, err := git("tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=version:refname")
	require.NoError(t, err)
	for tag := range strings.FieldsSeq(tags) {
		all = append(all, release{tag: tag, commit: tag})
	}
	for line := range strings.Lines(tagged) {
		tag, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !slices.ContainsFunc(all, func(r release) bool { return r.tag == tag }) {
			all = append(all, release{tag: tag, commit: commit})
		}
	}
	if len(all) == 0 {
		t.Fatal("no release is known")
	}
	return all
}

// eachRelease runs a test with the program of each release.
func eachRelease(t *testing.T, test func(t *testing.T, old release)) {
	t.Helper()
	for _, r := range releases(t) {
		t.Run("from "+r.tag, func(t *testing.T) { test(t, built(t, r)) })
	}
}

// lastRelease builds the last release before this tree.
func lastRelease(t *testing.T) release {
	t.Helper()
	all := releases(t)
	return built(t, all[len(all)-1])
}

// built builds a release. Without its commit, as in a source archive or a shallow clone, it skips the test, or fails it
// while proving.
func built(t *testing.T, r release) release {
	t.Helper()
	tag := r.tag
	commit, err := git("rev-parse", "--verify", r.commit+"^{commit}")
	if err != nil {
		const untold = "NOT TESTED: %s upgrades from %s, which is not in the history of this clone (git fetch --tags " +
			"--unshallow): %v"
		if proof.Running() {
			t.Fatalf(untold, t.Name(), tag, err)
		}
		fmt.Fprintf(os.Stderr, untold+"\n", t.Name(), tag, err)
		t.SkipNow()
	}
	start, err := git("rev-list", "--count", commit+"..HEAD")
	require.NoError(t, err)
	t.Logf("compared: %s (%.12s), and this tree, %s commits later", tag, commit, start)
	// Built once per machine, because the build takes ten times as long as the test.
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = suite.Folder
	}
	keptPath := filepath.Join(cache, "atrium", "releases", fmt.Sprintf("%.12s-%s-%s", commit, runtime.Version(),
		runtime.GOARCH))
	if _, err := os.Stat(keptPath); err == nil {
		return release{tag, commit, keptPath}
	}
	source := t.TempDir()
	archive := filepath.Join(source, "source.tar")
	if _, err := git("archive", "--output", archive, commit); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-xf", archive, "-C", source).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(keptPath), 0o700))
	binary, err := program.Build(source, tag, filepath.Join(source, "atrium"))
	if err == nil {
		err = rename(binary, keptPath)
	}
	if err != nil {
		t.Fatalf("build %s: %v", tag, err)
	}
	return release{tag, commit, keptPath}
}

// rename moves a file atomically, to another file system too, because another test may look for it.
func rename(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	half := fmt.Sprintf("%s.%d", to, os.Getpid())
	if err := os.WriteFile(half, content, 0o700); err != nil {
		return err
	}
	return os.Rename(half, to)
}

// dependOnTags reads the files that hold tags, so that go test does not use its cache after a release.
func dependOnTags(t *testing.T) {
	t.Helper()
	common, err := git("rev-parse", "--git-common-dir")
	require.NoError(t, err)
	if !filepath.IsAbs(common) {
		common = filepath.Join(suite.Root, common)
	}
	for _, path := range []string{"refs/tags", "packed-refs"} {
		if _, err := os.Stat(filepath.Join(common, path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}
