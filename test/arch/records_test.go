package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

var (
	recordName    = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	recordHead    = regexp.MustCompile(`^# (\d+)\. (.+)\n\nStatus: (accepted|superseded)\b.*\.\n`)
	recordRow     = regexp.MustCompile(`(?m)^\| (\d+) \| \[(.+)\]\((\d{4}-[a-z0-9-]+\.md)\) \| (\w+) \|$`)
	foreignRow    = regexp.MustCompile(`(?m)^\| (\d+) \| .+ \| (?:merged|superseded) \|$`)
	recordMention = regexp.MustCompile(`\bADRs? (\d+)`)
)

// TestTheListOfRecordsEqualsTheRecords compares docs/adr/README.md with the records: each has one row with its title
// and its status. A number is that of one record, or part of another one.
func TestTheListOfRecordsEqualsTheRecords(t *testing.T) {
	numbers, rows := recordNumbers(t), map[string][]string{}
	list := readDocument(t, "docs/adr/README.md")
	for _, row := range recordRow.FindAllStringSubmatch(list, -1) {
		if rows[row[3]] != nil {
			t.Errorf("docs/adr/README.md lists %s twice", row[3])
		}
		rows[row[3]] = []string{row[1], row[2], row[4]}
	}
	entries, err := os.ReadDir(filepath.Join("..", "..", "docs", "adr"))
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		if name == "README.md" {
			continue
		}
		head := recordHead.FindStringSubmatch(readDocument(t, "docs/adr/"+name))
		number := recordName.FindStringSubmatch(name)
		if head == nil || number == nil || strings.TrimLeft(number[1], "0") != head[1] {
			t.Errorf("docs/adr/%s: a record is NNNN-title.md, and begins with %q and its status", name, "# N. Title")
			continue
		}
		if !slices.Equal(rows[name], head[1:]) {
			t.Errorf("docs/adr/README.md lists %s as %q, which says %q", name, rows[name], head[1:])
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/adr/README.md lists %s, which does not exist", name)
	}
	for number, uses := range numbers {
		if uses > 1 {
			t.Errorf("docs/adr/README.md has the number %d %d times", number, uses)
		}
	}
}

// TestMentionsOfRecordsNameOne looks up each "ADR 7" of the code and the documents.
func TestMentionsOfRecordsNameOne(t *testing.T) {
	numbers, root := recordNumbers(t), filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := entry.Name(); entry.IsDir() && path != root && (base[0] == '.' || base == "node_modules") {
			return filepath.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".sql", ".js"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, mention := range recordMention.FindAllStringSubmatch(string(text), -1) {
			if number, _ := strconv.Atoi(mention[1]); numbers[number] == 0 {
				t.Errorf("%s: %s is not in docs/adr/README.md", path, mention[0])
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// recordNumbers counts how often docs/adr/README.md has each number: as a record, or as part of another one.
func recordNumbers(t *testing.T) map[int]int {
	t.Helper()
	numbers, list := map[int]int{}, readDocument(t, "docs/adr/README.md")
	for _, row := range slices.Concat(recordRow.FindAllStringSubmatch(list, -1),
		foreignRow.FindAllStringSubmatch(list, -1)) {
		number, _ := strconv.Atoi(row[1])
		numbers[number]++
	}
	if len(numbers) == 0 {
		t.Fatal("docs/adr/README.md lists nothing")
	}
	return numbers
}

// readDocument returns the text of a file of the repository.
func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(text)
}
