package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheBillHasModulesAndTheConsolesPackages(t *testing.T) {
	t.Chdir("../..")
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(folder+"/LICENSE", []byte("Apache License Version 2.0"), 0o600))
	var out bytes.Buffer
	require.NoError(t, writeBill(&out, "v1.2.3", []module{{"example.com/m", "v2.0.0+incompatible", folder}}))
	var output bill
	require.NoError(t, json.Unmarshal(out.Bytes(), &output))
	console := map[string]bool{}
	for _, c := range output.Components {
		if strings.HasPrefix(c.PURL, "pkg:npm/") {
			console[fmt.Sprintf("%s %s (%s)", c.Name, c.Version, c.Licences[0].Licence.ID)] = true
		}
	}
	texts, err := os.ReadFile("web/dist/licenses.txt")
	require.NoError(t, err)
	lines := strings.Split(string(texts), "\n")
	found := 0
	for i := range len(lines) - 1 {
		if lines[i] == strings.Repeat("-", 80) {
			if found++; !console[lines[i+1]] {
				t.Errorf("the bill lacks %s", lines[i+1])
			}
		}
	}
	if found == 0 || found != len(console) {
		t.Errorf("the console has the licences of %d packages, and the bill has %d", found, len(console))
	}
	for _, purl := range []string{"pkg:golang/example.com/m@v2.0.0%2Bincompatible", "pkg:npm/%40base-ui/react@"} {
		if !slices.ContainsFunc(output.Components,
			func(c component) bool { return strings.HasPrefix(c.PURL, purl) }) {
			t.Errorf("the bill lacks %s", purl)
		}
	}
}
