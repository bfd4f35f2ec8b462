package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
)

// generator makes what schemas of openapi.yaml take. What it makes follows from its source of chance and
// from what it has learnt of answers.
type generator struct {
	rnd   *rand.Rand
	doc   object              // openapi.yaml
	known map[string][]string // what may stand for a member or a parameter, by its name
}

// mostKnown is how many values are kept of a name, the oldest of which make room.
const mostKnown = 40

func (g *generator) learn(name, value string) {
	list := g.known[name]
	if slices.Contains(list, value) {
		return
	}
	if len(list) >= mostKnown {
		list = slices.Delete(list, 0, 1)
	}
	g.known[name] = append(list, value)
}

// kinds are the names of what an identifier stands for, by its prefix.
var kinds = map[string]string{
	"ptpl": "prompt_template_id", "pver": "version_id", "ctpl": "template_id", "etok": "token_id", "src": "source_id",
	"con": "connection_id",
	"usr": "user_id", "wsp": "workspace_id", "inv": "invitation_id", "key": "api_key_id", "prs": "presence_id",
	"evt": "event_id", "job": "job_id",
}

var identifier = regexp.MustCompile(`^([a-z]+)_[0-9a-z]{26}$`)

// alias are names under which a value stands for another's.
var alias = map[string]string{
	"owner_id": "user_id", "actor": "user_id", "subject": "prompt_template_id", "base_version_id": "version_id",
	"expected_active_version_id": "version_id", "against": "version_id",
	"default_workspace_id": "workspace_id", "replacement_id": "payment_method_id", "ref": "version_id",
	"Workspace-Id": "workspace_id", "device": "device_id",
}

// study learns what later requests can make use of from an answer to a path.
func (g *generator) study(text, path string) {
	var v any
	if len(text) > 100_000 || json.Unmarshal([]byte(text), &v) != nil {
		return
	}
	parent := ""
	if steps := strings.Split(path, "/"); len(steps) > 3 && identifier.MatchString(steps[3]) {
		parent = steps[3]
	}
	g.studyValue("", v, parent)
}

func (g *generator) studyValue(name string, v any, parent string) {
	switch v := v.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			g.studyValue(name, v[name], parent)
		}
	case []any:
		for _, inner := range v {
			g.studyValue(name, inner, parent)
		}
	case string:
		if found := identifier.FindStringSubmatch(v); found != nil {
			name = cmp.Or(kinds[found[1]], name)
			if parent != "" && v != parent {
				g.learn(name+" of "+parent, v)
			}
		} else if name == "id" {
			switch {
			case strings.HasPrefix(v, "pm_"):
				name = "payment_method_id"
			case strings.HasPrefix(v, "seti_"):
				name = "intent_id"
			}
		}
		switch name {
		case "next_cursor":
			g.learn("cursor", v)
		case "token":
			g.learn("token "+v[:min(len(v), 4)], v)
		case "ticket", "session", "client_secret", "accept_url", "slug", "payment_method_id", "intent_id":
			g.learn(name, v)
		default:
			if strings.HasSuffix(name, "_id") {
				g.learn(name, v)
			}
		}
	}
}

func (g *generator) one(owners ...string) string { return owners[g.rnd.IntN(len(owners))] }

// familiar is a value that is known for a name.
func (g *generator) familiar(name string) (string, bool) {
	list := g.known[cmp.Or(alias[name], name)]
	if len(list) == 0 {
		return "", false
	}
	if recent := len(list) - 4; recent > 0 && g.rnd.IntN(2) == 0 {
		list = list[recent:]
	}
	return list[g.rnd.IntN(len(list))], true
}

// value makes one for a schema, where name stands in front of it.
func (g *generator) value(name string, schema object, depth int) *jsonValue {
	schema = g.resolved(schema)
	if fixedValue, ok := schema["const"]; ok {
		return scalar(fixedValue)
	}
	if allowances, ok := schema["enum"].([]any); ok {
		return scalar(allowances[g.rnd.IntN(len(allowances))])
	}
	if fallback, ok := schema["default"]; ok && g.rnd.IntN(8) == 0 {
		return scalar(fallback)
	}
	switch kind := g.kind(schema); kind {
	case "null":
		return asWritten("null")
	case "object":
		return g.object(name, schema, depth)
	case "array":
		v := &jsonValue{open: '['}
		items, _ := schema["items"].(object)
		minimum := whole(schema, "minItems", 0)
		for range minimum + g.rnd.IntN(min(whole(schema, "maxItems", 3), minimum+3)-minimum+1) {
			v.inner = append(v.inner, g.value(name, items, depth+1))
		}
		return v
	case "integer", "number":
		from, to := whole(schema, "minimum", -3), whole(schema, "maximum", 1000)
		n := from + g.rnd.IntN(max(1, to-from+1))
		if kind == "number" && g.rnd.IntN(2) == 0 && n < to {
			return asWritten(fmt.Sprintf("%d.25", n))
		}
		return scalar(n)
	case "boolean":
		return scalar(g.rnd.IntN(2) == 0)
	case "string":
		return scalar(g.text(name, schema))
	default: // anything
		return asWritten(g.one(`1`, `"x"`, `true`, `[1,"a",null]`, `{"a":{"b":[1.5]}}`, `9007199254740993`))
	}
}

