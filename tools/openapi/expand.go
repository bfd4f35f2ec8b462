package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// shared maps a status to its response, for operations without a code that has another one.
var shared = map[string]string{
	"304": "NotModified", "400": "BadRequest", "401": "Unauthorized", "402": "PaymentRequired", "403": "Forbidden",
	"404": "NotFound", "406": "NotAcceptable", "409": "Conflict", "412": "PreconditionFailed", "413": "PayloadTooLarge",
	"415": "UnsupportedMediaType", "421": "MisdirectedRequest", "422": "UnprocessableContent", "429": "TooManyRequests",
	"500": "InternalServerError", "502": "BadGateway", "503": "ServiceUnavailable", "504": "GatewayTimeout",
}

// contract is the document while it is expanded.
type contract struct {
	components *yaml.Node
	status     map[string]string // of a problem's code
	response   map[string]string // the shared response that declares a code
	inPath     map[string]string // the shared parameter of a variable in paths, if there is only one
	codeLists  *yaml.Node        // lists of codes by name; nil if there are none
}

// expand replaces the short forms of a joined document.
func expand(document *yaml.Node) error {
	c := &contract{components: member(document, "components"), status: map[string]string{},
		response: map[string]string{}, inPath: map[string]string{}, codeLists: member(document, "x-code-lists")}
	remove(document, "x-code-lists")
	problems := member(document, "x-problems")
	if c.components == nil || problems == nil || member(document, "paths") == nil {
		return fmt.Errorf("the contract needs paths, components and x-problems")
	}
	for i := 0; i < len(problems.Content); i += 2 {
		c.status[problems.Content[i].Value] = member(problems.Content[i+1], "status").Value
	}
	responses := member(c.components, "responses")
	for i := 0; i < len(responses.Content); i += 2 {
		for _, code := range values(member(responses.Content[i+1], "x-codes")) {
			c.response[code] = responses.Content[i].Value
		}
	}
	if parameters := member(c.components, "parameters"); parameters != nil {
		for i := 0; i < len(parameters.Content); i += 2 {
			if p := parameters.Content[i+1]; member(p, "in") != nil && member(p, "in").Value == "path" {
				name := member(p, "name").Value
				if _, several := c.inPath[name]; several {
					c.inPath[name] = ""
				} else {
					c.inPath[name] = parameters.Content[i].Value
				}
			}
		}
	}
	if err := c.extend(); err != nil {
		return err
	}
	paths := member(document, "paths")
	for i := 0; i < len(paths.Content); i += 2 {
		path, item := paths.Content[i].Value, paths.Content[i+1]
		c.pathParameters(path, item)
		expandParameters(item)
		for j := 0; j < len(item.Content); j += 2 {
			if item.Content[j].Value == "parameters" {
				continue
			}
			op := &operation{contract: c, node: item.Content[j+1]}
			op.clientMethod(path)
			op.conventions(path, item.Content[j].Value)
			op.queryParameters()
			expandParameters(op.node)
			op.parameters = slices.Concat(parameters(item), parameters(op.node))
			if err := op.expand(); err != nil {
				return fmt.Errorf("%s %s: %w", item.Content[j].Value, path, err)
			}
		}
	}
	return nil
}

// expandParameters replaces names in the list of parameters by references to the shared parameters.
func expandParameters(of *yaml.Node) {
	list := member(of, "parameters")
	if list == nil {
		return
	}
	list.Style = 0
	for i, p := range list.Content {
		if p.Kind == yaml.ScalarNode {
			list.Content[i] = reference("parameters", p.Value)
		}
	}
}

// parameters returns the names of the shared parameters that a path or an operation takes.
func parameters(of *yaml.Node) (names []string) {
	list := member(of, "parameters")
	if list == nil {
		return nil
	}
	for _, p := range list.Content {
		if ref := member(p, "$ref"); ref != nil {
			names = append(names, ref.Value[strings.LastIndexByte(ref.Value, '/')+1:])
		}
	}
	return names
}

// operation is one method of a path.
type operation struct {
	*contract
	node       *yaml.Node
	parameters []string
}

func (o *operation) takes(parameter string) bool { return slices.Contains(o.parameters, parameter) }

// withoutCredential reports whether callers of the operation have no credential, or only an embed token.
func (o *operation) withoutCredential() bool {
	area := member(member(o.node, "x-access"), "area")
	return area != nil && (area.Value == "public" || area.Value == "embed")
}

// expand completes the responses of an operation, and adds those that follow from the rest of it. Operations without
// a credential have few errors, which they list themselves.
func (o *operation) expand() error {
	o.requestBody()
	responses := member(o.node, "responses")
	switch {
	case member(o.node, "x-access") == nil:
		return fmt.Errorf("x-access is missing")
	case responses == nil:
		return fmt.Errorf("responses is missing")
	}
	description(o.node)
	access(o.node)
	o.codes()
	if err := o.responses(responses); err != nil {
		return err
	}
	for i := 0; i < len(responses.Content); i += 2 {
		if err := o.success(responses.Content[i+1]); err != nil {
			return fmt.Errorf("response %s: %w", responses.Content[i].Value, err)
		}
	}
	if o.withoutCredential() {
		return nil
	}
	if member(o.node, "x-scope") == nil {
		return fmt.Errorf("x-access has no scope")
	}
	failures, err := o.failures()
	if err != nil {
		return err
	}
	for _, status := range sortedKeys(failures) {
		if member(responses, status) == nil {
			addResponse(responses, status, failures[status])
		}
	}
	return nil
}

