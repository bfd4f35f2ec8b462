package arch

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

// inside lists the folders of an adapter that is divided by area and that are no area, each above those that it may
// import. An area may import all of them. The folder of the adapter itself composes the areas.
var inside = map[string][]string{
	"adapters/rest":     {"openapi", "convert", "server"},
	"adapters/sqlstore": {"engine", "migrations", "db"},
}

// objectionInside returns why the package in directory from must not import target of the same adapter; "" if it may.
func objectionInside(from, target string) string {
	adapter := strings.Join(strings.SplitN(from+"/", "/", 3)[:2], "/")
	shared, divided := inside[adapter]
	here, there := folderIn(adapter, from), folderIn(adapter, target)
	importer, imported := slices.Index(shared, here), slices.Index(shared, there)
	switch {
	case !divided || here == "" || here == there:
		return ""
	case there == "":
		return "only cmd imports the package that composes the areas"
	case imported < 0:
		return "areas never import each other, and what they share imports none"
	case importer >= 0 && importer < imported:
		return "of what areas share, it is below what it imports"
	}
	return ""
}

// folderIn returns the folder of an adapter that a directory is in; empty for the adapter's own.
func folderIn(adapter, dir string) string {
	folder, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(dir, adapter), "/"), "/")
	return folder
}

// areasIn returns the areas of an adapter: its folders with Go files that are not shared.
func areasIn(t *testing.T, adapter string) []string {
	t.Helper()
	areas := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasPrefix(s.dir(), adapter+"/") && !slices.Contains(inside[adapter], folderIn(adapter, s.dir())) {
			areas[folderIn(adapter, s.dir())] = true
		}
	}
	return slices.Sorted(maps.Keys(areas))
}

func TestEveryAreaIsComposed(t *testing.T) {
	for adapter := range inside {
		imported := map[string]bool{}
		for _, s := range sources(t) {
			if s.dir() != adapter || s.test() {
				continue
			}
			for _, spec := range s.file.Imports {
				if path, err := strconv.Unquote(spec.Path.Value); err == nil {
					imported[strings.TrimPrefix(path, module+adapter+"/")] = true
				}
			}
		}
		for _, area := range areasIn(t, adapter) {
			if !imported[area] {
				t.Errorf("%s does not import its area %s", adapter, area)
			}
		}
	}
}

var areaRow = regexp.MustCompile("(?m)^\\| `(adapters/[a-z]+)/([a-z]+)` \\|")

func TestTheDocumentOfTheArchitectureNamesEachFolder(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	for adapter, shared := range inside {
		var named []string
		for _, row := range areaRow.FindAllStringSubmatch(string(text), -1) {
			if row[1] == adapter {
				named = append(named, row[2])
			}
		}
		want := append(areasIn(t, adapter), shared...)
		slices.Sort(named)
		slices.Sort(want)
		if !slices.Equal(named, want) {
			t.Errorf("docs/architecture.md names %v of %s, whose folders are %v", named, adapter, want)
		}
	}
}