// kind is one of the types that a schema takes.
func (g *generator) kind(schema object) string {
	switch kind := schema["type"].(type) {
	case string:
		return kind
	case []any:
		if g.rnd.IntN(6) == 0 {
			return kind[len(kind)-1].(string)
		}
		return kind[0].(string)
	}
	if schema["properties"] != nil {
		return "object"
	}
	return ""
}

// resolved is a schema without references and alternatives.
func (g *generator) resolved(schema object) object {
	out := object{}
	for key, v := range schema {
		out[key] = v
	}
	merge := func(part object) {
		for key, v := range g.resolved(part) {
			switch previous := out[key].(type) {
			case object:
				pairs := maps.Clone(previous)
				maps.Copy(pairs, v.(object))
				out[key] = pairs
			case []any:
				out[key] = append(slices.Clip(previous), v.([]any)...)
			default:
				out[key] = v
			}
		}
	}
	if ref, ok := out["$ref"].(string); ok {
		delete(out, "$ref")
		merge(g.at(ref))
	}
	if all, ok := out["allOf"].([]any); ok {
		delete(out, "allOf")
		for _, part := range all {
			merge(part.(object))
		}
	}
	if one, ok := out["oneOf"].([]any); ok {
		delete(out, "oneOf")
		merge(one[g.rnd.IntN(len(one))].(object))
	}
	return out
}

// at is what a reference leads to.
func (g *generator) at(ref string) object {
	v := g.doc
	for step := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		v = v[step].(object)
	}
	return v
}

func (g *generator) object(name string, schema object, depth int) *jsonValue {
	if name == "credential" {
		return g.credential()
	}
	v := &jsonValue{open: '{'}
	requirements, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(object)
	for _, member := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(requirements, any(member)) || g.rnd.IntN(max(3, depth*2)) == 0 {
			v.add(member, g.value(member, properties[member].(object), depth+1))
		}
	}
	switch extra := schema["additionalProperties"].(type) {
	case object:
		for i := range g.rnd.IntN(3) {
			v.add(fmt.Sprint("key", i), g.value("", extra, depth+1))
		}
	case bool:
		for i := range g.rnd.IntN(3) {
			if extra {
				v.add(g.one("name", "a", "b.c", fmt.Sprint("key", i)), g.value("", object{}, depth+1))
			}
		}
	}
	return v
}

// credential is one of a PostgreSQL, mostly that of the shop's. The hosts are all of this machine, or are
// refused before they are asked.
func (g *generator) credential() *jsonValue {
	v := &jsonValue{open: '{'}
	problem := ""
	if g.rnd.IntN(3) == 0 {
		problem = g.one("host", "port", "database", "username", "tls")
	}
	for _, member := range []struct{ name, otherwise string }{
		{"host", g.one(`"10.0.0.1"`, `"::1"`, `"0.0.0.0"`, `"169.254.169.254"`, `"127.1"`, `"/tmp"`)},
		{"port", g.one(`1`, `0`, `65536`)}, {"database", `"none"`}, {"username", `""`},
		{"tls", g.one(`"require"`, `"verify-full"`, `"x"`)},
	} {
		knownText, _ := g.familiar(member.name)
		switch {
		case member.name == problem:
			v.add(member.name, asWritten(member.otherwise))
		case member.name == "port":
			v.add(member.name, asWritten(knownText))
		default:
			v.add(member.name, scalar(knownText))
		}
	}
	v.add("password", scalar(g.one("secret", "", "é")))
	return v
}

// paymentEvent is what a gateway sends.
func (g *generator) paymentEvent() *jsonValue {
	topic, _ := g.familiar("customer")
	return &jsonValue{open: '{', names: []string{`"id"`, `"object"`, `"type"`, `"created"`, `"data"`},
		inner: []*jsonValue{
			scalar(fmt.Sprint("evt_", g.rnd.IntN(1000))), asWritten(`"event"`),
			scalar(g.one("invoice.paid", "customer.subscription.updated", "x")), scalar(g.rnd.IntN(1 << 31)),
			{open: '{', names: []string{`"object"`},
				inner: []*jsonValue{{open: '{', names: []string{`"object"`, `"customer"`},
					inner: []*jsonValue{asWritten(`"invoice"`), scalar(topic)}}}},
		}}
}

