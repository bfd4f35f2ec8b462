package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// document is the contract as the clients see it.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas    map[string]*schema    `json:"schemas"`
		Parameters map[string]*parameter `json:"parameters"`
		Responses  map[string]*response  `json:"responses"`
	} `json:"components"`
	Problems map[string]struct {
		Title string `json:"title"`
	} `json:"x-problems"`

	calls     []*call
	resources []string        // dotted, sorted, with those that only have further resources
	requests  map[string]bool // the components that requests have
	events    []event         // sorted by type
}

type media struct {
	Schema   *schema  `json:"schema"`
	Events   *schema  `json:"x-event-data"`
	Line     *schema  `json:"x-line"`
	Examples examples `json:"examples"`
}

type parameter struct {
	Ref         string  `json:"$ref"`
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Style       string  `json:"style"`
	Required    bool    `json:"required"`
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
	Example     string  `json:"example"`
}

type response struct {
	Ref     string           `json:"$ref"`
	Content map[string]media `json:"content"`
}

type operation struct {
	ID          string               `json:"operationId"`
	SDK         string               `json:"x-sdk"`
	Repeatable  bool                 `json:"x-repeatable"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Parameters  []*parameter         `json:"parameters"`
	Codes       []string             `json:"x-codes"`
	Security    *[]any               `json:"security"`
	Body        *requestBody         `json:"requestBody"`
	Responses   map[string]*response `json:"responses"`
}

type requestBody struct {
	Required bool             `json:"required"`
	Content  map[string]media `json:"content"`
}

// call is an operation as a method of a client.
type call struct {
	id           string // activatePromptVersion
	name         string // promptTemplates.versions.activate
	resource     string // promptTemplates.versions
	method       string // activate
	verb, path   string // POST /api/prompt-templates/{prompt_template_id}/…
	text         string // the documentation, without the codes
	codes        []string
	public       bool // works without a credential
	parts        []*parameter
	query        []*parameter
	body         *schema
	bodyRequired bool
	example      *value  // of the body, nil if the contract has none
	merge        bool    // the body is a merge patch
	keyed        bool    // has an Idempotency-Key
	repeatable   bool    // can be repeated without an Idempotency-Key
	result       *schema // nil for 204
	optional     bool    // some responses have no result
	item         *schema // of a list with pages
	event        *schema // the data of a stream's events
	line         *schema // a line of a stream of JSON objects
	archive      bool    // the result is a zip archive
}

// names describes x-sdk, so that its parts are names in every language.
var names = regexp.MustCompile(`^[a-z][a-z0-9]*([A-Z][a-z0-9]*)*(\.[a-z][a-z0-9]*([A-Z][a-z0-9]*)*)+$`)

// taken are names that the clients use themselves.
var taken = []string{"prompts", "close", "request", "constructor"}

// load reads the contract and arranges its calls by resource. It refuses what the generators cannot express.
func load(text []byte) (*document, error) {
	d := &document{requests: map[string]bool{}}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	if err := d.readEvents(text); err != nil {
		return nil, err
	}
	for name, s := range d.Components.Schemas {
		if err := s.check("components.schemas."+name, d.Components.Schemas); err != nil {
			return nil, err
		}
	}
	seen := map[string]string{}
	for path, item := range d.Paths {
		var shared []*parameter
		if p, ok := item["parameters"]; ok {
			if err := json.Unmarshal(p, &shared); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		for verb, text := range item {
			if verb == "parameters" {
				continue
			}
			var o operation
			if err := json.Unmarshal(text, &o); err != nil {
				return nil, fmt.Errorf("%s %s: %w", strings.ToUpper(verb), path, err)
			}
			o.Parameters = slices.Concat(shared, o.Parameters)
			if err := d.add(&o, strings.ToUpper(verb), path, seen); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(d.calls, func(a, b *call) int {
		return cmp.Or(strings.Compare(a.resource, b.resource), strings.Compare(a.method, b.method))
	})
	return d, d.arrange()
}

// add adds the call of an operation, unless its x-sdk is none.
func (d *document) add(o *operation, verb, path string, seen map[string]string) error {
	wrong := func(reason string) error { return fmt.Errorf("%s (%s %s): %s", o.ID, verb, path, reason) }
	if o.SDK == "" {
		return wrong("x-sdk is missing. Give the operation the name of its method in the clients, such as " +
			"\"x-sdk: promptTemplates.versions.activate\": resources, then a verb, unique; or none, if programs " +
			"do not call it. Then run go generate ./adapters/rest/...")
	}
	if o.SDK == "none" {
		return nil
	}
	if !names.MatchString(o.SDK) {
		return wrong("x-sdk must be names in lower camel case with dots, such as promptTemplates.list")
	}
	for part := range strings.SplitSeq(o.SDK, ".") {
		if slices.Contains(pythonWords, part) || slices.Contains(taken, part) {
			return wrong("x-sdk: " + part + " is reserved in one of the languages or clients; choose another name")
		}
	}
	if other := seen[o.SDK]; other != "" {
		return wrong("x-sdk: " + other + " has this name already")
	}
	seen[o.SDK] = o.ID
	dot := strings.LastIndex(o.SDK, ".")
	c := &call{id: o.ID, name: o.SDK, resource: o.SDK[:dot], method: o.SDK[dot+1:], verb: verb, path: path,
		codes: o.Codes, repeatable: o.Repeatable, text: o.Summary + ".\n\n" + strings.TrimSpace(o.Description)}
	c.public = o.Security != nil && len(*o.Security) == 0
	for _, read := range []func(*operation, *call) error{d.parameters, d.body, d.results} {
		if err := read(o, c); err != nil {
			return wrong(err.Error())
		}
	}
	if c.repeatable && (verb != "POST" || c.keyed) {
		return wrong("x-repeatable is only for a POST without an Idempotency-Key")
	}
	line, archive := c.line, c.archive
	c.line, c.archive = nil, false
	d.calls = append(d.calls, c)
	if line == nil && !archive {
		return nil
	}
	// Each format has a method, which names it in Accept.
	c.query = slices.DeleteFunc(c.query, func(p *parameter) bool { return p.Name == "format" })
	variant := func(suffix, how string) *call {
		v := *c
		v.name, v.method, v.result, v.item = c.name+suffix, c.method+suffix, nil, nil
		v.text = strings.Replace(c.text, ".\n\n", how+".\n\n", 1)
		d.calls = append(d.calls, &v)
		return &v
	}
	if line != nil {
		variant("Stream", ", as a stream").line = line
	}
	if archive {
		variant("Zip", ", as a zip archive").archive = true
	}
	return nil
}

// parameters sorts an operation's parameters into path and query. Pages and headers are the client's own work.
func (d *document) parameters(o *operation, c *call) error {
	inPath := map[string]*parameter{}
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
		}
		if err := p.Schema.check("the parameter "+p.Name, d.Components.Schemas); err != nil {
			return err
		}
		switch p.In {
		case "path":
			inPath[p.Name] = p
		case "query":
			if p.Name != "cursor" {
				c.query = append(c.query, p)
			}
		case "header":
			switch p.Name {
			case "Idempotency-Key":
				c.keyed = true
			case "If-Match", "If-None-Match", "Workspace-Id", "Last-Event-ID":
			default:
				return fmt.Errorf("the clients do not know the header %s", p.Name)
			}
		default:
			return fmt.Errorf("the clients do not support parameters in %s", p.In)
		}
	}
	for _, found := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(c.path, -1) {
		if inPath[found[1]] == nil {
			return fmt.Errorf("the parameter %s of the path is not declared", found[1])
		}
		c.parts = append(c.parts, inPath[found[1]])
	}
	return nil
}

func (d *document) body(o *operation, c *call) error {
	if o.Body == nil {
		return nil
	}
	content, ok := o.Body.Content["application/json"]
	if !ok {
		return fmt.Errorf("the clients can only send JSON")
	}
	_, c.merge = o.Body.Content["application/merge-patch+json"]
	c.body, c.bodyRequired, c.example = content.Schema, o.Body.Required, content.Examples.first
	d.request(c.body)
	return c.body.check("the body", d.Components.Schemas)
}

// request marks the components that s consists of.
func (d *document) request(s *schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		if name := s.component(); !d.requests[name] {
			d.requests[name] = true
			d.request(d.Components.Schemas[name])
		}
		return
	}
	if s.Properties != nil {
		for _, p := range s.Properties.byName {
			d.request(p)
		}
	}
	for _, x := range slices.Concat(s.OneOf, s.AllOf, []*schema{s.Items, s.Additional.of}) {
		d.request(x)
	}
}

// results collects a call's results and error codes from the operation's responses.
func (d *document) results(o *operation, c *call) error {
	for _, status := range sortedKeys(o.Responses) {
		r := o.Responses[status]
		if r.Ref != "" {
			name := r.Ref[strings.LastIndex(r.Ref, "/")+1:]
			if r = d.Components.Responses[name]; r == nil {
				return fmt.Errorf("there is no response %s", name)
			}
		}
		if status == "412" && !slices.Contains(c.codes, "revision_mismatch") {
			c.codes = append(c.codes, "revision_mismatch")
		}
		if status == "422" && !slices.Contains(c.codes, "invalid_fields") {
			c.codes = append(c.codes, "invalid_fields")
		}
		if status[0] != '2' || len(r.Content) == 0 {
			c.optional = c.optional || status == "204"
			continue
		}
		if m, ok := r.Content["application/json"]; ok {
			c.result, c.line = either(c.result, m.Schema), r.Content["application/x-ndjson"].Line
			_, c.archive = r.Content["application/zip"]
		} else if m, ok := r.Content["text/event-stream"]; ok && m.Events != nil {
			c.event = m.Events
		} else {
			return fmt.Errorf("the clients can only read JSON, and events with x-event-data; use x-sdk: none otherwise")
		}
	}
	slices.Sort(c.codes)
	c.codes = slices.Compact(c.codes)
	for _, s := range []*schema{c.result, c.event, c.line} {
		if s == nil {
			continue
		}
		if err := s.check("the response", d.Components.Schemas); err != nil {
			return err
		}
	}
	if c.event != nil && c.event.Ref == "" {
		return fmt.Errorf("x-event-data must be a component")
	}
	if c.result != nil && c.result.Ref != "" {
		list := d.Components.Schemas[c.result.component()]
		if list.Properties != nil && list.Properties.byName["next_cursor"] != nil {
			c.item = list.Properties.byName["data"].Items
		}
	}
	return nil
}

// either returns the schema of a call that has one result or another, depending on the status.
func either(a, b *schema) *schema {
	switch {
	case a == nil:
		return b
	case a.Ref != "" && a.Ref == b.Ref:
		return a
	case a.Ref != "":
		return &schema{OneOf: []*schema{a, b}}
	}
	return &schema{OneOf: append(slices.Clone(a.OneOf), b)}
}

// arrange lists the resources, and refuses a name that is both a resource and a method.
func (d *document) arrange() error {
	all := map[string]bool{}
	for _, c := range d.calls {
		for r := c.resource; ; r = r[:strings.LastIndex(r, ".")] {
			all[r] = true
			if !strings.Contains(r, ".") {
				break
			}
		}
	}
	d.resources = sortedKeys(all)
	for _, c := range d.calls {
		if all[c.name] {
			return fmt.Errorf("x-sdk: %s is both a method and a resource", c.name)
		}
	}
	return nil
}

// top returns the resources of the client itself.
func (d *document) top() []string {
	return slices.DeleteFunc(slices.Clone(d.resources), func(r string) bool { return strings.Contains(r, ".") })
}

// within returns the resources directly below r.
func (d *document) within(r string) (inner []string) {
	for _, x := range d.resources {
		if rest, ok := strings.CutPrefix(x, r+"."); ok && !strings.Contains(rest, ".") {
			inner = append(inner, x)
		}
	}
	return inner
}

// of returns the calls of resource r.
func (d *document) of(r string) (calls []*call) {
	for _, c := range d.calls {
		if c.resource == r {
			calls = append(calls, c)
		}
	}
	return calls
}
