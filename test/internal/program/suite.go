package program

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// Suite builds the program for the tests of one package, in a folder that is removed after the last of them.
type Suite struct {
	Root   string // the module's folder, from the package
	Folder string // of the binaries; set by Main

	once   sync.Once
	binary string
	err    error
}

// Main runs the tests and exits. TestMain calls it.
func (s *Suite) Main(m *testing.M) {
	var err error
	if s.Folder, err = os.MkdirTemp("", "atrium-suite-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	os.RemoveAll(s.Folder)
	os.Exit(code)
}

// Binary returns the path of the program of this tree. The first call builds it.
func (s *Suite) Binary(t testing.TB) string {
	t.Helper()
	s.once.Do(func() {
		if s.err = fixture.DependOnSources(s.Root); s.err == nil {
			s.binary, s.err = Present(s.Root, filepath.Join(s.Folder, "present"))
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.binary
}
