package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// importedFile is a file of an import of prompts.
func importedFile(path, text string) object {
	return object{"path": path, "content": "---\n---\n" + text}
}

func TestAnImportSkipsWhatIsWrongOrTakesItAsItIs(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		ann := start(t, engine).user(t, "member")
		imports := templates + "/import"
		files := object{"files": []object{importedFile("right.md", "Hi {{name}}"),
			importedFile("wrong.md", "One\n{{#a}}")}}

		ann.do(t, "POST", imports+"?dry_run=true", object{"files": []object{importedFile("right.md", "Hi {{name}}")}}).
			is(t, 200).has(t, map[string]string{"data.0.name": "right", "data.0.outcome": "created"})
		ann.do(t, "POST", imports, files).problem(t, 422, "unsupported_syntax")
		ann.get(t, templates).has(t, map[string]string{"data": "[]"})

		ann.do(t, "POST", imports+"?on_error=skip&dry_run=true", files).is(t, 200).has(t, map[string]string{
			"data.0.outcome": "created", "data.1": "", "skipped.0.source": "wrong.md"})
		ann.get(t, templates).has(t, map[string]string{"data": "[]"})
		ann.do(t, "POST", imports+"?on_error=skip", files).is(t, 200).has(t, map[string]string{
			"data.0.name": "right", "data.0.outcome": "created", "data.1": "", "skipped.0.source": "wrong.md"})
		ann.get(t, templates).has(t, map[string]string{"data.0.name": "right", "data.1": ""})

		raw := ann.do(t, "POST", imports+"?on_error=raw", files).is(t, 200).has(t, map[string]string{
			"data.0.outcome": "unchanged", "data.1.name": "wrong", "data.1.outcome": "created", "skipped": ""})
		ann.get(t, templates+"/"+raw.at("data.1.prompt_template_id")+"/versions/v1").has(t, map[string]string{
			"format": "none", "text": "One\n{{#a}}"})
	})
}

func TestAnImportFromLangfuseKeepsWhatAgentsCarryAndSaysAllThatIsWrong(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		ann := start(t, engine).user(t, "member")
		agent := object{"name": "agent", "type": "chat", "version": 1, "labels": []string{"production", "latest"},
			"config": object{"model": "gpt-5", "tools": []object{{"type": "function", "function": object{"name": "sum"}}},
				"response_format": object{"type": "json_object"}, "mine": true},
			"prompt": []object{{"type": "chatmessage", "role": "system", "content": "Be {{tone}}."},
				{"role": "user", "content": []object{{"type": "text", "text": "What is {{this}}?"},
					{"type": "image_url", "image_url": object{"url": "https://example.com/a.png"}}}},
				{"role": "assistant", "content": nil, "tool_calls": []object{{"id": "c1", "type": "function",
					"function": object{"name": "sum", "arguments": "{}"}}}},
				{"role": "tool", "tool_call_id": "c1", "content": "42"},
				{"type": "placeholder", "name": "history"}}}
		export := []object{agent,
			{"name": "unfinished", "type": "text", "version": 1, "prompt": "Hi {{#a}}"},
			{"name": "numeric", "type": "text", "version": 1, "prompt": "Hi", "labels": []string{"2"}},
			{"name": "shapeless", "type": "chat", "version": 1, "prompt": "Hi"},
			{"name": "odd labels", "type": "text", "version": 1, "prompt": "Hi", "labels": "production"}}
		imports := templates + "/import?activate=true"
		response := ann.do(t, "POST", imports, object{"langfuse": export})
		for i, name := range []string{"unfinished", "numeric", "shapeless", "odd labels"} {
			if got := response.at("errors." + strconv.Itoa(i) + ".detail"); !strings.HasPrefix(got, name+": ") {
				t.Errorf("error %d is %q, want one about %s: %s", i, got, name, response)
			}
		}
		ann.get(t, templates).has(t, map[string]string{"data": "[]"})
		preview := ann.do(t, "POST", imports+"&dry_run=true&on_error=skip", object{"langfuse": export}).is(t, 200)
		preview.has(t, map[string]string{"data.0.name": "agent", "data.1": "", "skipped.3.source": "odd labels"})
		ann.get(t, templates).has(t, map[string]string{"data": "[]"})
		ann.do(t, "POST", imports+"&on_error=skip", object{"langfuse": export}).is(t, 200)
		id := ann.get(t, templates).has(t, map[string]string{"data.0.name": "agent", "data.1": ""}).at("data.0.id")
		ann.get(t, templates+"/"+id+"/versions/production").has(t, map[string]string{
			"messages.1.content.1.image_url.url": "https://example.com/a.png", "messages.2.content": "null",
			"messages.2.tool_calls.0.id": "c1", "messages.3.tool_call_id": "c1", "messages.4.placeholder": "history",
			"tools.0.function.name": "sum", "response_format.type": "json_object", "model_config.model_name": "gpt-5",
			"model_config.extra_params": `{"mine":true}`})
		ann.do(t, "POST", imports, object{"langfuse": []object{agent}}).is(t, 200).has(t, map[string]string{
			"data.0.outcome": "unchanged"})
	})
}

func TestAnIncludeStaysWithItsPromptWhenThatIsRenamed(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		ann := start(t, engine).user(t, "member")
		activated := func(name, text string) string {
			return templates + "/" + ann.create(t, templates, object{"name": name,
				"version": object{"text": text, "activate": true}}).at("id")
		}
		part := activated("tone", "Be kind.")
		letter := activated("letter", "{{> tone}} Write.")
		ann.do(t, "PATCH", part, object{"name": "style"}).is(t, 200)
		activated("tone", "Be rude.")
		ann.create(t, letter+"/versions", object{"text": "{{> tone}} Write more.", "activate": true})
		ann.do(t, "POST", letter+"/render", object{}).is(t, 200).has(t, map[string]string{
			"text": "Be kind. Write more."})
	})
}
