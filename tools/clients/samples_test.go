package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheCommittedSamplesAreThoseOfTheContract(t *testing.T) {
	d, err := load(contract(t))
	require.NoError(t, err)
	want, err := samples(d)
	require.NoError(t, err)
	got, err := os.ReadFile("../../adapters/rest/openapi/samples.gen.json")
	require.NoError(t, err)
	if string(got) != string(want) {
		t.Error("samples.gen.json is out of date: run go generate ./adapters/rest/...")
	}
}

// test/clients checks those in TypeScript and Python.
func TestTheSamplesInGoCompile(t *testing.T) {
	d, err := load(contract(t))
	require.NoError(t, err)
	text, err := samples(d)
	require.NoError(t, err)
	var all map[string]sample
	require.NoError(t, json.Unmarshal(text, &all))
	var file strings.Builder
	file.WriteString("package samples\n\nimport (\n\"context\"\n\"fmt\"\n\"time\"\n" +
		"atrium \"github.com/atrium-hq/atrium/clients/go\"\n)\n\nvar _, _ = fmt.Print, time.Now\n")
	for _, id := range sortedKeys(all) {
		fmt.Fprintf(&file, "func %s(ctx context.Context, client *atrium.Client) error {\n%s\n", id, all[id].Go)
		if strings.HasPrefix(all[id].Go, "result, err") {
			file.WriteString("_ = result\n")
		}
		if strings.HasPrefix(all[id].Go, "for ") {
			file.WriteString("return nil\n}\n")
		} else {
			file.WriteString("return err\n}\n")
		}
	}
	writtenPath := filepath.Join(t.TempDir(), "samples.go")
	require.NoError(t, os.WriteFile(writtenPath, []byte(file.String()), 0o600))
	folder, err := filepath.Abs("../../clients/go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(folder, "samples", "samples.go"): writtenPath},
	})
	require.NoError(t, err)
	overlayFile := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	build := exec.Command("go", "build", "-overlay", overlayFile, "./samples")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
