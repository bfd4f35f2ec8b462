package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

const chats = "/api/chat-templates"

// inner are the fields that neither lists nor viewers of a chat template are shown.
var inner = []string{"inner-thoughts", "inner-model", "inner-queue", "instructions", "model_config",
	`"config"`, `"prompt"`}

func TestTheLifeOfAChat(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob, admin := s.user(t, "member"), s.user(t, "member"), s.user(t, "admin")
		full := object{
			"name": "Support", "description": "Answers", "avatar_url": "https://example.com/a.png",
			"instructions": "inner-thoughts",
			"agents":       []object{{"id": "assistant", "config": object{"tone": "friendly"}}},
			"tools": []object{{"id": "create-ticket", "config": object{"queue": "inner-queue"}},
				{"id": "knowledge-search"}},
			"capabilities": []string{"citations"}, "model_config": object{"model_name": "inner-model"},
			"greeting": "Hi", "conversation_starters": []string{"How?"},
			"metadata": object{"team": "42", "x": object{"y": 1, "z": 2}},
		}
		newItem := ann.create(t, chats, full, "Idempotency-Key: chat")
		chat := chats + "/" + newItem.at("id")
		newItem.has(t, map[string]string{"my_role": "owner", "status": "draft", "visibility": "private", "health": "ok",
			"issues": "[]", "workflows": "[]", "tools.0.config.queue": "inner-queue",
			"model_config.model_name": "inner-model", "prompt": "null"})
		assert.Equal(t, "Location", newItem.header.Get("Location"), chat)
		if second := ann.create(t, chats, full, "Idempotency-Key: chat"); second.text != newItem.text ||
			second.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("not replayed: %s", second)
		}

		t.Run("only the owner sees a chat template until it is shared", func(t *testing.T) {
			bob.do(t, "GET", chat, nil).problem(t, 404, "chat_template_not_found")
			ann.create(t, chat+"/members", object{"email": strings.ToUpper(bob.email), "role": "viewer"}).
				has(t, map[string]string{"user_id": bob.id, "email": bob.email, "role": "viewer", "status": "active",
					"invited_by": ann.id, "accept_url": ""})
			ann.do(t, "POST", chat+"/members", object{"user_id": bob.id, "role": "editor"}).problem(t, 409,
				"already_member")
			ann.do(t, "POST", chat+"/members", object{"user_id": ann.id, "role": "editor"}).problem(t, 409,
				"already_member")
			if got := bob.get(t, chat+"/members").each(t, "role"); !slices.Equal(slices.Sorted(slices.Values(got)),
				[]string{"owner", "viewer"}) {
				t.Errorf("the members are %q", got)
			}
		})
		t.Run("viewers and lists do not show the inner fields", func(t *testing.T) {
			seen := bob.get(t, chat).has(t, map[string]string{"my_role": "viewer", "agents.0.id": "assistant",
				"greeting": "Hi"})
			for name, a := range map[string]*answer{"a viewer": seen, "a viewer's list": bob.get(t, chats),
				"an owner's list": ann.get(t, chats)} {
				if containsAny(a.text, inner...) {
					t.Errorf("%s sees %s", name, a)
				}
			}
			if owners := ann.get(t, chat); owners.header.Get("Etag") == seen.header.Get("Etag") {
				t.Error("both have one ETag")
			}
			ann.do(t, "GET", chat, nil, "If-None-Match: "+ann.get(t, chat).header.Get("Etag")).is(t, 304)
		})
		t.Run("a patch is merged, and refused after another user's change", func(t *testing.T) {
			stale := ann.get(t, chat).header.Get("Etag")
			admin.do(t, "PATCH", chat, object{"metadata": object{"team": nil, "x": object{"y": 3}},
				"model_config": object{"temperature": 0.5}, "avatar_url": nil, "status": "published"},
				"If-Match: "+stale).is(t, 200).
				has(t, map[string]string{"metadata": `{"x":{"y":3,"z":2}}`, "model_config.model_name": "inner-model",
					"model_config.temperature": "0.5", "avatar_url": "null", "revision": "2",
					"tools.0.config.queue": "inner-queue"})
			ann.do(t, "PATCH", chat, object{"greeting": "Hello"}, "If-Match: "+stale).problem(t, 412,
				"revision_mismatch")
			ann.do(t, "DELETE", chat, nil, "If-Match: "+stale).problem(t, 412, "revision_mismatch")
			ann.do(t, "PATCH", chat, object{"model_config": nil, "metadata": nil, "capabilities": nil}).is(t,
				200).has(t, map[string]string{"model_config": "{}", "metadata": "{}", "capabilities": "[]"})
		})
		t.Run("filters narrow the list", func(t *testing.T) {
			ann.create(t, chats, object{"name": "Other", "visibility": "workspace"})
			for query, want := range map[string]int{"?q=SUPP": 1, "?status=published": 1, "?status=disabled": 0,
				"?visibility=workspace": 1, "?q=e": 2, "?visibility=private&status=draft": 0} {
				assert.Equal(t, query+": answers", len(ann.get(t, chats+query).items(t)), want)
			}
			first := ann.get(t, chats+"?limit=1")
			if rest := ann.get(t, chats+"?limit=1&cursor="+first.at("next_cursor")); rest.at("data.0.id") == first.at(
				"data.0.id") || rest.at("next_cursor") != "null" {
				t.Errorf("the second page is %s", rest)
			}
			ann.do(t, "GET", chats+"?status=live", nil).problem(t, 400, "invalid_parameter")
		})
		t.Run("of 16 concurrent attachments of a workflow one succeeds", func(t *testing.T) {
			var mu sync.Mutex
			statuses := map[int]int{}
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					a, err := ann.try(t, "POST", chat+"/workflows/hand-over", nil)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					statuses[a.status]++
				})
			}
			wg.Wait()
			if statuses[201] != 1 || statuses[200] != 15 {
				t.Errorf("answered %v", statuses)
			}
			bob.get(t, chat).has(t, map[string]string{"workflows.0.workflow_id": "hand-over",
				"workflows.0.attached_by": ann.id, "workflows.1": ""})
			ann.do(t, "DELETE", chat+"/workflows/hand-over", nil).is(t, 204)
			ann.do(t, "DELETE", chat+"/workflows/hand-over", nil).problem(t, 404, "workflow_not_attached")
			ann.do(t, "POST", chat+"/workflows/none", nil).problem(t, 422, "unknown_workflow")
		})
		t.Run("the owner transfers a template and becomes a manager", func(t *testing.T) {
			ann.do(t, "DELETE", chat+"/members/"+ann.id, nil).problem(t, 409, "owner_stays")
			ann.do(t, "PATCH", chat+"/members/"+ann.id, object{"role": "viewer"}).problem(t, 409, "owner_stays")
			admin.do(t, "PATCH", chat, object{"owner_id": bob.id}).problem(t, 403, "chat_template_forbidden")
			ann.do(t, "PATCH", chat, object{"owner_id": "usr_x"}).problem(t, 422, "user_not_in_workspace")
			ann.do(t, "PATCH", chat, object{"owner_id": bob.id}).is(t, 200).has(t,
				map[string]string{"owner_id": bob.id, "my_role": "manager"})
			ann.do(t, "DELETE", chat+"/members/"+ann.id, nil).is(t, 204)
			ann.do(t, "GET", chat, nil).problem(t, 404, "chat_template_not_found")
			bob.do(t, "PATCH", chat, object{"owner_id": ann.id}).is(t, 200)
		})
		t.Run("a deleted template is restored with everything it had", func(t *testing.T) {
			item := ann.get(t, chat)
			ann.do(t, "DELETE", chat, nil).is(t, 204)
			for _, path := range []string{"", "/members"} {
				ann.do(t, "GET", chat+path, nil).problem(t, 404, "chat_template_not_found")
			}
			assert.Equal(t, "are listed", len(ann.get(t, chats+"?q=support").items(t)), 0)
			admin.do(t, "POST", chat+"/restore", nil).is(t, 200)
			ann.get(t, chat).has(t, map[string]string{"greeting": item.at("greeting"), "tools": item.at("tools")})
			bob.get(t, chat)
		})
		t.Run("the audit trail records every change without inner fields", func(t *testing.T) {
			a := admin.get(t, "/api/events?limit=100&subject="+newItem.at("id"))
			seen := map[string]bool{}
			for _, kind := range a.each(t, "type") {
				seen[kind] = true
			}
			for _, kind := range []string{
				"chat_template.created", "chat_template.updated", "chat_template.transferred", "chat_template.deleted",
				"chat_template.restored",
				"chat_member.added", "chat_member.removed", "chat_workflow.attached", "chat_workflow.detached",
			} {
				if !seen[kind] {
					t.Errorf("there is no event %s", kind)
				}
			}
			if containsAny(a.text, "inner-") {
				t.Errorf("the trail holds what is inside: %s", a)
			}
		})
	})
}

