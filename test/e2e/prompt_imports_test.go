package e2e

import "testing"

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
