package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/mustache"
)

// Limits of includes.
const (
	MaxIncludeDepth = 5  // levels of includes below a version
	MaxIncluded     = 50 // versions that a version includes, directly and through others
)

// IncludeMode determines which versions a released version includes.
type IncludeMode string

// The modes.
const (
	// Pinned versions include what their includes named when the version was released.
	Pinned IncludeMode = "pinned"
	// Floating versions include what their includes name now.
	Floating IncludeMode = "floating"
)

// Include names a version of another prompt whose text replaces it: {{> folder/name@label}}.
type Include struct {
	Name     string `json:"name"`     // of the template, as it was written
	Ref      string `json:"ref"`      // active, a label, a version's id, or a number such as v3
	Template ID     `json:"template"` // that had the name when the including version was saved
}

// IncludeTag is where a content has an include for the first time.
type IncludeTag struct {
	Include        // without its Template
	Pointer string // of the text, in a body
	Line    int    // from 1
}

// Refuse returns err at the text that has the tag.
func (t IncludeTag) Refuse(err *fault.Error) error {
	return err.WithFields(fault.Field{Pointer: t.Pointer, Code: err.Code,
		Detail: fmt.Sprintf("Line %d, %s@%s: %s", t.Line, t.Name, t.Ref, err.Detail)})
}

// IncludeTags returns the includes of c, each once, in the order of their first use; nil for a text that is not valid.
func (c Content) IncludeTags() []IncludeTag {
	if !c.mayInclude() {
		return nil
	}
	parts, err := c.parse()
	if err != nil {
		return nil
	}
	var tags []IncludeTag
	seen := map[Include]bool{} // not a search of tags: a text has room for 30,000 includes
	for _, p := range parts {
		for n := range inclusions(p.body.Nodes) {
			if i := includeOf(n); !seen[i] {
				seen[i] = true
				tags = append(tags, IncludeTag{i, p.pointer, n.Line})
			}
		}
	}
	return tags
}

// mayInclude is false for a content that need not be parsed to know that it has no include.
func (c Content) mayInclude() bool {
	return c.Format != Verbatim &&
		slices.ContainsFunc(c.slots(), func(s slot) bool { return strings.Contains(*s.text, ">") })
}

// Included is a version that another one includes directly.
type Included struct {
	Include
	Version VersionID `json:"version"`
	Number  int       `json:"number"`
	Lost    bool      `json:"-"` // it stays at Version: the owner of the including prompt may not read the one it names
}

// Expansion is a content in which each include is replaced by its text, with the variables of all texts.
type Expansion struct {
	Content  Content
	Hash     string     // of Content
	Declared []Variable // the variables of Content that were declared; the others are inferred from its text
	Includes []Included // of the content itself
	Closure  []ID       // the templates of all texts in it
	Depth    int        // levels of includes
}

// Source is what replaces an include.
type Source struct {
	Included
	Text Expansion
}

// Expand replaces the includes of c, a content of the template of. It returns ErrIncludeCycle if of is in an include's
// text, ErrIncludeTooDeep beyond MaxIncludeDepth, and ErrIncludeTooLarge if the texts or the variables together exceed
// a version's limits. A tag without a source is ErrIncludeNotFound.
func (c Content) Expand(template ID, sources []Source) (Expansion, error) {
	e := Expansion{Content: c, Closure: []ID{template}}
	parts, err := c.parse()
	if err != nil {
		return e, err
	}
	if !c.inferredFrom(parts) {
		e.Declared = slices.Clone(c.Variables)
	}
	tags := c.IncludeTags()
	if len(tags) == 0 {
		e.Hash = c.Hash()
		return e, nil
	}
	tagOf := func(i Include) IncludeTag {
		k := slices.IndexFunc(tags, func(t IncludeTag) bool { return t.Name == i.Name && t.Ref == i.Ref })
		return tags[max(k, 0)]
	}
	for _, s := range sources {
		switch {
		case slices.Contains(s.Text.Closure, template):
			return e, tagOf(s.Include).Refuse(ErrIncludeCycle)
		case s.Text.Depth >= MaxIncludeDepth:
			return e, tagOf(s.Include).Refuse(ErrIncludeTooDeep)
		}
		e.Depth = max(e.Depth, s.Text.Depth+1)
		e.Includes = append(e.Includes, s.Included)
		for _, id := range s.Text.Closure {
			if !slices.Contains(e.Closure, id) {
				e.Closure = append(e.Closure, id)
			}
		}
	}
	if len(e.Closure) > MaxIncluded+1 {
		return e, tags[0].Refuse(ErrIncludeTooLarge)
	}
	if err := e.fill(parts, sources); err != nil {
		return e, err
	}
	e.declare(parts, sources)
	if len(e.Content.Variables) > MaxVariables || e.Content.Size() > MaxContentBytes {
		return e, tags[0].Refuse(ErrIncludeTooLarge)
	}
	e.Hash = e.Content.Hash()
	return e, nil
}

