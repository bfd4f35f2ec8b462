package prompt

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Entry is a template in a workspace's outline.
type Entry struct {
	ID   ID
	Name string
	Tags []string
}

// Folder is a folder and the number of templates in it and in its subfolders.
type Folder struct {
	Path      string
	Templates int
}

// Tag is a tag and the number of templates that have it.
type Tag struct {
	Name      string
	Templates int
}

// ErrNothingToMove is the error of a move whose folder has no template that the caller sees, nor has its target.
var ErrNothingToMove = fault.InField("/from", "not_allowed_value", "Must be a folder with templates that you can see.")

// Folders returns the folders directly below parent, sorted; below the root if parent is empty. entries are templates
// below parent. Folders that differ only in case are one, with the spelling of the first entry.
func Folders(entries []Entry, parent string) []Folder {
	depth := 0
	if parent != "" {
		depth = strings.Count(parent, "/") + 1
	}
	found := map[string]*Folder{}
	for _, e := range entries {
		parts := strings.Split(e.Name, "/")
		if len(parts) < depth+2 {
			continue
		}
		path := strings.Join(parts[:depth+1], "/")
		key := NameKey(path)
		if found[key] == nil {
			found[key] = &Folder{Path: path}
		}
		found[key].Templates++
	}
	folders := make([]Folder, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		folders = append(folders, *found[key])
	}
	return folders
}

// Tags returns the tags of entries, the most used first.
func Tags(entries []Entry) []Tag {
	counts := map[string]int{}
	for _, e := range entries {
		for _, tag := range e.Tags {
			counts[tag]++
		}
	}
	tags := make([]Tag, 0, len(counts))
	for tag, n := range counts {
		tags = append(tags, Tag{Name: tag, Templates: n})
	}
	slices.SortFunc(tags, func(a, b Tag) int {
		return cmp.Or(cmp.Compare(b.Templates, a.Templates), cmp.Compare(a.Name, b.Name))
	})
	return tags
}

// Moves returns the new names of entries, which are all in the folder from, in the folder to; the empty to is the root.
// Renamed one after another in the order returned, no entry needs a name that another one of them still has. Moves
// returns an error if from is empty, or if to is from or a folder in it.
func Moves(entries []Entry, from, to string) ([]Entry, error) {
	from, to = strings.TrimSuffix(naming.Normal(from), "/"), strings.TrimSuffix(naming.Normal(to), "/")
	var errs fault.Fields
	if from == "" {
		errs.Add("/from", "too_short", "Must not be empty.")
	}
	isRespelled := NameKey(to) == NameKey(from) && to != from // such as in another case
	if strings.HasPrefix(NameKey(to)+"/", NameKey(from)+"/") && !isRespelled {
		errs.Add("/to", "not_allowed_value", "Must not be the folder itself, nor a folder in it.")
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	depth, result := strings.Count(from, "/")+1, slices.Clone(entries)
	for i, e := range result {
		name := strings.Join(strings.Split(e.Name, "/")[depth:], "/")
		if to != "" {
			name = to + "/" + name
		}
		result[i].Name = name
	}
	slices.SortStableFunc(result, func(a, b Entry) int { return cmp.Compare(len(a.Name), len(b.Name)) })
	return result, nil
}