func TestChatInput(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, admin, foreigner := s.user(t, "member"), s.user(t, "admin"), s.user(t, "owner", "--workspace", "elsewhere")
		chat := chats + "/" + ann.create(t, chats, object{"name": "untouched"}).at("id")
		private := admin.template(t, "private")
		admin.version(t, private, "x")
		text := ann.template(t, "mine")
		call := func(path, ref string) object {
			return object{"prompt_template_id": path[len(templates)+1:], "ref": ref}
		}
		const canary, invalid = "canary-7c1f0", "invalid_fields"
		for _, tt := range []struct {
			name, method, path string
			body               any
			status             int
			code, wrong        string
		}{
			{"no name", "POST", chats, object{}, 422, invalid, "/name required"},
			{"an agent that there is not", "POST", chats, object{"name": "x", "agents": []object{{"id": canary}}}, 422,
				"unknown_registry_item", "/agents/0/id unknown_registry_item"},
			{"a tool and a capability that there are not", "PATCH", chat,
				object{"tools": []object{{"id": canary}}, "capabilities": []string{"citations", canary}}, 422,
				"unknown_registry_item", "/tools/0/id unknown_registry_item,/capabilities/1 unknown_registry_item"},
			{"a configuration that breaks the schema", "POST", chats,
				object{
					"name": "x", "agents": []object{
						{"id": "assistant", "config": object{"tone": canary, "max_turns": 1000}}}}, 422,
				"invalid_item_config", "/agents/0/config/max_turns invalid_item_config,/agents/0/config/tone " +
					"invalid_item_config"},
			{"a configuration without what it needs", "POST", chats,
				object{"name": "x", "tools": []object{{"id": "create-ticket"}}}, 422, "invalid_item_config",
				"/tools/0/config/queue invalid_item_config"},
			{"a configuration that is no object", "POST", chats,
				object{"name": "x", "tools": []object{{"id": "web-search", "config": canary}}}, 422, invalid,
				"/tools/0/config wrong_type"},
			{"eleven agents", "POST", chats,
				object{"name": "x", "agents": slices.Repeat([]object{{"id": "assistant"}}, 11)}, 422, invalid,
				"/agents too_many_items"},
			{"an agent twice", "POST", chats,
				object{"name": "x", "agents": slices.Repeat([]object{{"id": "assistant"}}, 2)}, 422, invalid,
				"/agents/1/id duplicate_item"},
			{"instructions and a prompt", "POST", chats,
				object{"name": "x", "instructions": canary, "prompt": call(text, "latest")}, 422, invalid,
				"/prompt not_allowed_value"},
			{"a prompt that is somebody else's", "POST", chats, object{"name": "x", "prompt": call(private, "latest")},
				422, "prompt_unavailable", "/prompt prompt_unavailable"},
			{"a prompt that there is not", "PATCH", chat,
				object{"prompt": object{"prompt_template_id": canary, "ref": "latest"}}, 422, "prompt_unavailable",
				"/prompt prompt_unavailable"},
			{"a version that there is not", "PATCH", chat, object{"prompt": call(text, "v9")}, 422,
				"prompt_unavailable", "/prompt prompt_unavailable"},
			{"a reference that is none", "PATCH", chat, object{"prompt": call(text, canary+"!")}, 422, invalid,
				"/prompt/ref invalid_format"},
			{"a picture over http", "PATCH", chat, object{"avatar_url": "http://" + canary}, 422, invalid,
				"/avatar_url invalid_format"},
			{"metadata that is too long once merged", "PATCH", chat,
				object{"metadata": object{"a": strings.Repeat("a", 16<<10)}}, 422, invalid, "/metadata too_long"},
			{"a status that there is not", "PATCH", chat, object{"status": canary}, 422, invalid,
				"/status not_allowed_value"},
			{"more than 1 MiB", "POST", chats, `{"name":"` + strings.Repeat("x", 1<<20) + `"}`, 413,
				"body_too_large", ""},
			{"a role above any that can be given", "POST", chat + "/members",
				object{"user_id": admin.id, "role": "owner"}, 422, invalid, "/role not_allowed_value"},
			{"a member with two names", "POST", chat + "/members",
				object{"user_id": admin.id, "email": admin.email, "role": "viewer"}, 422, invalid, "/user_id required"},
			{"a member with none", "POST", chat + "/members", object{"role": "viewer"}, 422, invalid,
				"/user_id required"},
			{"a user of another workspace", "POST", chat + "/members",
				object{"user_id": foreigner.id, "role": "viewer"}, 422, "user_not_in_workspace", ""},
			{"a user that there is not", "POST", chat + "/members", object{"user_id": canary, "role": "viewer"}, 422,
				"user_not_in_workspace", ""},
			{"an address from outside, by a member", "POST", chat + "/members",
				object{"email": foreigner.email, "role": "viewer"}, 403, "invitation_role_required", ""},
			{"an address that nobody has, by a member", "POST", chat + "/members",
				object{"email": "x@example.com", "role": "viewer"}, 403, "invitation_role_required", ""},
			{"what is no address", "POST", chat + "/members", object{"email": canary, "role": "viewer"}, 422, invalid,
				"/email invalid_format"},
			{"a member that there is not", "PATCH", chat + "/members/" + admin.id, object{"role": "viewer"}, 404,
				"chat_member_not_found", ""},
			{"a workflow that there is not", "POST", chat + "/workflows/" + canary, nil, 422, "unknown_workflow", ""},
			{"nothing of one's own to know", "GET", chats + "/registry?x=1", nil, 400, "unknown_parameter", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				a := ann.do(t, tt.method, tt.path, tt.body).problem(t, tt.status, tt.code)
				mistakes := a.wrong()
				want := slices.DeleteFunc(strings.Split(tt.wrong, ","), func(s string) bool { return s == "" })
				slices.Sort(mistakes)
				slices.Sort(want)
				if !slices.Equal(mistakes, want) {
					t.Errorf("wrong are %q, want %q\n%s", mistakes, want, a)
				}
				if containsAny(a.text, canary) {
					t.Errorf("what was sent comes back: %s", a)
				}
			})
		}
		t.Run("bad requests have changed nothing", func(t *testing.T) {
			ann.get(t, chat).has(t, map[string]string{"name": "untouched", "revision": "1", "metadata": "{}"})
			if got := len(ann.get(t, chats).items(t)); got != 1 {
				t.Errorf("there are %d templates, want 1", got)
			}
		})
		t.Run("an identifier of another kind or workspace is not found", func(t *testing.T) {
			theirs := chats + "/" + foreigner.create(t, chats, object{"name": "theirs"}).at("id")
			for _, path := range []string{theirs, chats + "/" + strings.TrimPrefix(text, templates+"/"), chats + "/x",
				chats + "/ctpl_" + strings.Repeat("0", 26)} {
				ann.do(t, "GET", path, nil).problem(t, 404, "chat_template_not_found")
				ann.do(t, "POST", path+"/members", object{"user_id": admin.id, "role": "viewer"}).problem(t, 404,
					"chat_template_not_found")
			}
		})
	})
}

