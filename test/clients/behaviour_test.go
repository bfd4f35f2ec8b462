package clients

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// session is a client of a world.
type session struct {
	*world
	driver driver
}

// call makes a call, and fails the test if anything that could be logged contains the credential.
func (s *session) call(t *testing.T, c command) result {
	t.Helper()
	c.Do = "call"
	r := s.driver.do(t, c, nil)
	if r.Error != nil && strings.Contains(r.Error.Text, s.key) {
		t.Errorf("%s: the error contains the API key: %s", c.Name, r.Error.Text)
	}
	return r
}

// must is call for one that succeeds.
func (s *session) must(t *testing.T, c command) result {
	t.Helper()
	r := s.call(t, c)
	if r.Error != nil {
		t.Fatalf("%s failed: %+v", c.Name, *r.Error)
	}
	return r
}

func (r result) at(t *testing.T, name string) string {
	t.Helper()
	value, ok := r.Value.(object)[name].(string)
	if !ok {
		t.Fatalf("the result has no %s: %v", name, r.Value)
	}
	return value
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("clients/%d", names.Add(1)) }

func create(name string) command {
	return command{Name: "promptTemplates.create", HasBody: true, Body: object{"name": name}}
}

func update(id string, patch object) command {
	return command{Name: "promptTemplates.update", Args: []string{id}, HasBody: true, Body: patch}
}

func get(id string) command { return command{Name: "promptTemplates.get", Args: []string{id}} }

// statuses are what the observer saw: 503+ is a status 503 that was followed by another attempt.
func (r result) statuses() string {
	var all []string
	for _, a := range r.Attempts {
		text := fmt.Sprint(a.Status)
		if a.Again {
			text += "+"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	lost, refusal, ok := script{fault: lose}, script{fault: refuse}, script{}
	status := func(n int) script { return script{status: n} }
	remove := func(id string) command { return command{Name: "promptTemplates.delete", Args: []string{id}} }
	render := func(id string) command {
		return command{Name: "promptTemplates.render", Args: []string{id}, HasBody: true, Body: object{}}
	}
	post := func(string) command { return create(newName()) }
	patch := func(id string) command { return update(id, object{"description": "new"}) }
	all := []attemptCase{
		{"a lost response of a POST with a key", post, []script{lost, ok}, "0+ 201", ""},
		{"a refused connection", post, []script{refusal, refusal, ok}, "0+ 0+ 201", ""},
		{"no response after all attempts", post, []script{refusal, refusal, refusal}, "0+ 0+ 0", "connection"},
		{"500 of a POST with a key", post, []script{status(500), ok}, "500+ 201", ""},
		{"500 of a GET", get, []script{status(500)}, "500", "unexpected_response"},
		{"502 of a GET", get, []script{status(502), ok}, "502+ 200", ""},
		{"504 of a GET", get, []script{status(504), ok}, "504+ 200", ""},
		{"408 of a GET", get, []script{status(408), ok}, "408+ 200", ""},
		{"503 of a PATCH", patch, []script{status(503), ok}, "503+ 200", ""},
		{"502 of a PATCH", patch, []script{status(502)}, "502", "unexpected_response"},
		{"500 of a PATCH", patch, []script{status(500)}, "500", "unexpected_response"},
		{"a lost response of a PATCH", patch, []script{lost}, "0", "connection"},
		{"429 of a PATCH", patch, []script{{status: 429, retryAfter: "1"}, ok}, "429+ 200", ""},
		{"429 that asks for more than a minute", post, []script{{status: 429, retryAfter: "61"}}, "429",
			"unexpected_response"},
		{"a lost response of a DELETE", remove, []script{lost, ok}, "0+ 404", ""},
		{"a lost response of a POST that can be repeated", render, []script{lost, ok}, "0+ 404", "prompt_version_not_found"},
		{"a page with status 200", get, []script{{fault: page}}, "200", "unexpected_response"},
		{"an error of the API", get, []script{{fault: none}}, "200", ""},
	}
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		for _, tt := range all {
			t.Run(tt.name, func(t *testing.T) { tt.run(t, s) })
		}
	})
}

// attemptCase is a call whose requests break, and what the client makes of it.
type attemptCase struct {
	name string
	call func(id string) command
	next []script
	want string // the attempts
	code string // of the error; empty for a success
}

func (tt attemptCase) run(t *testing.T, s *session) {
	id := s.must(t, create(newName())).at(t, "id")
	s.breaks(tt.next...)
	s.requests()
	c := tt.call(id)
	r := s.call(t, c)
	if got := r.statuses(); got != tt.want {
		t.Errorf("the attempts were %q, want %q (error: %+v)", got, tt.want, r.Error)
	}
	switch {
	case tt.code == "" && r.Error != nil:
		t.Errorf("it failed: %+v", *r.Error)
	case tt.code == "connection" && (r.Error == nil || r.Error.Kind != "connection"):
		t.Errorf("the error is %+v", r.Error)
	case tt.code != "" && tt.code != "connection" && (r.Error == nil || r.Error.Code != tt.code):
		t.Errorf("the error is %+v", r.Error)
	}
	keys := map[string]bool{}
	for _, request := range s.requests() {
		keys[request.key] = true
		if got := request.headers.Get("Traceparent"); !strings.HasPrefix(got, "00-0af7") {
			t.Errorf("the observer's header is %q", got)
		}
		if got := request.headers.Get("User-Agent"); !strings.HasPrefix(got, "atrium-") {
			t.Errorf("User-Agent is %q", got)
		}
	}
	isCreate := c.Name == "promptTemplates.create"
	if len(keys) != 1 || (isCreate && keys[""]) {
		t.Errorf("the attempts have the keys %v, want the same", keys)
	}
	if r.Error != nil || !isCreate {
		return
	}
	if got := s.named(t, c.Body.(object)["name"].(string)); got != 1 {
		t.Errorf("there are %d templates with the name, want 1", got)
	}
}