// fill replaces the includes in the texts.
func (e *Expansion) fill(parts []part, sources []Source) error {
	texts, room := make([]string, len(parts)), MaxTextBytes
	for i, p := range parts {
		var out strings.Builder
		offset := 0
		for n := range inclusions(p.body.Nodes) {
			k := slices.IndexFunc(sources, func(s Source) bool { return includeOf(n).names(s.Include) })
			if k < 0 {
				return IncludeTag{includeOf(n), p.pointer, n.Line}.Refuse(ErrIncludeNotFound)
			}
			out.WriteString(p.body.Text[offset:n.Start])
			out.WriteString(splice(n.Partial, sources[k].Text.Content, room))
			if offset = n.End; out.Len() > room {
				return IncludeTag{includeOf(n), p.pointer, n.Line}.Refuse(ErrIncludeTooLarge)
			}
		}
		out.WriteString(p.body.Text[offset:])
		if texts[i] = out.String(); len(texts[i]) > room {
			return ErrIncludeTooLarge.WithFields(fault.Field{Pointer: p.pointer, Code: ErrIncludeTooLarge.Code,
				Detail: ErrIncludeTooLarge.Detail})
		}
		room -= len(texts[i])
	}
	e.Content = e.Content.withTexts(texts)
	return nil
}

// declare sets the variables: those that c declares, then those that the included texts declare, then those that the
// whole text uses besides. A declared variable of a text that is only in sections is optional, since an item of the
// section can have it.
func (e *Expansion) declare(parts []part, sources []Source) {
	for _, s := range sources {
		isOutside := false
		for _, p := range parts {
			isOutside = isOutside || slices.ContainsFunc(p.body.Nodes, func(n mustache.Node) bool {
				return n.Kind == mustache.Partial && includeOf(n).names(s.Include)
			})
		}
		for _, v := range s.Text.Declared {
			if !slices.ContainsFunc(e.Declared, func(w Variable) bool { return w.Name == v.Name }) {
				v.Required = v.Required && isOutside
				e.Declared = append(e.Declared, v)
			}
		}
	}
	e.Content.Variables = slices.Clone(e.Declared)
	content, err := e.Content.parse()
	if err != nil {
		return // the texts were valid, and so is what they make (TestExpand)
	}
	for _, v := range e.Content.infer(content) {
		if !slices.ContainsFunc(e.Declared, func(w Variable) bool { return mustache.Root(w.Name) == v.Name }) {
			e.Content.Variables = append(e.Content.Variables, v)
		}
	}
}

func (i Include) names(other Include) bool { return i.Name == other.Name && i.Ref == other.Ref }

// includeOf returns the include that a partial names, without its Template.
func includeOf(n mustache.Node) Include { return parseInclude(n.Partial.Body) }

func parseInclude(body string) Include {
	name, ref := body, "active"
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		name, ref = strings.TrimSpace(name[:i]), strings.TrimSpace(name[i+1:])
	}
	return Include{Name: name, Ref: ref}
}

// checkInclude returns what is wrong with what follows the > in a tag.
func checkInclude(body string) string {
	i := parseInclude(body)
	if i.Name == "" || !validName(i.Name) || utf8.RuneCountInString(i.Name) > 255 ||
		strings.ContainsAny(i.Name, "\r\n") {
		return "an include must name a prompt template, as in {{> folder/name}} or {{> folder/name@label}}."
	}
	if r := ParseRef(i.Ref); r == (Ref{}) || r.Latest || r.Previous {
		return "the version of an include must be active, a label, a number such as v3, or an id."
	}
	return ""
}

// inclusions yields the includes of nodes, also those in sections, in their order in the text.
func inclusions(nodes []mustache.Node) func(func(mustache.Node) bool) {
	var walk func(nodes []mustache.Node, yield func(mustache.Node) bool) bool
	walk = func(nodes []mustache.Node, yield func(mustache.Node) bool) bool {
		for _, n := range nodes {
			if (n.Kind == mustache.Partial && !yield(n)) || !walk(n.Nodes, yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(mustache.Node) bool) { walk(nodes, yield) }
}
