package prompt_test

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func entries(names ...string) (out []prompt.Entry) {
	for _, name := range names {
		out = append(out, prompt.Entry{ID: prompt.ID(name), Name: name, Tags: []string{"all", name[:1]}})
	}
	return out
}

func TestFolders(t *testing.T) {
	for name, tt := range map[string]struct {
		entries []prompt.Entry
		parent  string
		want    string
	}{
		"folders at the top, with what is below them": {entries("a/x", "a/b/c", "b/x", "root"), "", "[{a 2} {b 1}]"},
		"folders in a folder": {entries("a/x", "a/b/c", "a/b/d", "a/e/f/g"), "a",
			"[{a/b 2} {a/e 1}]"},
		"folders that differ in case are one": {entries("A/x", "a/y"), "", "[{A 2}]"},
		"no folders":                          {entries("x"), "", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "Folders", fmt.Sprint(prompt.Folders(tt.entries, tt.parent)), tt.want)
		})
	}
}

func TestTags(t *testing.T) {
	assert.Equal(t, "Tags", fmt.Sprint(prompt.Tags(entries("b", "a", "a2"))), "[{all 3} {a 2} {b 1}]")
}

func TestMoves(t *testing.T) {
	for name, tt := range map[string]struct {
		entries  []prompt.Entry
		from, to string
		want     string
	}{
		"into another folder":          {entries("a/x", "a/b/y"), "a", "c/d", "[c/d/x c/d/b/y]"},
		"to the top":                   {entries("a/b/x"), "a/b", "", "[x]"},
		"with a slash at the end":      {entries("a/x"), "a/", "b/", "[b/x]"},
		"with another case":            {entries("A/x"), "a", "b", "[b/x]"},
		"to the folder above":          {entries("a/b/x", "a/b/b/x"), "a/b", "a", "[a/x a/b/x]"},
		"beside a name that it begins": {entries("a/x"), "a", "ab", "[ab/x]"},
		"not into itself":              {entries("a/x"), "a", "a/b", "/to not_allowed_value"},
		"to another case of its name":  {entries("a/x", "A/y"), "a", "A", "[A/x A/y]"},
		"not to where it is":           {entries("a/x"), "a", "a/", "/to not_allowed_value"},
		"not without a folder":         {nil, "", "b", "/from too_short"},
	} {
		t.Run(name, func(t *testing.T) {
			moves, err := prompt.Moves(tt.entries, tt.from, tt.to)
			if problems := wrongFields(t, err); err != nil {
				if problems[0] != tt.want {
					t.Errorf("wrong fields = %q, want %q", problems, tt.want)
				}
				return
			}
			var got []string
			for _, e := range moves {
				got = append(got, e.Name)
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("Moves = %s, want %s", got, tt.want)
			}
		})
	}
}