// named counts the templates with a name.
func (s *session) named(t *testing.T, name string) (count int) {
	t.Helper()
	r := s.must(t, command{Name: "promptTemplates.list", HasQuery: true, Query: object{"q": name},
		Options: callOptions{All: true}})
	for _, item := range r.Value.([]any) {
		if item.(object)["name"] == name {
			count++
		}
	}
	return count
}

func TestErrorsAndHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	inEach(t, func(t *testing.T, d driver) {
		s := w.connect(t, d)
		name := newName()
		newResult := s.must(t, create(name))
		id := newResult.at(t, "id")

		t.Run("a code, a status and the id of the request", func(t *testing.T) {
			r := s.call(t, create(name))
			if r.Error == nil || r.Error.Kind != "api" || r.Error.Code != "name_taken" || r.Error.Status != 409 ||
				!strings.HasPrefix(r.Error.RequestID, "req_") {
				t.Errorf("the error is %+v", r.Error)
			}
		})
		t.Run("an own key makes a call of its own repeatable", func(t *testing.T) {
			c := create(newName())
			c.Options.IdempotencyKey = newName()
			first, second := s.must(t, c), s.must(t, c)
			if first.at(t, "id") != second.at(t, "id") {
				t.Error("the second call had an effect")
			}
		})
		t.Run("an ETag is sent and protects", func(t *testing.T) {
			if newResult.ETag == "" {
				t.Fatal("there is no ETag")
			}
			c := update(id, object{"description": "first"})
			c.Options.IfMatch = newResult.ETag
			s.must(t, c)
			if r := s.call(t, c); r.Error == nil || r.Error.Code != "revision_mismatch" {
				t.Errorf("the error is %+v", r.Error)
			}
			c = get(id)
			c.Options.IfNoneMatch = s.must(t, get(id)).ETag
			if r := s.call(t, c); r.Error == nil || r.Error.Kind != "not_modified" {
				t.Errorf("the error is %+v", r.Error)
			}
		})
		t.Run("absent, null and a value are three things", func(t *testing.T) {
			s.must(t, update(id, object{"description": "kept", "tags": []string{"a"}}))
			if r := s.must(t, update(id, object{"tags": nil})); r.at(t, "description") != "kept" ||
				len(r.Value.(object)["tags"].([]any)) != 0 {
				t.Errorf("the template is %v", r.Value)
			}
			if r := s.must(t, update(id, object{"description": nil})); r.at(t, "description") != "" {
				t.Errorf("the template is %v", r.Value)
			}
		})
		t.Run("a parameter cannot lead to another operation", func(t *testing.T) {
			w.requests()
			for _, id := range []string{"", ".", ".."} {
				if r := s.call(t, get(id)); r.Error == nil {
					t.Errorf("%q was accepted", id)
				}
			}
			if all := w.requests(); len(all) != 0 {
				t.Errorf("it sent %v", all)
			}
			if r := s.call(t, get("a/../../me")); r.Error == nil || r.Error.Status != 404 {
				t.Errorf("the error is %+v", r.Error)
			}
		})
		t.Run("a redirect is not followed", func(t *testing.T) {
			w.breaks(script{fault: move}, script{fault: move}, script{fault: move})
			if r := s.call(t, get(id)); r.Error == nil {
				t.Error("it succeeded")
			}
			w.reset()
		})
		t.Run("an error names the fields that are not valid", func(t *testing.T) {
			if r := s.call(t, create("")); r.Error == nil || !strings.Contains(r.Error.Text, "not valid. /name: ") {
				t.Errorf("the error is %+v", r.Error)
			}
		})
		t.Run("a list has all pages while others write", func(t *testing.T) {
			var want []string
			prefix := newName() + "/"
			for i := range 7 {
				want = append(want, s.must(t, create(fmt.Sprint(prefix, i))).at(t, "id"))
			}
			w.requests()
			output := make(chan struct{})
			go func() {
				defer close(output)
				for range 10 {
					w.post(t, "/api/prompt-templates", fmt.Sprintf(`{"name": %q}`, newName()))
				}
			}()
			r := s.must(t, command{Name: "promptTemplates.list", HasQuery: true,
				Query: object{"q": prefix, "limit": 2}, Options: callOptions{All: true}})
			<-output
			got := map[any]int{}
			for _, item := range r.Value.([]any) {
				got[item.(object)["id"]]++
			}
			for _, id := range want {
				if got[id] != 1 {
					t.Errorf("%s was listed %d times", id, got[id])
				}
			}
			if all := w.requests(); len(all) < 4 {
				t.Errorf("it read %d pages", len(all))
			}
		})
		t.Run("an attempt ends with its time-out", func(t *testing.T) {
			s := w.connectWith(t, d, settings{MaxRetries: 0, TimeoutMS: 500})
			w.breaks(script{fault: stall})
			if r := s.call(t, get(id)); r.Error == nil || r.Error.Kind != "connection" {
				t.Errorf("the error is %+v", r.Error)
			}
		})
	})
}
