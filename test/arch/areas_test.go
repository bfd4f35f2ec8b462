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
	sharedTexts, isDivided := inside[adapter]
	local, other := folderIn(adapter, from), folderIn(adapter, target)
	importer, importedCount := slices.Index(sharedTexts, local), slices.Index(sharedTexts, other)
	switch {
	case !isDivided || local == "" || local == other:
		return ""
	case other == "":
		return "only cmd imports the package that composes the areas"
	case importedCount < 0:
		return "areas never import each other, and what they share imports none"
	case importer >= 0 && importer < importedCount:
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
		importedTexts := map[string]bool{}
		for _, s := range sources(t) {
			if s.dir() != adapter || s.test() {
				continue
			}
			for _, spec := range s.file.Imports {
				if path, err := strconv.Unquote(spec.Path.Value); err == nil {
					importedTexts[strings.TrimPrefix(path, module+adapter+"/")] = true
				}
			}
		}
		for _, area := range areasIn(t, adapter) {
			if !importedTexts[area] {
				t.Errorf("%s does not import its area %s", adapter, area)
			}
		}
	}
}

var areaRow = regexp.MustCompile("(?m)^\\| `(adapters/[a-z]+)/([a-z]+)` \\|")

func TestTheDocumentOfTheArchitectureNamesEachFolder(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	for adapter, sharedTexts := range inside {
		var namedTexts []string
		for _, row := range areaRow.FindAllStringSubmatch(string(text), -1) {
			if row[1] == adapter {
				namedTexts = append(namedTexts, row[2])
			}
		}
		want := append(areasIn(t, adapter), sharedTexts...)
		slices.Sort(namedTexts)
		slices.Sort(want)
		if !slices.Equal(namedTexts, want) {
			t.Errorf("docs/architecture.md names %v of %s, whose folders are %v", namedTexts, adapter, want)
		}
	}
}
