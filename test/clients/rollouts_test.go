package clients

import (
	"fmt"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestClientsGetWhatTheServerRenders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 30_000})
		// The second version includes another prompt, whose lines are indented with the tag.
		rules := newName()
		s.revise(t, s.must(t, create(rules)).at(t, "id"), "Be kind,\n{{name}}.\n")
		name := newName()
		id := s.must(t, create(name)).at(t, "id")
		s.revise(t, id, "Hello {{name}}!")
		s.revise(t, id, "Rules:\n  {{> "+rules+"}}\nBye {{name}}.")
		s.must(t, command{Name: "promptTemplates.labels.rollOut", Args: []string{id, "live"}, HasBody: true,
			Body: object{"versions": []object{{"version": "v1", "weight": 50}, {"version": "v2", "weight": 50}}}})
		promptedValue := func(key string) any {
			t.Helper()
			r := s.driver.do(t, command{Do: "prompt", Name: name, Values: object{"name": "Ann"},
				Prompt: &promptOptions{Ref: "live", Key: key, TTL: 3600, MaxStale: 3600}}, nil)
			if r.Error != nil {
				t.Fatalf("prompts.get failed: %+v", *r.Error)
			}
			return r.Value.(object)["text"]
		}
		texts := map[any]bool{}
		for i := range 10 {
			key := fmt.Sprint("user ", i)
			server := s.must(t, command{Name: "promptTemplates.render", Args: []string{id}, HasBody: true,
				Body: object{"ref": "live", "key": key, "variables": object{"name": "Ann"}}}).Value.(object)["text"]
			s.requests()
			for range 2 {
				if got := promptedValue(key); got != server {
					t.Errorf("%s gets %q, and %q from the server", key, got, server)
				}
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("two reads with one key took %d requests", n)
			}
			texts[server] = true
		}
		if !texts["Hello Ann!"] || !texts["Rules:\n  Be kind,\n  Ann.\nBye Ann."] {
			t.Errorf("the texts are %v", texts)
		}
		assert.Equal(t, "without a key, the prompt", promptedValue(""), "Hello Ann!")
	})
}

func TestClientsExportAndImportPrompts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 30_000})
		folder := newName()
		id := s.must(t, create(folder+"/greeting")).at(t, "id")
		s.revise(t, id, "Hello {{customer}}!\n---\n")
		export := command{Name: "promptTemplates.exportFiles", Query: object{"folder": folder}, HasQuery: true}
		files := s.must(t, export).Value
		s.must(t, command{Name: "promptTemplates.delete", Args: []string{id}})
		done := s.must(t, command{Name: "promptTemplates.importFiles", HasBody: true, Body: files.(object)}).Value
		assert.Equal(t, "the file was", fmt.Sprint(done.(object)["data"].([]any)[0].(object)["outcome"]), "created")
		if second := s.must(t, export).Value; fmt.Sprint(second) != fmt.Sprint(files) {
			t.Errorf("the files are %v, and were %v", second, files)
		}
	})
}
