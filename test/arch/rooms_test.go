package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	drawing     = regexp.MustCompile("(?s)```\n(.+?)```")
	drawnNames  = regexp.MustCompile(`[a-z]+(?: · [a-z]+)+`)
	drawnFolder = regexp.MustCompile(`adapters/([a-z]+(?:, [a-z]+)*)`)
	topRow      = regexp.MustCompile("(?m)^\\| `([a-z]+)/[a-z/]*` \\|")
	topFolder   = regexp.MustCompile("`([a-z]+)/[a-z/]*`")
	adapterRow  = regexp.MustCompile("(?m)^\\| `([a-z]+)[`/]")
	testFolder  = regexp.MustCompile("`test/([a-z0-9]+)`")
)

// TestTheDrawingOfTheArchitectureNamesEachRoom compares the first drawing of docs/architecture.md with the folders.
func TestTheDrawingOfTheArchitectureNamesEachRoom(t *testing.T) {
	block := drawing.FindStringSubmatch(readDocument(t, "docs/architecture.md"))
	if block == nil {
		t.Fatal("docs/architecture.md has no drawing")
	}
	var areas, adapters []string
	for _, names := range drawnNames.FindAllString(block[1], -1) {
		areas = append(areas, strings.Split(names, " · ")...)
	}
	for _, names := range drawnFolder.FindAllStringSubmatch(block[1], -1) {
		adapters = append(adapters, strings.Split(names[1], ", ")...)
	}
	sameRooms(t, "the drawing of docs/architecture.md", "domain/ and application/", areas,
		slices.Concat(foldersIn(t, "domain"), foldersIn(t, "application")))
	sameRooms(t, "the drawing of docs/architecture.md", "adapters/", adapters, foldersIn(t, "adapters"))
	page := readDocument(t, "docs/adapters.md")
	sameRooms(t, "docs/adapters.md", "adapters/", append(named(adapterRow, page), "egress", "confine"),
		foldersIn(t, "adapters"))
}

// TestDocumentsNameEachTopFolder compares what the table of docs/architecture.md and the layout in CONTRIBUTING.md name
// with the folders of the repository and of test/.
func TestDocumentsNameEachTopFolder(t *testing.T) {
	ignoredText := readDocument(t, ".gitignore")
	top := slices.DeleteFunc(foldersIn(t, "."), func(name string) bool {
		return strings.Contains(ignoredText, "\n/"+name+"/\n") || strings.HasPrefix(ignoredText, "/"+name+"/\n")
	})
	sameRooms(t, "the table of docs/architecture.md", "the repository",
		named(topRow, readDocument(t, "docs/architecture.md")), top)
	_, layout, _ := strings.Cut(readDocument(t, "CONTRIBUTING.md"), "\n## Where things are\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	sameRooms(t, `"Where things are" of CONTRIBUTING.md`, "the repository", named(topFolder, layout), top)
	sameRooms(t, `"Where things are" of CONTRIBUTING.md`, "test/", named(testFolder, layout), foldersIn(t, "test"))
}

// TestAnAreaHasOneNameInEachLayer looks for the folders of each area that has use cases. docs/architecture.md says
// which of them an area does not have, and why.
func TestAnAreaHasOneNameInEachLayer(t *testing.T) {
	page := readDocument(t, "docs/architecture.md")
	for _, area := range foldersIn(t, "application") {
		for layer, name := range map[string]string{
			"domain": strings.TrimSuffix(area, "s"), "adapters/rest": area, "adapters/sqlstore": area,
		} {
			exists := slices.Contains(foldersIn(t, layer), name)
			isExplained := strings.Contains(page, "There is no `"+name+"` in `"+layer+"`")
			if exists == isExplained {
				t.Errorf("%s/%s exists: %v; docs/architecture.md explains why not: %v", layer, name, exists,
					isExplained)
			}
		}
	}
}

// foldersIn returns the names of the folders of a directory, except for hidden ones.
func foldersIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("..", "..", dir))
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// named returns each name once that the first group of a pattern matches in a text.
func named(pattern *regexp.Regexp, text string) []string {
	names := map[string]bool{}
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		names[match[1]] = true
	}
	return slices.Collect(maps.Keys(names))
}

func sameRooms(t *testing.T, document, location string, names, folders []string) {
	t.Helper()
	slices.Sort(names)
	slices.Sort(folders)
	if !slices.Equal(names, folders) {
		t.Errorf("%s names %v, but the folders of %s are %v", document, names, location, folders)
	}
}
