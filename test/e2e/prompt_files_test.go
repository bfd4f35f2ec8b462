package e2e

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/require"
)

func init() {
	var count atomic.Int64
	examples["importPrompts"] = example{make: func(*testing.T, *testWorkspace, *testCaller) target {
		path := fmt.Sprintf("imported/example-%d.md", count.Add(1)) // a name is its creator's
		return target{body: object{"files": []object{{"path": path, "content": "---\n---\nHello"}}}}
	}}
}

// files runs as a part of TestTheLifeOfAPrompt: prompts of one workspace are exported to an empty one and back.
func files(t *testing.T, from, to *client) {
	for name, version := range map[string]object{
		"files/plain":       {"text": "Hello {{customer}}!\n\n---\n", "activate": true},
		"files/none":        {"text": "{{not a variable", "format": "none", "labels": []string{"live"}},
		"files/a: b?":       {"text": "A name that is no path", "model_config": object{"model_name": "m", "temperature": 0.25}},
		"files/Äpfel":       {"text": "{{> files/plain}}\nBye"},
		"files/declared":    {"text": "{{a}}", "variables": []object{{"name": "a", "type": "number", "required": false}}},
		"files/deep/z/tool": {"text": "x", "tools": []object{{"type": "function", "z": 1, "a": "1"}}},
	} {
		if name != "files/Äpfel" {
			from.create(t, templates, object{"name": name, "description": "d: " + name, "tags": []string{"t"},
				"version": version})
		}
	}
	from.create(t, templates, object{"name": "files/Äpfel", "version": object{"text": "{{> files/plain}}\nBye"}})
	from.create(t, templates, object{"name": "files/chat", "type": "chat", "version": object{"messages": []object{
		{"role": "system", "content": "# user\nis no section"}, {"placeholder": "history"}, {"role": "user", "content": "Bye"}}}})
	export := templates + "/export?folder=files"
	first := map[string]string{}
	for _, format := range []string{"json", "ndjson", "zip"} {
		first[format] = from.get(t, export+"&format="+format).text
	}
	archive, err := zip.NewReader(strings.NewReader(first["zip"]), int64(len(first["zip"])))
	if err != nil || len(archive.File) != 7 {
		t.Fatalf("%d files, %v", len(archive.File), err)
	}
	if modified := archive.File[0].Modified.UTC(); modified.Format(time.DateOnly) != "1980-01-01" {
		t.Errorf("a file in the archive is from %s", modified)
	}

	// A file that is wrong keeps all others from being stored.
	broken := strings.Replace(first["json"], "Hello {{customer}}!", "Hello {{customer", 1)
	var body object
	require.NoError(t, json.Unmarshal([]byte(broken), &body))
	to.do(t, "POST", templates+"/import?activate=true", body).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.code": "unsupported_syntax",
			"errors.0.detail": "files/plain.md: line 5: the tag is not closed.", "errors.1.code": "include_not_found"})
	to.get(t, templates+"?folder=files").has(t, map[string]string{"data.0": ""})

	// Whatever the format, the files that come out are those that went in.
	for format, media := range map[string]string{"json": "application/json", "ndjson": "application/x-ndjson",
		"zip": "application/zip"} {
		a := to.do(t, "POST", templates+"/import?activate=true", first[format], "Content-Type: "+media).is(t, 200)
		want := "unchanged"
		if a.at("data.0.outcome") == "created" {
			want = "created"
		}
		for i := range 7 {
			if got := a.at("data." + string(rune('0'+i)) + ".outcome"); got != want {
				t.Errorf("%s: file %d was %s, the first %s", format, i, got, want)
			}
		}
		for other, previous := range first {
			if nextText := to.get(t, export+"&format="+other).text; nextText != previous {
				t.Errorf("%s after an import of %s:\n%s\nwant\n%s", other, format, nextText, previous)
			}
		}
	}
	to.get(t, templates+"/resolve?name=files/%C3%84pfel").has(t, map[string]string{
		"text": "Hello {{customer}}!\n\n---\nBye"})
	refusedImports(t, to)
	fromLangfuse(t, to)
}

func refusedImports(t *testing.T, c *client) {
	file := func(path, content string) object {
		return object{"files": []object{{"path": path, "content": content}}}
	}
	for _, path := range []string{"../a.md", "/a.md", "a.txt", `a\b.md`, "a//b.md"} {
		c.do(t, "POST", templates+"/import", file(path, "---\n---\nx")).problem(t, 422, "invalid_fields").has(t,
			map[string]string{"errors.0.pointer": "/files/0/path"})
	}
	c.do(t, "POST", templates+"/import", file("a.md", "no settings")).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.pointer": "/files/0/content"})
	c.do(t, "POST", templates+"/import", file("a.md", "---\n---\n{{> not/there}}")).
		problem(t, 422, "include_not_found").has(t, map[string]string{"errors.0.pointer": "/files/0/text"})
	c.do(t, "POST", templates+"/import", object{"files": []object{{"path": "a.md", "content": "---\n---\n{{> b}}"},
		{"path": "b.md", "content": "---\n---\n{{> a}}"}}}).is(t, 422)
	c.do(t, "POST", templates+"/import", object{}).problem(t, 422, "invalid_fields")
	c.do(t, "POST", templates+"/import", "no archive", "Content-Type: application/zip").
		problem(t, 400, "malformed_request")
}

// fromLangfuse imports what Langfuse exports: an item for each version.
func fromLangfuse(t *testing.T, c *client) {
	export := object{"langfuse": []object{
		{"name": "critic", "type": "text", "version": 2, "prompt": "Do you love {{movie}}?", "labels": []string{"latest", "staging"},
			"tags": []string{"movies"}, "config": object{}, "commitMessage": nil},
		{"name": "critic", "type": "text", "version": 1, "prompt": "Do you like {{movie}}?", "labels": []string{"production"},
			"tags": []string{"movies"}, "config": object{"model": "gpt-4o", "temperature": 0.5, "languages": []string{"en"}}},
		{"name": "dialog", "type": "chat", "version": 4, "prompt": []object{{"type": "chatmessage", "role": "system", "content": "Be brief."},
			{"type": "placeholder", "name": "history"}, {"role": "user", "content": "{{question}}"}}, "labels": []string{}, "tags": []string{}},
		{"name": "whole", "prompt": "First: @@@langfusePrompt:name=critic|label=production@@@", "labels": []string{"production"}},
	}}
	c.do(t, "POST", templates+"/import?activate=true&visibility=workspace", export).is(t, 200).has(t, map[string]string{
		"data.0.outcome": "created", "data.1.outcome": "created", "data.2.outcome": "created", "data.3": ""})
	c.get(t, templates+"/resolve?name=critic").has(t, map[string]string{"number": "1", "text": "Do you like {{movie}}?",
		"model_config.model_name": "gpt-4o", "model_config.extra_params.languages.0": "en", "labels": `["production"]`})
	c.get(t, templates+"/resolve?name=critic&ref=staging").has(t, map[string]string{"number": "2"})
	c.get(t, templates+"/resolve?name=dialog&ref=latest").has(t, map[string]string{"number": "4",
		"messages.1.placeholder": "history"})
	c.get(t, templates+"/resolve?name=whole").has(t, map[string]string{"text": "First: Do you like {{movie}}?"})
	c.do(t, "POST", templates+"/import", object{"langfuse": []object{{"name": "x", "prompt": 7}}}).
		problem(t, 422, "invalid_fields").has(t, map[string]string{"errors.0.pointer": "/langfuse/0/prompt"})
}
