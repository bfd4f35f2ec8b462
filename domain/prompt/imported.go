package prompt

import "slices"

// MaxImported is the maximum number of templates that one call imports.
const MaxImported = 500

// Imported is a template that is imported, with its versions, oldest first.
type Imported struct {
	Pointer  string // of the item of the body that errors are about, such as /files/3
	Draft    Draft
	Versions []VersionDraft
}

// Outcome is what an import did with a template.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"   // it has new versions
	Unchanged Outcome = "unchanged" // its latest version is the imported one
)

// ImportResult is what an import did with a template.
type ImportResult struct {
	Name    string
	ID      ID
	Number  int // of the latest version
	Outcome Outcome
}

// checkedContent is what AddVersion finds out about a draft's content.
type checkedContent struct {
	kind    Type // of the template
	content Content
	hash    string
	err     error
}

// Check checks the content of d for a template of type t, so that AddVersion does not have to: it runs in a
// transaction, and on SQLite no one else can write until that ends. AddVersion returns the error, if there is one.
func (d *VersionDraft) Check(t Type) {
	c := &checkedContent{kind: t}
	c.content, c.hash, c.err = d.content(t)
	d.checked = c
}

// content returns the content that a template version of type t has, and its hash.
func (d VersionDraft) content(t Type) (Content, string, error) {
	if d.checked != nil && d.checked.kind == t {
		return d.checked.content, d.checked.hash, d.checked.err
	}
	c, err := d.Content.checked(t, d.VariablesDeclared)
	if err != nil {
		return c, "", err
	}
	return c, c.Hash(), nil
}

// Hash returns the content hash that a template version of type t would have.
func (d VersionDraft) Hash(t Type) (string, error) {
	_, hash, err := d.content(t)
	return hash, err
}

// InOrder returns the indices of all so that what a template includes comes before it.
// Includes that are not among all do not matter, nor do cycles: they are refused when the versions are saved.
func InOrder(all []Imported) []int {
	byName := map[string]int{}
	for i, p := range all {
		byName[NameKey(p.Draft.Name)] = i
	}
	var order []int
	seen := make([]bool, len(all))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, v := range all[i].Versions {
			for _, tag := range v.Content.IncludeTags() {
				if k, ok := byName[NameKey(tag.Name)]; ok {
					visit(k)
				}
			}
		}
		order = append(order, i)
	}
	for i := range all {
		visit(i)
	}
	return slices.Clip(order)
}
