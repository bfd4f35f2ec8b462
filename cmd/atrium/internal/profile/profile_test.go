package profile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/profile"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestProfiles(t *testing.T) {
	home := t.TempDir()
	environ := []string{"HOME=" + home}
	open := func(t *testing.T) *profile.Profiles {
		t.Helper()
		p, err := profile.Open(environ)
		require.NoError(t, err)
		return p
	}
	p := open(t)
	if _, err := p.Get(""); !errors.Is(err, profile.ErrNone) {
		t.Errorf("without a file, Get = %v", err)
	}
	p.Set("work", profile.Profile{URL: "https://one.example.com", Key: "key-1"})
	p.Set("home", profile.Profile{URL: "https://two.example.com", Key: "key-2", Workspace: "team"})
	require.NoError(t, p.Save())
	if want := filepath.Join(home, ".config", "atrium", "profiles.json"); p.Path() != want {
		t.Errorf("the file is %s, want %s", p.Path(), want)
	}

	t.Run("the last one set is the current one", func(t *testing.T) {
		if got, err := open(t).Get(""); err != nil || got.Key != "key-2" || got.Workspace != "team" {
			t.Errorf("Get = %+v, %v", got, err)
		}
		if got, err := open(t).Get("work"); err != nil || got.Key != "key-1" {
			t.Errorf("Get = %+v, %v", got, err)
		}
	})
	t.Run("only the user can read the file", func(t *testing.T) {
		info, err := os.Stat(p.Path())
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %v, %v", info.Mode(), err)
		}
		require.NoError(t, os.Chmod(p.Path(), 0o644))
		if _, err := profile.Open(environ); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a file that others can read: %v", err)
		}
		require.NoError(t, os.Chmod(p.Path(), 0o600))
	})
	t.Run("one can be removed", func(t *testing.T) {
		p := open(t)
		require.NoError(t, errors.Join(p.Remove("home"), p.Save()))
		if _, err := open(t).Get(""); !errors.Is(err, profile.ErrNone) {
			t.Errorf("Get = %v", err)
		}
		assert.ErrorIs(t, p.Remove("home"), profile.ErrNone)
	})
	t.Run("without a home folder there is an error", func(t *testing.T) {
		if _, err := profile.Open([]string{"HOME="}); err == nil {
			t.Error("Open succeeded")
		}
	})
}
