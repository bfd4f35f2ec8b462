package e2e

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/histories"
)

// agentMessages are a conversation with everything that a message can have.
const agentMessages = `[
	{"role":"system","content":[{"type":"text","text":"Be {{mood}}.","cache_control":{"type":"ephemeral"}}]},
	{"role":"user","name":"ann","content":[{"type":"text","text":"What is {{> parts/thing}}?"},` +
	`{"type":"image_url","image_url":{"url":"https://example.com/{{x}}.png","detail":"low"}},` +
	`{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}},{"type":"file","file":{"file_id":"f"}}]},
	{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f",` +
	`"arguments":"{\"n\":\"{{x}} <1>\"}"}}]},
	{"role":"tool","tool_call_id":"c1","content":"{{mood}}"},
	{"placeholder":"history"}]`

func TestChatPromptsCarryWhatAgentsCarry(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")
		ann.create(t, templates, object{"name": "parts/thing", "version": object{"text": "a {{noun}}",
			"activate": true}})
		path := templates + "/" + ann.create(t, templates, object{"name": "parts/agent", "type": "chat"}).at("id")
		version := ann.create(t, path+"/versions", `{"activate":true,"messages":`+agentMessages+`}`)
		version.has(t, map[string]string{"variables.0.name": "mood", "variables.1": "",
			"messages.0.content.0.cache_control.type": "ephemeral", "messages.1.name": "ann",
			"messages.1.content.1.image_url.detail": "low", "messages.1.content.2.input_audio.format": "wav",
			"messages.1.content.3.file.file_id": "f", "messages.2.content": "null",
			"messages.2.tool_calls.0.function.arguments": `{"n":"{{x}} <1>"}`, "messages.3.tool_call_id": "c1"})
		ann.get(t, templates+"/resolve?name=parts/agent").has(t, map[string]string{
			"messages.1.content.3.file.file_id": "f", "variables.1.name": "noun"})

		t.Run("text parts are rendered, and nothing else", func(t *testing.T) {
			ann.do(t, "POST", path+"/render", object{"variables": object{"mood": "kind", "noun": "cat"}}).is(t, 200).
				has(t, map[string]string{
					"messages.0.content.0.text": "Be kind.", "messages.1.content.0.text": "What is a cat?",
					"messages.1.content.1.image_url.url":         "https://example.com/{{x}}.png",
					"messages.2.content":                         "null",
					"messages.2.tool_calls.0.function.arguments": `{"n":"{{x}} <1>"}`,
					"messages.3.content":                         "kind", "messages.4": "", "unused": "[]"})
		})
		t.Run("what goes through a placeholder comes out byte-equal", func(t *testing.T) {
			rapid.Check(t, func(draw *rapid.T) {
				want := histories.Draw(draw)
				a := ann.do(t, "POST", path+"/render", `{"variables":{"mood":"x","noun":"y","history":[`+
					strings.Join(want, ", ")+`]}}`).is(t, 200)
				var result struct {
					Messages []json.RawMessage `json:"messages"`
				}
				if err := json.Unmarshal([]byte(a.text), &result); err != nil || len(result.Messages) != 4+len(want) {
					draw.Fatalf("%v: %s", err, a.text)
				}
				for i, text := range result.Messages[4:] {
					if !bytes.Equal(text, []byte(want[i])) {
						draw.Fatalf("%s became %s", want[i], text)
					}
				}
			})
		})
		t.Run("messages that make no sense are refused", func(t *testing.T) {
			for message, want := range map[string]string{
				`{"role":"user","content":5}`:                                          "/messages/0/content",
				`{"role":"user","content":null}`:                                       "/messages/0/content",
				`{"role":"user","content":[{"type":"video"}]}`:                         "/messages/0/content/0/type",
				`{"role":"user","content":[{"type":"image_url"}]}`:                     "/messages/0/content/0/image_url",
				`{"role":"system","content":[{"type":"file","file":{"file_id":"f"}}]}`: "/messages/0/content/0/type",
				`{"role":"user","content":"x","tool_calls":[{"id":"c"}]}`:              "/messages/0/tool_calls",
				`{"role":"user","content":"x","tool_call":"c"}`:                        "/messages/0/tool_call",
				`{"role":"user","content":"x","tool_call_id":"c"}`:                     "/messages/0/tool_call_id",
			} {
				ann.do(t, "POST", path+"/versions", `{"messages":[`+message+`]}`).problem(t, 422, "invalid_fields").has(t,
					map[string]string{"errors.0.pointer": want})
			}
			ann.do(t, "POST", path+"/versions", `{"messages":[{"role":"user","content":[{"type":"text","text":"{{"}]}]}`).
				problem(t, 422, "unsupported_syntax").has(t,
				map[string]string{"errors.0.pointer": "/messages/0/content/0/text"})
			ann.do(t, "POST", path+"/render", `{"variables":{"mood":"x","noun":"y","history":["x"]}}`).problem(t, 422,
				"invalid_variables").has(t, map[string]string{"errors.0.pointer": "/variables/history/0"})
		})
		t.Run("a file and its import keep every member", func(t *testing.T) {
			exported := ann.get(t, templates+"/export?folder=parts&format=json")
			file := exported.at("files.0.content")
			for _, part := range []string{"# user json\n", "# assistant json\n", "# placeholder history\n"} {
				assert.Contains(t, "the file", file, part)
			}
			other := s.user(t, "owner", "--workspace", "parts")
			other.create(t, templates, object{"name": "parts/thing", "version": object{"text": "a {{noun}}",
				"activate": true}})
			imported := object{"files": []object{{"path": "parts/agent.md", "content": file}}}
			other.do(t, "POST", templates+"/import", imported).is(t, 200)
			other.get(t, templates+"/resolve?name=parts/agent&ref=latest").has(t,
				map[string]string{"content_hash": ann.get(t, templates+"/resolve?name=parts/agent").at("content_hash")})
		})
		t.Run("a chat's instructions have the text parts of the system", func(t *testing.T) {
			system := ann.create(t, templates, `{"name":"parts/system","type":"chat","version":{"activate":true,"messages":`+
				`[{"role":"system","content":[{"type":"text","text":"Be kind."},{"type":"text","text":"Be brief."}]}]}}`)
			chat := ann.create(t, "/api/chat-templates", object{"name": "parts", "prompt": object{
				"prompt_template_id": system.at("id"), "ref": "active"}})
			ann.get(t, "/api/chat-templates/"+chat.at("id")+"/runtime").has(t,
				map[string]string{"instructions": "Be kind.\n\nBe brief."})
		})
	})
}
