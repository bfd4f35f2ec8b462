package main

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// The compilers of the languages check the rest: test/clients compiles all clients.
func TestEveryTypeOfEventIsInTheUnionsOfTheClients(t *testing.T) {
	d, err := load(contract(t))
	require.NoError(t, err)
	files, err := generate(d)
	require.NoError(t, err)
	if len(d.events) < 100 {
		t.Fatalf("the contract has %d types of events", len(d.events))
	}
	for _, e := range d.events {
		for file, want := range map[string]string{
			"typescript/src/api.gen.ts": "  '" + e.kind + "': " + e.component + "\n",
			"go/api.gen.go":             "case EventType" + goName(e.name) + ":\n\t\tdata = new(" + goName(e.component) + ")",
			"python/atrium/_api_gen.py": "    " + e.name + "Event,\n",
		} {
			if !strings.Contains(string(files[file]), want) {
				t.Errorf("%s does not have %q", file, want)
			}
		}
	}
}
