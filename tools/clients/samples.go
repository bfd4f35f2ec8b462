package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// sample is a call of an operation as people would write it with curl and in each language. The reference shows it.
type sample struct {
	Call       string `json:"call"` // x-sdk
	Curl       string `json:"curl"`
	TypeScript string `json:"typescript"`
	Go         string `json:"go"`
	Python     string `json:"python"`
}

// columns is the width of samples.
const columns = 84

// samples returns the samples of all operations that clients have, by the operations' ids, as JSON.
func samples(d *document) ([]byte, error) {
	all := map[string]sample{}
	for _, c := range d.calls {
		if c.line != nil || c.archive {
			continue // its operation has the sample of the call that returns JSON
		}
		if c.body != nil && c.bodyRequired && c.example == nil {
			return nil, fmt.Errorf("%s: the body needs an example", c.name)
		}
		golang, err := goSample(d, c)
		if err != nil {
			return nil, fmt.Errorf("the sample of %s in Go: %w", c.name, err)
		}
		all[c.id] = sample{Call: c.name, Curl: curlSample(c), TypeScript: tsSample(c), Go: golang, Python: pySample(c)}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(all)
	return out.Bytes(), err
}

// omitsBody reports whether a sample has no body.
func (c *call) omitsBody() bool {
	return c.example == nil || (!c.bodyRequired && len(c.example.names) == 0)
}

// placeholder is what a sample has for a parameter of the path.
func placeholder(p *parameter) string {
	if p.Name == "version_id" {
		return "v2" // ids, names and numbers of versions are accepted
	}
	return strings.ToUpper(p.Name)
}

// required returns the parameters of the query that a call cannot omit.
func (c *call) required() []*parameter {
	return slices.DeleteFunc(slices.Clone(c.query), func(p *parameter) bool { return !p.Required })
}

// sample is the value of a parameter of the query.
func (p *parameter) sample() string { return cmp.Or(p.Example, strings.ToUpper(p.Name)) }

func curlSample(c *call) string {
	path := c.path
	for _, p := range c.parts {
		path = strings.Replace(path, "{"+p.Name+"}", placeholder(p), 1)
	}
	var lines []string
	first := "curl"
	if c.event != nil {
		first += " -N" // show events when they arrive
	}
	if c.verb != "GET" && (c.verb != "POST" || c.omitsBody()) {
		first += " -X " + c.verb
	}
	for i, p := range c.required() {
		path += []string{"?", "&"}[min(i, 1)] + p.Name + "=" + p.sample()
	}
	lines = append(lines, fmt.Sprintf(`%s "$ATRIUM_URL%s"`, first, path))
	if !c.public {
		lines = append(lines, `-H "Authorization: Bearer $ATRIUM_KEY"`)
	}
	if c.keyed {
		lines = append(lines, `-H "Idempotency-Key: $(uuidgen)"`)
	}
	if !c.omitsBody() {
		body := strings.ReplaceAll(c.example.lines(jsonNotation, "", columns), "'", `'\''`)
		lines = append(lines, `-H 'Content-Type: application/json'`, "-d '"+body+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

func tsSample(c *call) string {
	var args []string
	for _, p := range c.parts {
		args = append(args, quoteTS(placeholder(p)))
	}
	if given := c.required(); len(given) > 0 && c.omitsBody() {
		var members []string
		for _, p := range given {
			members = append(members, tsMember(p.Name)+": "+quoteTS(p.sample()))
		}
		args = append(args, "{ "+strings.Join(members, ", ")+" }")
	}
	return around(c, sampleStyle{call: "atrium." + c.name, await: "await ", assign: "const result = ",
		loop: "for await (const %s of %s) {\n  console.log(%s)\n}"}, args, tsNotation)
}

func pySample(c *call) string {
	var args []string
	for _, p := range c.parts {
		args = append(args, quoted(placeholder(p)))
	}
	for _, p := range c.required() {
		args = append(args, snake(p.Name)+"="+quoted(p.sample()))
	}
	return around(c, sampleStyle{call: "client." + snakePath(c.name), assign: "result = ",
		loop: "for %s in %s:\n    print(%s)"}, args, pythonNotation)
}

// sampleStyle is how a language makes a call, uses its result, and reads the items of a list.
type sampleStyle struct{ call, await, assign, loop string }

// around writes the call with its body: on one line if it fits, otherwise with the body on the lines below.
func around(c *call, style sampleStyle, args []string, n notation) string {
	made := style.call + "(" + strings.Join(args, ", ")
	if !c.omitsBody() {
		if len(args) > 0 {
			made += ", "
		}
		// The braces of a body that has several lines open on the line of the call.
		prefix := style.assign + style.await + made
		if body := c.example.literal(n); len(prefix)+len(body) < columns {
			made += body
		} else {
			made += c.example.lines(n, "", 0)
		}
	}
	made += ")"
	switch {
	case c.event != nil:
		return fmt.Sprintf(style.loop, "event", made, "event")
	case c.item != nil:
		return fmt.Sprintf(style.loop, "item", made, "item")
	case c.result != nil:
		return style.assign + style.await + made
	}
	return style.await + made
}
