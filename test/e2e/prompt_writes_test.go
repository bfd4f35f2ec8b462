package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func init() {
	var written atomic.Int64
	examples["writePromptVersion"] = example{make: func(*testing.T, *testWorkspace, *testCaller) target {
		return target{body: object{"name": fmt.Sprintf("written/example-%d", written.Add(1)), "text": "Hello"}}
	}}
}

func TestVersionsAreWrittenByTheNameOfTheirPrompt(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		const path = templates + "/versions"
		write := func(text string) object { return object{"name": "written/greeting", "text": text} }
		t.Run("a name gets a prompt once, then its next versions", func(t *testing.T) {
			first := ann.create(t, path, write("one"), "Idempotency-Key: first")
			first.has(t, map[string]string{"number": "1", "text": "one", "state": "draft"})
			ann.create(t, path, write("one"), "Idempotency-Key: first").has(t, map[string]string{"id": first.at("id")})
			next := object{"name": "Written/GREETING", "text": "two", "labels": []string{"staging"}, "activate": true,
				"base_version_id": first.at("id")}
			second := ann.create(t, path, next).has(t, map[string]string{"number": "2", "is_active": "true",
				"prompt_template_id": first.at("prompt_template_id"), "labels": `["staging"]`,
				"chats_missing_variables": "[]"})
			ann.get(t, second.header.Get("Location")).has(t, map[string]string{"id": second.at("id")})
			ann.get(t, templates+"/"+first.at("prompt_template_id")).has(t, map[string]string{"type": "text",
				"name": "written/greeting", "visibility": "private", "version_count": "2"})
			ann.do(t, "POST", path, next).problem(t, 409, "base_outdated")
			next["base_version_id"] = "pver_00000000000000000000000000"
			ann.do(t, "POST", path, next).problem(t, 404, "prompt_version_not_found")
		})
		t.Run("the two calls' rules apply", func(t *testing.T) {
			bob.do(t, "POST", path, write("three")).problem(t, 409, "name_taken")
			ann.do(t, "POST", path, write("{{#x}}")).problem(t, 422, "unsupported_syntax")
			ann.do(t, "POST", path, object{"text": "x"}).problem(t, 422, "invalid_fields").has(t,
				map[string]string{"errors.0.pointer": "/name"})
			ann.do(t, "POST", path, object{"name": "a//b", "text": "x"}).problem(t, 422, "invalid_fields").has(t,
				map[string]string{"errors.0.pointer": "/name"})
			ann.do(t, "POST", path, object{"name": "written/none"}).problem(t, 422, "invalid_fields").has(t,
				map[string]string{"errors.0.pointer": "/text"})
			ann.do(t, "POST", path, object{"name": "written/based", "text": "x", "base_version_id": "v1"}).
				problem(t, 422, "invalid_fields").has(t, map[string]string{"errors.0.pointer": "/base_version_id"})
			ann.do(t, "GET", templates+"/resolve?name=written/based", nil).problem(t, 404, "prompt_template_not_found")
			messages := []object{{"role": "user", "content": "Hi"}}
			ann.do(t, "POST", path, object{"name": "written/greeting", "messages": messages}).problem(t, 422,
				"invalid_fields").has(t, map[string]string{"errors.0.pointer": "/text", "errors.1.pointer": "/messages"})
			chat := ann.create(t, path, object{"name": "written/chat", "visibility": "workspace", "messages": messages})
			bob.do(t, "POST", path, object{"name": "written/chat", "messages": messages}).problem(t, 403,
				"prompt_template_forbidden")
			template := templates + "/" + chat.at("prompt_template_id")
			ann.do(t, "PATCH", template, object{"protected": true, "approvals": 1}).is(t, 200)
			ann.do(t, "POST", template+"/shares",
				object{"user_id": bob.id, "role": "editor"}).is(t, 201)
			live := object{"name": "written/chat", "messages": messages, "activate": true}
			bob.do(t, "POST", path, live).problem(t, 403, "prompt_template_forbidden")
			ann.do(t, "PATCH", template, object{"required_checks": []string{"eval"}}).is(t, 200)
			ann.do(t, "POST", path, live).problem(t, 409, "activation_gated")
			s.user(t, "viewer").do(t, "POST", path, object{"name": "written/viewer", "text": "x"}).problem(t, 403,
				"forbidden")
		})
		t.Run("calls at the same time create one prompt", func(t *testing.T) {
			var wait sync.WaitGroup
			var numbers, ids [8]string
			for i := range numbers {
				wait.Go(func() {
					a, err := ann.try(t, "POST", path, object{"name": "written/race", "text": fmt.Sprint(i)})
					if err != nil || a.status != 201 {
						t.Errorf("%v: %s", err, a)
						return
					}
					numbers[i], ids[i] = a.at("number"), a.at("prompt_template_id")
				})
			}
			wait.Wait()
			slices.Sort(numbers[:])
			if got := strings.Join(numbers[:], " "); got != "1 2 3 4 5 6 7 8" || len(slices.Compact(ids[:])) != 1 {
				t.Errorf("the versions are %s of %v", got, ids)
			}
		})
	})
}
