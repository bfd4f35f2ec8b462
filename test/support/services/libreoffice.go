package services

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

// Convert has LibreOffice write a document in another format, such as xlsx, and returns it. name is
// that of a file, whose extension says what content is. Where there is no LibreOffice, root on Debian
// installs it, which takes some minutes.
func Convert(t testing.TB, name string, content []byte, format string) []byte {
	t.Helper()
	return ConvertIn(t, "en-US", name, content, format)
}

// ConvertIn is Convert by a LibreOffice that runs in a locale (BCP 47).
func ConvertIn(t testing.TB, locale, name string, content []byte, format string) []byte {
	t.Helper()
	program, err := libreOffice()
	if err != nil {
		t.Fatalf("this test needs LibreOffice Calc: %v\nInstall it (Debian: apt-get install libreoffice-calc).", err)
	}
	folder := t.TempDir()
	in := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(in, content, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// Its profile is its own, so that it does not hand the document to another LibreOffice that runs.
	profile := filepath.Join(folder, "profile")
	require.NoError(t, os.MkdirAll(filepath.Join(profile, "user"), 0o700))
	settings := fmt.Sprintf(localeSetting, locale)
	file := filepath.Join(profile, "user", "registrymodifications.xcu")
	require.NoError(t, os.WriteFile(file, []byte(settings), 0o600))
	convert := exec.CommandContext(ctx, program, "-env:UserInstallation=file://"+profile, "--headless",
		"--norestore",
		"--convert-to", format, "--outdir", filepath.Join(folder, "out"), in)
	convert.WaitDelay = time.Second
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("LibreOffice: %v\n%s", err, out)
	}
	texts, err := filepath.Glob(filepath.Join(folder, "out", "*"))
	if err != nil || len(texts) != 1 {
		t.Fatalf("LibreOffice made %q, %v", texts, err)
	}
	output, err := os.ReadFile(texts[0])
	require.NoError(t, err)
	return output
}

// localeSetting is the file of a profile that sets the locale of documents and of the system.
const localeSetting = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Setup/L10N"><prop oor:name="ooSetupSystemLocale" oor:op="fuse">
<value>%s</value></prop></item>
</oor:items>
`

var libreOffice = sync.OnceValues(func() (string, error) { return installed("soffice", "libreoffice-calc") })
