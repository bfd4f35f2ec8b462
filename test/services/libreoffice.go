package services

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Convert has LibreOffice write a document in another format, such as xlsx, and returns it. name is
// that of a file, whose extension says what content is. Where there is no LibreOffice, root on Debian
// installs it, which takes some minutes.
func Convert(t testing.TB, name string, content []byte, format string) []byte {
	t.Helper()
	program, err := libreOffice()
	if err != nil {
		t.Fatalf("this test needs LibreOffice Calc: %v\nInstall it (Debian: apt-get install libreoffice-calc).", err)
	}
	folder := t.TempDir()
	in := filepath.Join(folder, name)
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// With a profile of its own it minds no other that runs.
	convert := exec.CommandContext(ctx, program, "-env:UserInstallation=file://"+folder+"/profile", "--headless",
		"--norestore",
		"--convert-to", format, "--outdir", filepath.Join(folder, "out"), in)
	convert.WaitDelay = time.Second
	if out, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("LibreOffice: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(folder, "out", "*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("LibreOffice made %q, %v", made, err)
	}
	written, err := os.ReadFile(made[0])
	if err != nil {
		t.Fatal(err)
	}
	return written
}

var libreOffice = sync.OnceValues(func() (string, error) { return installed("soffice", "libreoffice-calc") })
