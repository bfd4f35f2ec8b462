package main

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// addTags gives the operations of a part their tag from its x-tags: the only one, or the one that lists the last of the
// names in the path that any of them lists.
func addTags(root *yaml.Node) error {
	tags := member(root, "x-tags")
	if tags == nil {
		return nil
	}
	remove(root, "x-tags")
	byName := map[string]string{}
	if tags.Kind == yaml.MappingNode {
		for i := 0; i < len(tags.Content); i += 2 {
			for _, name := range values(tags.Content[i+1]) {
				byName[name] = tags.Content[i].Value
			}
		}
	}
	for path, op := range operations(root) {
		list := tags
		if tags.Kind == yaml.MappingNode {
			tag := ""
			for _, name := range pathNames(path) {
				tag = cmp.Or(byName[name], tag)
			}
			if tag == "" {
				return fmt.Errorf("x-tags lists no name in %s", path)
			}
			list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
			list.Content = []*yaml.Node{text(tag)}
		}
		insertBefore(op, "summary", "tags", list)
	}
	return nil
}

// operations yields the operations of a part with their paths, in their order.
func operations(root *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		paths := member(root, "paths")
		for i := 1; paths != nil && i < len(paths.Content); i += 2 {
			item := paths.Content[i]
			for j := 0; j < len(item.Content); j += 2 {
				if item.Content[j].Value != "parameters" && !yield(paths.Content[i-1].Value, item.Content[j+1]) {
					return
				}
			}
		}
	}
}

// pathNames returns the segments of a path that are not variables, without api.
func pathNames(path string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimPrefix(path, "/"), "/"), func(segment string) bool {
		return segment == "api" || strings.HasPrefix(segment, "{")
	})
}

var (
	dashed    = regexp.MustCompile(`-[a-z]`)
	firstVerb = regexp.MustCompile(`^[a-z]+`)
)

// clientMethod names the method of an operation in the clients, unless it has a name: the names in the path, and the
// verb that begins its operationId. A verb that ends the path is not repeated.
func (o *operation) clientMethod(path string) {
	id := member(o.node, "operationId")
	if id == nil || member(o.node, "x-sdk") != nil {
		return
	}
	names := pathNames(path)
	for i, name := range names {
		names[i] = dashed.ReplaceAllStringFunc(name, func(s string) string { return strings.ToUpper(s[1:]) })
	}
	if verb := firstVerb.FindString(id.Value); names[len(names)-1] != verb {
		names = append(names, verb)
	}
	at := slices.Index(o.node.Content, id) + 1
	o.node.Content = slices.Insert(o.node.Content, at, text("x-sdk"), text(strings.Join(names, ".")))
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

// pathParameters gives a path the shared parameters of its variables, before those that it lists itself.
func (c *contract) pathParameters(path string, item *yaml.Node) {
	list := member(item, "parameters")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	var found []*yaml.Node
	for _, match := range variable.FindAllStringSubmatch(path, -1) {
		name := c.inPath[match[1]]
		listed := slices.ContainsFunc(list.Content, func(p *yaml.Node) bool {
			own, ref := member(p, "name"), member(p, "$ref")
			return p.Value == name || (own != nil && own.Value == match[1]) ||
				(ref != nil && ref.Value == "#/components/parameters/"+name)
		})
		if name != "" && !listed {
			found = append(found, text(name))
		}
	}
	list.Content = append(found, list.Content...)
	if len(list.Content) > 0 && member(item, "parameters") == nil {
		item.Content = append([]*yaml.Node{text("parameters"), list}, item.Content...)
	}
}

// conventions gives an operation the headers that each of its kind takes: the workspace, a condition on the revision
// for a response with one and for a patch.
func (o *operation) conventions(path, method string) {
	var names []string
	list := o.parameterList()
	listed := slices.ContainsFunc(list.Content, func(p *yaml.Node) bool { return p.Value == "WorkspaceId" })
	area := member(member(o.node, "x-access"), "area")
	if listed || (area != nil && !strings.HasPrefix(path, "/api/workspaces") &&
		slices.Contains([]string{"workspace", "prompt_template", "chat_template"}, area.Value)) {
		names = append(names, "WorkspaceId")
	}
	switch {
	case method == "patch":
		names = append(names, "IfMatch")
	case method == "get" && o.returnsRevision():
		names = append(names, "IfNoneMatch")
	}
	list.Content = slices.DeleteFunc(list.Content, func(p *yaml.Node) bool { return slices.Contains(names, p.Value) })
	for i, name := range names {
		list.Content = slices.Insert(list.Content, i, text(name))
	}
	if len(list.Content) == 0 {
		remove(o.node, "parameters")
	}
}

// returnsRevision reports whether a success has the header ETag.
func (o *operation) returnsRevision() bool {
	responses := member(o.node, "responses")
	if responses == nil {
		return false
	}
	return slices.ContainsFunc(responses.Content, func(r *yaml.Node) bool {
		headers := member(r, "headers")
		return member(headers, "ETag") != nil ||
			(headers != nil && headers.Kind == yaml.SequenceNode && slices.Contains(values(headers), "ETag"))
	})
}

// parameterList returns the list of an operation's own parameters, which it makes if there is none.
func (o *operation) parameterList() *yaml.Node {
	list := member(o.node, "parameters")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		insertBefore(o.node, following(o.node, "requestBody", "security", "x-outbound", "x-access"), "parameters", list)
	}
	return list
}