// requestBody completes a body that is written in the short form {schema, examples}: JSON of a schema, which is
// required. With patch instead of schema, it is a merge patch (RFC 7396), also under the name application/json.
func (o *operation) requestBody() {
	body := member(o.node, "requestBody")
	schema, patch := member(body, "schema"), member(body, "patch")
	if schema == nil && patch == nil {
		return
	}
	examples := member(body, "examples")
	for _, short := range []string{"schema", "patch", "examples"} {
		remove(body, short)
	}
	body.Style = 0
	if member(body, "required") == nil {
		required := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		body.Content = append([]*yaml.Node{text("required"), required}, body.Content...)
	}
	if patch == nil {
		set(body, "content", jsonContent(schema, examples))
		return
	}
	content := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, media := range []string{"application/merge-patch+json", "application/json"} {
		set(content, media, member(jsonContent(patch, examples), "application/json"))
	}
	set(body, "content", content)
}

// jsonContent is JSON of a schema: a component's name or the schema itself.
func jsonContent(schema, examples *yaml.Node) *yaml.Node {
	if schema.Kind == yaml.ScalarNode {
		schema = reference("schemas", schema.Value)
	}
	media := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	set(media, "schema", schema)
	if examples != nil {
		examples.Style = 0
		set(media, "examples", examples)
	}
	content := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	set(content, "application/json", media)
	return content
}

// success completes a response that is written in the short form {description, schema, headers: [names]}.
func (o *operation) success(response *yaml.Node) error {
	if list := member(response, "headers"); member(response, "$ref") != nil ||
		(list != nil && list.Kind == yaml.MappingNode) {
		return nil
	}
	response.Style = 0
	headers := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	names := []string{"Request-Id"}
	names = append(names, values(member(response, "headers"))...)
	if o.takes("IdempotencyKey") {
		names = append(names, "Idempotency-Replayed")
	}
	if o.takes("WorkspaceId") {
		names = append(names, "Workspace-Id")
	}
	if !o.withoutCredential() {
		names = append(names, "RateLimit", "RateLimit-Policy")
	}
	omitted := values(member(response, "omit"))
	for _, name := range names {
		if slices.Contains(omitted, name) {
			continue
		}
		component := strings.ReplaceAll(name, "-", "")
		if member(member(o.components, "headers"), component) == nil {
			return fmt.Errorf("there is no header %s", component)
		}
		set(headers, name, reference("headers", component))
	}
	schema, examples, content := member(response, "schema"), member(response, "examples"), member(response, "content")
	for _, short := range []string{"headers", "omit", "schema", "examples", "content"} {
		remove(response, short)
	}
	if description := member(response, "description"); description != nil {
		unquoted(description)
	}
	set(response, "headers", headers)
	if schema != nil {
		others := content
		content = o.content(schema, examples)
		if others != nil {
			content.Content = append(content.Content, others.Content...)
		}
	}
	if content != nil {
		set(response, "content", content)
	}
	return nil
}

// content is JSON of a schema. Its example is the one with the name of the schema's component, if there is one.
func (o *operation) content(schema, examples *yaml.Node) *yaml.Node {
	name := schema.Value
	examples = exampleReferences(examples)
	if examples == nil && name != "" && member(member(o.components, "examples"), name) != nil {
		examples = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		set(examples, name, reference("examples", name))
	}
	return jsonContent(schema, examples)
}

// failures returns the shared response of each status that the operation can answer: by what it takes, and by the
// codes that it lists. Codes that a shared response lists already are taken out of x-codes.
func (o *operation) failures() (map[string]string, error) {
	out := map[string]string{}
	statuses := []string{"400", "401", "406", "421", "429", "500", "503", "504"}
	if body := member(o.node, "requestBody"); body != nil {
		statuses = append(statuses, "413", "415")
		if content := member(body, "content"); content == nil || len(content.Content) > 2 ||
			member(content, "application/octet-stream") == nil {
			statuses = append(statuses, "422") // bytes alone have no fields
		}
	}
	for parameter, status := range map[string]string{
		"IfMatch": "412", "IfNoneMatch": "304", "IdempotencyKey": "409", "WorkspaceId": "404",
	} {
		if o.takes(parameter) {
			statuses = append(statuses, status)
		}
	}
	for _, status := range statuses {
		out[status] = shared[status]
	}
	list := member(o.node, "x-codes")
	if scope := member(o.node, "x-scope"); scope.Value != "any" {
		list.Content = append(list.Content, text("scope_required"))
	}
	var own []*yaml.Node
	for _, code := range list.Content {
		status, known := o.status[code.Value]
		if !known {
			return nil, fmt.Errorf("x-codes has %s, which x-problems does not", code.Value)
		}
		if response, declared := o.response[code.Value]; declared {
			out[status] = response
			continue
		}
		if out[status] == "" {
			out[status] = shared[status]
		}
		own = append(own, code)
	}
	list.Content = own
	return out, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
