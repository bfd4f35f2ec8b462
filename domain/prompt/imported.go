package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

// MaxImported is the maximum number of templates that one call imports.
const MaxImported = 500

// Imported is a template that is imported, with its versions, oldest first.
type Imported struct {
	Pointer  string // of the item of the body that errors are about, such as /files/3
	Source   string // what people call it in errors: the path of a file, or a name
	Draft    Draft
	Versions []VersionDraft
	Err      error // why it cannot be imported, whatever is stored; nil: nothing is known

	// Locate returns what is wrong with a member as people find it in their file; nil: no file.
	Locate func(pointer, detail string) string
}

// Importing is how an import deals with what is wrong.
type Importing struct {
	Skip   bool // import the others; otherwise nothing is imported
	Raw    bool // a text that is not valid in its format is imported with the format none
	DryRun bool // store nothing
}

// ImportReport is what an import did, or would do.
type ImportReport struct {
	Results []ImportResult // in the order of the import, without what was refused
	Refused []Refusal      // none unless Importing.Skip is set
}

// Refusal is a template that was not imported.
type Refusal struct {
	Imported
	Err error // each error in a field has its pointer in the body
}

// Check checks the contents of p, so that AddVersion does not have to: it runs in a transaction, and on SQLite no one
// else can write until that ends.
func (p *Imported) Check(isRaw bool) {
	errs := []error{p.Err}
	for i := range p.Versions {
		d := &p.Versions[i]
		d.Check(p.Draft.Type)
		if isRaw && isSyntax(d.checked.err) {
			d.Content.Format = Verbatim
			d.Check(p.Draft.Type)
		}
		errs = append(errs, p.Refer(d.Pointer, d.checked.err))
	}
	p.Err = fault.Join(errs...)
}

// isSyntax reports whether err is about a text that is not valid in its format.
func isSyntax(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && slices.ContainsFunc(f.Fields, func(e fault.Field) bool { return e.Code == ErrUnsupportedSyntax.Code })
}

// Refer returns err, about a member of p or of the version at pointer, with what people call it.
func (p *Imported) Refer(pointer string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	if len(f.Fields) == 0 {
		return f.Because(p.Source + ": " + f.Detail)
	}
	fields := make([]fault.Field, len(f.Fields))
	for i, e := range f.Fields {
		detail := e.Detail
		if p.Locate != nil {
			detail = p.Locate(e.Pointer, detail)
		}
		fields[i] = fault.Field{Pointer: cmp.Or(pointer, p.Pointer) + e.Pointer, Code: e.Code,
			Detail: fmt.Sprintf("%s: %s", p.Source, detail)}
	}
	return f.WithFields(fields...)
}

// JoinRefusals returns the error of an import that was refused for several reasons: all of them, or the only one as it
// is.
func JoinRefusals(refusals []Refusal) error {
	if len(refusals) == 1 {
		return refusals[0].Err
	}
	var fields []fault.Field
	for _, r := range refusals {
		fields = append(fields, r.Fields()...)
	}
	return fault.Join(fault.InvalidFields(fields))
}

// Fields returns what is wrong, each with its pointer in the body.
func (r *Refusal) Fields() []fault.Field {
	f, ok := errors.AsType[*fault.Error](r.Err)
	switch {
	case !ok:
		return nil
	case len(f.Fields) == 0:
		return []fault.Field{{Pointer: r.Pointer, Code: f.Code, Detail: f.Detail}}
	}
	return f.Fields
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
	d.checked = nil // it may be of another content
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