func TestPromptsOfChats(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		prompt := ann.template(t, "support")
		first := ann.version(t, prompt, "one", "production")
		ann.version(t, prompt, "two")
		ann.version(t, prompt, "three")
		use := func(ref string) object {
			return object{"prompt_template_id": prompt[len(templates)+1:], "ref": ref}
		}
		hers := chats + "/" + ann.create(t, chats, object{"name": "Hers", "prompt": use("production")}).at("id")
		ann.do(t, "POST", prompt+"/versions/v2/activate", nil).is(t, 200)

		t.Run("a version is in use by its label, its number and its id, and the template in any way",
			func(t *testing.T) {
				by := map[string]string{"used_by.0.id": hers[len(chats)+1:], "used_by.0.name": "Hers", "used_by.1": ""}
				ann.do(t, "PATCH", prompt+"/versions/v1", object{"labels": []string{"other"}}).
					problem(t, 409, "in_use").has(t, by)
				for _, ref := range []string{"production", "v1", first[strings.LastIndex(first, "/")+1:]} {
					ann.do(t, "PATCH", hers, object{"prompt": use(ref)}).is(t, 200).has(t,
						map[string]string{"prompt.ref": ref, "health": "ok"})
					for _, path := range []string{prompt + "/versions/v1", prompt} {
						ann.do(t, "DELETE", path, nil).problem(t, 409, "in_use").has(t, by)
					}
				}
				ann.do(t, "PATCH", hers, object{"prompt": use("active")}).is(t, 200)
				ann.do(t, "DELETE", prompt, nil).problem(t, 409, "in_use")
				ann.do(t, "DELETE", prompt+"/versions/v3", nil).is(t, 204)
			})
		t.Run("templates that the caller cannot see are not named", func(t *testing.T) {
			ann.create(t, prompt+"/shares", object{"user_id": bob.id, "role": "viewer"})
			hisText := chats + "/" + bob.create(t, chats, object{"name": "His", "prompt": use("active")}).at("id")
			a := ann.do(t, "DELETE", prompt, nil).problem(t, 409, "in_use").has(t,
				map[string]string{"used_by.0.name": "Hers", "used_by.1": ""})
			if containsAny(a.text, "His", hisText[len(chats)+1:]) {
				t.Errorf("it is: %s", a)
			}
			ann.do(t, "PATCH", hers, object{"prompt": nil, "instructions": "mine"}).is(t, 200)
			ann.do(t, "DELETE", prompt, nil).problem(t, 409, "in_use").has(t, map[string]string{"used_by": "",
				"used_by_count": "1", "used_by_owners.0.id": bob.id, "used_by_owners.1": ""})
			ann.do(t, "DELETE", prompt+"?force=true", nil).is(t, 204)
			bob.get(t, hisText).has(t,
				map[string]string{"health": "degraded", "issues.0.code": "prompt_gone", "issues.0.pointer": "/prompt"})
		})
	})
}