// queryParameters appends the parameters that an operation lists in the short form query: {name: {description, and
// what its schema has}}.
func (o *operation) queryParameters() {
	query := member(o.node, "query")
	if query == nil {
		return
	}
	remove(o.node, "query")
	list := o.parameterList()
	for i := 0; i < len(query.Content); i += 2 {
		parameter := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		set(parameter, "name", query.Content[i])
		set(parameter, "in", text("query"))
		schema := query.Content[i+1]
		schema.Style = yaml.FlowStyle
		for _, own := range []string{"required", "style", "description", "example", "x-code"} {
			if value := member(schema, own); value != nil {
				remove(schema, own)
				set(parameter, own, unquoted(value))
			}
		}
		set(parameter, "schema", schema)
		list.Content = append(list.Content, parameter)
	}
}

// following returns the first of some members that an operation has.
func following(op *yaml.Node, names ...string) string {
	for _, name := range names {
		if member(op, name) != nil {
			return name
		}
	}
	return ""
}

// unquoted lets the encoder decide whether a text needs quotes: inside of braces it needs them more often.
func unquoted(n *yaml.Node) *yaml.Node {
	if n.Style == yaml.SingleQuotedStyle {
		n.Style = 0
	}
	return n
}

// description ends without a line break, however it is written.
func description(op *yaml.Node) {
	if text := member(op, "description"); text != nil {
		text.Value = strings.TrimSuffix(text.Value, "\n")
	}
}

// optionalSecurity returns the security schemes of the document, and none, which stands for a call without a credential
// (https://spec.openapis.org/oas/v3.1.1.html#operation-object).
func optionalSecurity() *yaml.Node {
	var list yaml.Node
	if err := yaml.Unmarshal([]byte("[{}, {bearer: []}, {session: [], console: []}]"), &list); err != nil {
		panic(err)
	}
	return list.Content[0]
}

// access moves the scope of an operation out of x-access, where it is written, into x-scope. A public operation needs
// no security scheme.
func access(op *yaml.Node) {
	access := member(op, "x-access")
	if area := member(access, "area"); area != nil && area.Value == "public" {
		none := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		insertBefore(op, "x-access", "security", none)
	} else if area != nil && area.Value == "anyone" {
		insertBefore(op, "x-access", "security", optionalSecurity())
	}
	value := member(access, "scope")
	if value == nil {
		return
	}
	remove(access, "scope")
	for i := 0; i < len(op.Content); i += 2 {
		if op.Content[i].Value == "x-access" {
			op.Content = slices.Insert(op.Content, i+2, text("x-scope"), value)
			return
		}
	}
}

// responses replaces the short forms of a list of responses: a status with the name of a shared response, and the
// statuses in errors, whose shared responses it has.
func (o *operation) responses(list *yaml.Node) error {
	list.Style = 0
	errors := member(list, "errors")
	remove(list, "errors")
	for i := 1; i < len(list.Content); i += 2 {
		list.Content[i-1].Style = yaml.SingleQuotedStyle
		if list.Content[i].Kind == yaml.ScalarNode {
			list.Content[i] = reference("responses", list.Content[i].Value)
		}
	}
	for _, status := range values(errors) {
		if shared[status] == "" {
			return fmt.Errorf("no shared response has the status %s", status)
		}
		addResponse(list, status, shared[status])
	}
	return nil
}

func addResponse(list *yaml.Node, status, name string) {
	key := text(status)
	key.Style = yaml.SingleQuotedStyle
	list.Content = append(list.Content, key, reference("responses", name))
}

// codes replaces the names of lists of codes by what they list, and adds the list that an operation omits.
func (o *operation) codes() {
	list := member(o.node, "x-codes")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		insertBefore(o.node, "responses", "x-codes", list)
	}
	var all []*yaml.Node
	for _, code := range list.Content {
		if listed := member(o.codeLists, code.Value); listed != nil {
			all = append(all, listed.Content...)
		} else {
			all = append(all, code)
		}
	}
	list.Content = all
}

// exampleReferences replaces names in a list of examples by references to the shared examples.
func exampleReferences(examples *yaml.Node) *yaml.Node {
	if examples == nil || examples.Kind != yaml.SequenceNode {
		return examples
	}
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, name := range values(examples) {
		set(out, name, reference("examples", name))
	}
	return out
}

// insertBefore gives a mapping a new key before another one, or at the end.
func insertBefore(of *yaml.Node, before, key string, value *yaml.Node) {
	at := len(of.Content)
	for i := 0; i < len(of.Content); i += 2 {
		if of.Content[i].Value == before {
			at = i
			break
		}
	}
	of.Content = slices.Insert(of.Content, at, text(key), value)
}

// extend gives each schema with x-extends the properties of the schema that this names, after its own.
func (c *contract) extend() error {
	schemas := member(c.components, "schemas")
	if schemas == nil {
		return nil
	}
	for i := 1; i < len(schemas.Content); i += 2 {
		name := member(schemas.Content[i], "x-extends")
		if name == nil {
			continue
		}
		base := member(member(schemas, name.Value), "properties")
		if base == nil {
			return fmt.Errorf("%s extends %s, which has no properties", schemas.Content[i-1].Value, name.Value)
		}
		remove(schemas.Content[i], "x-extends")
		properties := member(schemas.Content[i], "properties")
		properties.Content = slices.Concat(properties.Content, base.Content)
	}
	return nil
}