// told are the names whose values no schema tells.
var told = map[string][]string{
	"kind": {"postgres", "postgres", "postgres", "postgres", "sqlite", "mysql"}, "plan_id": {"basic", "pro", "try"},
	"workflow_id": {"hand-over"}, "gateway": {"sandbox", "stripe", "none"},
	"org": {"red", "blue", "none"}, "type": {"contacts", "faq", "products", "prompt_template.created"},
	"code":   {"not_found", "internal"},
	"number": {"4242424242424242", "4000002500003155", "4000000000000002", "4000 0000 0000 0341"},
	"field":  {"email", "name", "first_name"}, "column": {"email", "total", "id"},
	"schema": {"public"}, "table": {"orders", "none"}, "url": {"http://127.0.0.1:1/a.csv", "https://127.0.0.1:1/a.csv",
		"people.csv", "https://10.0.0.1/a.csv", "https://[::1]:1/a.xlsx", "ftp://127.0.0.1/"},
	"text": {"Hi {{name}}", "{{#a}}{{.}}{{/a}}", "{{{a.b}}}", "plain", "{{"}, "content": {"Hi {{name}}", "plain"},
	"email":           {"ann@example.com", "bob@example.com", "c@d.example"},
	"allowed_origins": {"https://shop.example", "https://*.stores.example", "http://localhost:*"},
	"name":            {"name", "a", "b", "x/y", "Support"}, "device_id": {"phone", "web.1"},
	"avatar_url": {"https://shop.example/a.png"}, "last_event_id": {"x.1"}, "tab": {"People"}, "q": {"a", "b"},
	"tag": {"x"}, "folder": {"x"}, "id": {"a1", "create-ticket", "assistant"},
}

func (g *generator) text(name string, schema object) string {
	if values := told[name]; values != nil && g.rnd.IntN(8) > 0 {
		if name == "name" && g.rnd.IntN(2) == 0 { // most names are taken before long
			return fmt.Sprintf("n%d", g.rnd.IntN(1_000_000))
		}
		return g.one(values...)
	}
	if name == "token" { // of an embedding, else of an invitation
		if url, ok := g.familiar("accept_url"); ok && g.rnd.IntN(3) == 0 {
			return tokenIn(url)
		}
		name = "token ate_"
	}
	if v, ok := g.familiar(name); ok && g.rnd.IntN(8) > 0 {
		return v
	}
	if schema["format"] == "date-time" {
		return time.Date(2027, 1, 1+g.rnd.IntN(900), 0, 0, g.rnd.IntN(60), 0, time.UTC).Format(time.RFC3339)
	}
	minimum := whole(schema, "minLength", 0)
	limit := min(whole(schema, "maxLength", 40), minimum+40)
	if pattern, ok := schema["pattern"].(string); ok {
		if re, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			var out strings.Builder
			g.match(&out, re)
			return out.String()
		}
	}
	length := minimum + g.rnd.IntN(limit-minimum+1)
	if g.rnd.IntN(20) == 0 {
		length = whole(schema, "maxLength", 40)
	}
	letters := []rune("abcdefgh xyzÄß漢👍.-_/{}#'\"<&%\\")
	out := make([]rune, length)
	for i := range out {
		out[i] = letters[g.rnd.IntN(len(letters))]
	}
	return string(out)
}

// match writes what a regular expression matches.
func (g *generator) match(out *strings.Builder, re *syntax.Regexp) {
	times := func(from, to int) {
		if to < 0 || to > from+8 {
			to = from + 8
		}
		for range from + g.rnd.IntN(to-from+1) {
			g.match(out, re.Sub[0])
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := g.rnd.IntN(len(re.Rune)/2) * 2
		from, to := re.Rune[i], min(re.Rune[i+1], re.Rune[i]+200)
		out.WriteRune(from + rune(g.rnd.IntN(int(to-from)+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteByte('x')
	case syntax.OpStar:
		times(0, -1)
	case syntax.OpPlus:
		times(1, -1)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpAlternate:
		g.match(out, re.Sub[g.rnd.IntN(len(re.Sub))])
	default:
		for _, sub := range re.Sub {
			g.match(out, sub)
		}
	}
}

// whole is a number of a schema.
func whole(schema object, key string, otherwise int) int {
	if n, ok := schema[key].(float64); ok && n < 1<<31 && n > -1<<31 {
		return int(n)
	}
	return otherwise
}
