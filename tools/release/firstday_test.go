package release

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTheFirstDay runs the commands of docs/first-day.md on four machines, which are copies of this one.
func TestTheFirstDay(t *testing.T) {
	packages := map[string]string{"pg_createcluster": "postgresql", "nginx": "nginx", "curl": "curl",
		"openssl": "openssl", "ip": "iproute2"}
	for command, name := range packages {
		need(t, command, name)
	}
	script, err := filepath.Abs("firstday")
	if err != nil {
		t.Fatal(err)
	}
	deb, err := filepath.Abs(file(t, "*_"+runtime.GOARCH+".deb"))
	if err != nil {
		t.Fatal(err)
	}
	out := run(t, script, deb)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "== during the upgrade") || strings.HasPrefix(line, "the first day") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
