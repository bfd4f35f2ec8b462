package clients

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
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
		for i := 0; i < 10 || (len(texts) < 2 && i < 100); i++ {
			key := fmt.Sprint("user ", i)
			server := s.must(t, command{Name: "promptTemplates.render", Args: []string{id}, HasBody: true,
				Body: object{"ref": "live", "key": key, "variables": object{"name": "Ann"}}}).Value.(object)["text"]
			s.requests()
			for range 2 {
				if got := promptedValue(key); got != server {
					t.Errorf("%s gets %q, and %q from the server", key, got, server)
				}
			}
			if n := len(s.requests()); n != 0 && i > 0 {
				t.Errorf("a new key took %d requests", n)
			}
			texts[server] = true
		}
		if !texts["Hello Ann!"] || !texts["Rules:\n  Be kind,\n  Ann.\nBye Ann."] {
			t.Errorf("the texts are %v", texts)
		}
		assert.Equal(t, "without a key, the prompt", promptedValue(""), "Hello Ann!")
	})
}

func TestClientsDivideRolloutsAsTheServerDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../domain/prompt/testdata/rollouts.json")
	require.NoError(t, err)
	var cases []struct {
		Seed     string            `json:"seed"`
		Versions []object          `json:"versions"`
		Keys     map[string]string `json:"keys"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	w := &world{proxy: newProxy(t), key: "atk_0123456789"} // in front of no server
	version := func(id string) object { return object{"id": id, "text": id, "format": "none"} }
	stand := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Refs []struct{ Name, Ref string } `json:"refs"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		data := []object{}
		for _, ref := range request.Refs {
			item := object{"prompt_template_id": "ptpl_1", "ref": ref.Ref, "etag": "1", "version": version(ref.Ref)}
			for _, tt := range cases {
				if tt.Seed == ref.Name {
					for _, v := range tt.Versions {
						v["version_number"], v["weight"] = 1, len(v["slots"].([]any))
					}
					item["version"] = version(tt.Versions[0]["version_id"].(string))
					item["rollout"] = object{"seed": tt.Seed, "versions": tt.Versions}
				}
			}
			data = append(data, item)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(object{"data": data}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(stand.Close)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connectWith(t, d, settings{Base: stand.URL, TimeoutMS: 30_000})
		for _, tt := range cases {
			for key, want := range tt.Keys {
				r := s.driver.do(t, command{Do: "prompt", Name: tt.Seed, Values: object{},
					Prompt: &promptOptions{Ref: "live", Key: key, TTL: 3600, MaxStale: 3600}}, nil)
				if r.Error != nil || r.Value.(object)["text"] != want {
					t.Fatalf("%q of %s gets %v, %+v; and %s from the server", key, tt.Seed, r.Value, r.Error, want)
				}
			}
		}
	})
}

func TestAnOutageHitsNoNewReaderOfARollout(t *testing.T) {
	onEach(t, func(t *testing.T, w *world, d driver) {
		s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 30_000})
		name := newName()
		id := s.must(t, create(name)).at(t, "id")
		s.revise(t, id, "one {{name}}")
		s.revise(t, id, "two {{name}}")
		plain := newName()
		s.revise(t, s.must(t, create(plain)).at(t, "id"), "plain {{name}}")
		s.must(t, command{Name: "promptTemplates.labels.rollOut", Args: []string{id, "live"}, HasBody: true,
			Body: object{"versions": []object{{"version": "v1", "weight": 50}, {"version": "v2", "weight": 50}}}})
		read := func(name, ref, key string, ttl float64) any {
			t.Helper()
			r := s.driver.do(t, command{Do: "prompt", Name: name, Values: object{"name": "Ann"},
				Prompt: &promptOptions{Ref: ref, Key: key, TTL: ttl, MaxStale: 3600}}, nil)
			if r.Error != nil {
				t.Fatalf("prompts.get failed: %+v", *r.Error)
			}
			return r.Value.(object)["text"]
		}
		want, texts := map[string]any{}, map[any]bool{}
		for i := 0; i < 10 || (len(texts) < 2 && i < 100); i++ {
			key := fmt.Sprint("user ", i)
			want[key] = s.must(t, command{Name: "promptTemplates.render", Args: []string{id}, HasBody: true,
				Body: object{"ref": "live", "key": key, "variables": object{"name": "Ann"}}}).Value.(object)["text"]
			texts[want[key]] = true
		}
		assert.Equal(t, "versions", len(texts), 2)
		read(name, "live", "somebody", 3600)
		read(plain, "active", "somebody", 3600)
		w.node.Kill(t)
		for key, text := range want {
			assert.Equal(t, "in the outage, "+key, read(name, "live", key, 3600), text)
			assert.Equal(t, "in the outage, after its time, "+key, read(name, "live", key, 0.001), text)
			assert.Equal(t, "in the outage, without a rollout, "+key, read(plain, "active", key, 3600), "plain Ann")
		}
		w.start()
		s.must(t, command{Name: "promptTemplates.labels.move", Args: []string{id, "live"}, HasBody: true,
			Body: object{"version": "v2"}})
		for key := range want {
			proof.Eventually(t, "after the rollout, everyone gets its version", func() bool {
				return read(name, "live", key, 0.001) == "two Ann"
			})
		}
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