func TestChatRegistry(t *testing.T) {
	t.Parallel()
	const config = `
orgs:
  - slug: default
    hosts: [red.example.com]
    registry:
      agents: [%s]
      tools: [{id: search, config_schema: {type: object, properties: {n: {type: integer}}}}]
      workflows: [{id: digest}]
  - {slug: blue, hosts: [blue.example.com]}
`
	s := start(t, sqlite, configured(fmt.Sprintf(config, "{id: assistant}, {id: researcher}")))
	ann, blue := s.user(t, "owner", "--org", "default"), s.user(t, "owner", "--org", "blue")
	offeredResponse := ann.get(t, chats+"/registry", onRed).has(t,
		map[string]string{"agents.0.id": "assistant", "agents.0.name": "assistant", "agents.0.status": "available",
			"agents.0.effects": "read", "tools.0.config_schema.type": "object", "workflows.0.config_schema": "null"})
	chat := chats + "/" + ann.create(t, chats,
		object{"name": "x", "agents": []object{{"id": "assistant"}, {"id": "researcher"}}}, onRed).at("id")
	ann.create(t, chat+"/workflows/digest", nil, onRed)
	tag := ann.get(t, chat, onRed).header.Get("Etag")

	t.Run("the registry is the org's, and is not sent again while unchanged", func(t *testing.T) {
		blue.get(t, chats+"/registry", "Host: blue.example.com").has(t,
			map[string]string{"agents": "[]", "workflows": "[]"})
		ann.do(t, "GET", chats+"/registry", nil, onRed, "If-None-Match: "+offeredResponse.header.Get("Etag")).is(t, 304)
		ann.get(t, chats+"/registry", onRed, "Workspace-Id:")
	})
	t.Run("a template degrades if a reload removes an entry that it uses", func(t *testing.T) {
		s.reload(t, strings.Replace(fmt.Sprintf(config, "{id: assistant, status: disabled}"),
			"workflows: [{id: digest}]", "workflows: []", 1), "the configuration was reloaded")
		got := ann.get(t, chat, onRed).has(t, map[string]string{
			"health": "degraded", "revision": "2", "issues.0.code": "item_disabled", "issues.0.pointer": "/agents/0",
			"issues.1.code": "item_gone", "issues.1.pointer": "/agents/1", "issues.2.code": "workflow_gone"})
		if got.header.Get("Etag") == tag {
			t.Error("a cache would not notice")
		}
		ann.get(t, chat+"/runtime", onRed).has(t, map[string]string{"agents": "[]", "issues.0.code": "item_disabled"})
		if current := ann.get(t, chats+"/registry", onRed); current.at("revision") == offeredResponse.at("revision") ||
			current.header.Get("Etag") == offeredResponse.header.Get("Etag") {
			t.Error("the registry has the revision that it had")
		}
		ann.do(t, "PATCH", chat, object{"greeting": "still works"}, onRed, "If-Match: "+tag).is(t, 200)
		// What it has may stay, and what it has given up does not come back.
		ann.do(t, "PATCH", chat, object{"agents": []object{{"id": "assistant"}}}, onRed).is(t, 200)
		ann.do(t, "PATCH", chat, object{"agents": []object{{"id": "researcher"}}}, onRed).problem(t, 422,
			"unknown_registry_item")
		ann.do(t, "POST", chat+"/workflows/digest", nil, onRed).is(t, 200) // it is attached
		ann.do(t, "DELETE", chat+"/workflows/digest", nil, onRed).is(t, 204)
		ann.do(t, "POST", chat+"/workflows/digest", nil, onRed).problem(t, 422, "unknown_workflow")
		ann.do(t, "PATCH", chat, object{"agents": []object{}}, onRed).is(t, 200).has(t,
			map[string]string{"health": "ok"})
	})
	t.Run("a registry with a bad schema is refused, and the present one stays", func(t *testing.T) {
		previousText := ann.get(t, chats+"/registry", onRed).text
		s.reload(t, fmt.Sprintf(config, `{id: assistant, config_schema: {type: s3cret}}`),
			"orgs[0].registry.agents[0].config_schema: ")
		if nextText := ann.get(t, chats+"/registry", onRed).text; nextText != previousText {
			t.Errorf("it is %s", nextText)
		}
		if containsAny(s.stderr.String(), "s3cret") {
			t.Error("the log quotes it")
		}
	})
}
