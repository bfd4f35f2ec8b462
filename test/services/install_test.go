package services

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestOnlyOneProcessInstallsPackagesAtATime(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("only Debian's packages are installed: ", err)
	}
	busy := filepath.Join(t.TempDir(), "busy")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if out, err := install(`mkdir "$1"; sleep 0.1; rmdir "$1"`, busy); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
}
