package clients

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// onEach runs a test with the client of each language, on both engines.
func onEach(t *testing.T, test func(t *testing.T, s *world, d driver)) {
	t.Helper()
	t.Parallel()
	for _, engine := range []string{sqlite, postgres} {
		t.Run("on "+engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engine)
			inEach(t, func(t *testing.T, d driver) { test(t, w, d) })
		})
	}
}

// post sends a request beside the client.
func (w *world) post(t *testing.T, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.node.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("POST %s: %s", path, resp.Status)
	}
}

func TestTheServerRestartsInTheMiddle(t *testing.T) {
	onEach(t, func(t *testing.T, w *world, d driver) {
		t.Run("calls are made once, and prompts come from memory", func(t *testing.T) {
			// It gives up soon: what it can say in the outage does not depend on how long it tries.
			s := w.connectWith(t, d, settings{MaxRetries: 1, TimeoutMS: 30_000})
			name := s.prompt(t, "Hello {{name}}!")
			got := s.rendered(t, name, 3600, 3600, "")
			w.node.Kill(t)
			if second := s.rendered(t, name, 0.001, 3600, ""); second["text"] != got["text"] ||
				second["is_fallback"] == true {
				t.Errorf("in the outage, the prompt is %v", second)
			}
			if other := s.rendered(t, "not/"+name, 60, 60, "Fallback for {{name}}"); other["is_fallback"] != true ||
				other["text"] != "Fallback for Ann" {
				t.Errorf("the fallback is %v", other)
			}
			s = w.connectWith(t, d, settings{MaxRetries: 10, TimeoutMS: 30_000})
			startedSignal := make(chan struct{})
			go func() {
				defer close(startedSignal)
				w.start()
			}()
			prefix := newName()
			for i := range 3 {
				s.must(t, create(fmt.Sprint(prefix, "/", i)))
			}
			<-startedSignal
			for i := range 3 {
				if n := s.named(t, fmt.Sprint(prefix, "/", i)); n != 1 {
					t.Errorf("there are %d templates, want 1", n)
				}
			}
		})
		t.Run("a stream goes on", func(t *testing.T) {
			s := w.connect(t, d)
			isRestarted := false
			r := d.do(t, command{Do: "call", Name: "presence.stream", HasQuery: true, Query: object{},
				Options: callOptions{Count: 2}}, func(string) {
				if !isRestarted {
					isRestarted = true
					w.node.Kill(t)
					w.start()
					// The text differs for each client: without a change there is no event until the presence ends.
					w.post(t, "/api/presence",
						fmt.Sprintf(`{"device_id": "other", "status": "away", "text": %q}`, newName()))
				}
			})
			if r.Error != nil || len(r.Value.([]any)) != 2 {
				t.Fatalf("the stream: %+v, %v", r.Error, r.Value)
			}
			count := 0
			var resumedTexts []string
			for _, request := range s.requests() {
				if request.path == "/api/presence/stream" {
					count++
					resumedTexts = append(resumedTexts, request.headers.Get("Last-Event-ID"))
				}
			}
			if count < 2 || resumedTexts[0] != "" || slices.Contains(resumedTexts[1:], "") {
				t.Errorf("the stream was opened with the ids %q", resumedTexts)
			}
		})
	})
}

// prompt creates a template with an active version, and returns its name.
func (s *session) prompt(t *testing.T, text string) (name string) {
	t.Helper()
	name = newName()
	id := s.must(t, create(name)).at(t, "id")
	s.revise(t, id, text)
	return name
}

// revise activates another text.
func (s *session) revise(t *testing.T, id, text string) {
	t.Helper()
	version := s.must(t, command{Name: "promptTemplates.versions.create", Args: []string{id}, HasBody: true,
		Body: object{"text": text}}).at(t, "id")
	s.must(t, command{Name: "promptTemplates.versions.activate", Args: []string{id, version}, HasBody: true})
}

// rendered returns a prompt as an application gets it.
func (s *session) rendered(t *testing.T, name string, ttl, maxStale float64, fallback string) object {
	t.Helper()
	r := s.prompted(t, name, ttl, maxStale, fallback)
	if r.Error != nil {
		t.Fatalf("prompts.get failed: %+v", *r.Error)
	}
	return r.Value.(object)
}

func (s *session) prompted(t *testing.T, name string, ttl, maxStale float64, fallback string) result {
	t.Helper()
	return s.driver.do(t, command{Do: "prompt", Name: name, Values: object{"name": "Ann"},
		Prompt: &promptOptions{TTL: ttl, MaxStale: maxStale, Fallback: fallback}}, nil)
}

func TestPromptsFromMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 30_000})
		name := newName()
		id := s.must(t, create(name)).at(t, "id")
		s.revise(t, id, "Hello {{name}}!")
		const long = 3600
		if got := s.rendered(t, name, long, long, ""); got["text"] != "Hello Ann!" {
			t.Fatalf("the prompt is %v", got)
		}
		s.revise(t, id, "Welcome, {{name}}!")
		s.requests()
		if got := s.rendered(t, name, long, long, ""); got["text"] != "Hello Ann!" || len(s.requests()) != 0 {
			t.Errorf("within its time, the prompt is %v", got)
		}
		proof.Eventually(t, "the new version comes in the background", func() bool {
			return s.rendered(t, name, 0.001, long, "")["text"] == "Welcome, Ann!"
		})
		s.must(t, command{Name: "promptTemplates.delete", Args: []string{id}})
		proof.Eventually(t, "a deleted prompt is removed from memory", func() bool {
			return s.prompted(t, name, 0.001, long, "").Error != nil
		})
		if r := s.prompted(t, name, 0.001, long, ""); r.Error == nil || r.Error.Code != "prompt_template_not_found" {
			t.Errorf("the error is %+v", r.Error)
		}
		if got := s.rendered(t, name, 0.001, long, "Hi {{name}}"); got["is_fallback"] != true ||
			got["text"] != "Hi Ann" {
			t.Errorf("with a fallback, the prompt is %v", got)
		}

		name = s.prompt(t, "Stored {{name}}")
		s.rendered(t, name, long, long, "")
		s.breaks(slices.Repeat([]script{{status: 503}}, 1000)...)
		proof.Eventually(t, "after its longest time in an outage, a prompt is replaced by its fallback", func() bool {
			return s.rendered(t, name, 0.000001, 0.000001, "Hi {{name}}")["text"] == "Hi Ann"
		})
		s.reset()
		if got := s.rendered(t, name, 0.000001, 0.000001, ""); got["text"] != "Stored Ann" {
			t.Errorf("after the outage, the prompt is %v", got)
		}
		if got := s.rendered(t, name, 0, 0, ""); got["text"] != "Stored Ann" {
			t.Errorf("what the server has just confirmed, but is used for no time, is %v", got)
		}
	})
}
