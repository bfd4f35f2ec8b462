package services

import (
	"path/filepath"
	"sync"
	"testing"
)

func TestOnlyOneProcessInstallsPackagesAtATime(t *testing.T) {
	busy := filepath.Join(t.TempDir(), "busy")
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if out, err := runAlone(busy+".lock", `mkdir "$1"; sleep 0.1; rmdir "$1"`, busy); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
}
