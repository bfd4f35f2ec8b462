package replier_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/replier"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAllSettingsReachTheModel(t *testing.T) {
	for name, tt := range map[string]struct {
		model  string
		config prompt.ModelConfig
		member string // max_tokens_member of the connection
		want   string // the body without messages
	}{
		"a model of others": {"llama3.2", prompt.ModelConfig{MaxTokens: new(9), TopK: new(5), TopP: new(0.5)}, "",
			`{"max_tokens":9,"model":"llama3.2","stream":true,"top_k":5,"top_p":0.5}`},
		"a model of OpenAI that wants the new name": {"gpt-5-mini", prompt.ModelConfig{MaxTokens: new(9)}, "",
			`{"max_completion_tokens":9,"model":"gpt-5-mini","stream":true}`},
		"the o series behind a provider": {"openai/o4-mini", prompt.ModelConfig{MaxTokens: new(9)}, "",
			`{"max_completion_tokens":9,"model":"openai/o4-mini","stream":true}`},
		"an older model of OpenAI": {"gpt-4o", prompt.ModelConfig{MaxTokens: new(9)}, "",
			`{"max_tokens":9,"model":"gpt-4o","stream":true}`},
		"the name that the connection has": {"my-deployment", prompt.ModelConfig{MaxTokens: new(9)},
			"max_completion_tokens", `{"max_completion_tokens":9,"model":"my-deployment","stream":true}`},
		"parameters of the server": {"gpt-5", prompt.ModelConfig{StopSequences: []string{"END"},
			ExtraParams: map[string]any{"reasoning_effort": "low", "seed": 7.0}}, "",
			`{"model":"gpt-5","reasoning_effort":"low","seed":7,"stop":["END"],"stream":true}`},
		"parameters that would replace the conversation": {"gpt-5", prompt.ModelConfig{
			ExtraParams: map[string]any{"messages": []any{}, "model": "other", "stream": false}}, "",
			`{"model":"gpt-5","stream":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			var body map[string]any
			_, target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
				stream(w, `{"choices":[{"delta":{"content":"Yes."}}]}`, `[DONE]`)
			})
			target.Credential = with(t, target.Credential, map[string]string{"max_tokens_member": tt.member})
			r := request
			r.ModelName, r.Model = tt.model, &tt.config
			err := replier.NewCompatible(guard, limits).Reply(t.Context(), target, r,
				func(embed.Piece) error { return nil })
			require.NoError(t, err)
			if messages, _ := body["messages"].([]any); len(messages) != 4 {
				t.Errorf("messages = %v", messages)
			}
			delete(body, "messages")
			got, err := json.Marshal(body)
			if require.NoError(t, err); string(got) != tt.want {
				t.Errorf("%s", got)
			}
		})
	}
}

// with returns a credential with more fields, but for those that are empty.
func with(t *testing.T, c connection.Credential, fields map[string]string) connection.Credential {
	t.Helper()
	text, err := c.Reveal()
	require.NoError(t, err)
	all := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &all))
	for name, value := range fields {
		if value != "" {
			all[name] = value
		}
	}
	text, err = json.Marshal(all)
	require.NoError(t, err)
	out, err := connection.ParseCredential(c.Kind(), text)
	require.NoError(t, err)
	return out
}

func TestThePromptsToolsAndFormatAndTheWorkflowsReachWhoCanUseThem(t *testing.T) {
	bodies := map[string]string{}
	endpoint, compatible := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		bodies[r.URL.Path] = string(text)
		stream(w, `{"text":"Yes.","choices":[{"delta":{"content":"Yes."}}]}`, `[DONE]`)
	})
	r := request
	r.Tools, r.ResponseFormat = json.RawMessage(`[{"type":"function"}]`), json.RawMessage(`{"type":"json_object"}`)
	r.Workflows = []chat.Item{{ID: "hand-over", Name: "Hand over", Description: "Asks a colleague.", Version: "1.2",
		Status: chat.ItemAvailable, Effects: chat.EffectsWrite, EmbedSafe: true}}
	ignore := func(embed.Piece) error { return nil }
	require.NoError(t, replier.NewEndpoint(guard, limits).Reply(t.Context(), endpoint, r, ignore))
	require.NoError(t, replier.NewCompatible(guard, limits).Reply(t.Context(), compatible, r, ignore))
	const format = `"response_format":{"type":"json_object"}`
	if body := bodies["/replies"]; !strings.Contains(body, `"tools":[{"type":"function"}]`) ||
		!strings.Contains(body, format) || !strings.Contains(body, `"workflows":[{"id":"hand-over","name":"Hand over",`+
		`"description":"Asks a colleague.","version":"1.2","effects":"write","embed_safe":true}]`) {
		t.Errorf("the program gets %s", body)
	}
	if body := bodies["/v1/chat/completions"]; strings.Contains(body, "tools") || strings.Contains(body, "workflow") ||
		!strings.Contains(body, format) {
		t.Errorf("the model server gets %s", body)
	}
}

func TestAzureGetsItsVersionItsKeyAndItsHeaders(t *testing.T) {
	var paths []string
	_, target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.String())
		if r.Header.Get("Api-Key") != "sk-canary" || r.Header.Get("Authorization") != "" ||
			r.Header.Get("X-Project") != "a: b" {
			t.Errorf("%v", r.Header)
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-5"}]}`)
			return
		}
		stream(w, `{"choices":[{"delta":{"content":"Yes."}}]}`, `[DONE]`)
	})
	base := strings.TrimSuffix(target.Credential.Text("base_url"), "/v1")
	target.Credential = with(t, target.Credential, map[string]string{
		"base_url":       base + "/openai/deployments/gpt-5?api-version=2024-10-21",
		"api_key_header": "api-key", "headers": "X-Project: a: b\n",
	})
	c := replier.NewCompatible(guard, limits)
	if text, err := collect(t.Context(), c, target); text != "Yes." || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if report := c.Probe(t.Context(), target); report.Failure() != "" {
		t.Errorf("%+v", report)
	}
	if got := strings.Join(paths, "\n"); got !=
		"POST /openai/deployments/gpt-5/chat/completions?api-version=2024-10-21\n"+
			"GET /openai/models?api-version=2024-10-21" {
		t.Errorf("requests:\n%s", got)
	}
}

func TestEventsOfAnEndpoint(t *testing.T) {
	for name, tt := range map[string]struct {
		events []string
		text   string
		want   embed.ReplyFailure
	}{
		"a sign of life of its own":   {[]string{`{"type":"ping"}`, `{"text":"Yes."}`, `[DONE]`}, "Yes.", ""},
		"reasoning before the answer": {[]string{`{"reasoning":"Hm. "}`, `{"text":"Yes."}`, `[DONE]`}, "Hm. Yes.", ""},
		"a refusal":                   {[]string{`{"refusal":"No."}`, `[DONE]`}, "No.", ""},
		"nothing":                     {[]string{`[DONE]`}, "", embed.ReplyEmpty},
		"reasoning without an answer": {[]string{`{"reasoning":"Hm."}`, `[DONE]`}, "Hm.", embed.ReplyEmpty},
		"too much reasoning": {[]string{`{"reasoning":"` + strings.Repeat("m", embed.MaxReplied+1) + `"}`,
			`{"text":"Yes."}`, `[DONE]`}, "Yes.", ""},
		"an object that is no failure": {[]string{`{"error":null}`, `[DONE]`}, "", embed.ReplyEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			target, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, tt.events...) })
			text, err := collect(t.Context(), replier.NewEndpoint(guard, limits), target)
			failure, _ := errors.AsType[embed.ReplyFailure](err)
			if text != tt.text || failure != tt.want || (tt.want == "" && err != nil) {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

func TestTheProgramKnowsWhichVersionOfAPromptRepliesAndWhy(t *testing.T) {
	for want, version := range map[string]*chat.PromptVersion{
		`"session_id":"ses_1","instructions"`: nil,
		`"session_id":"ses_1","prompt":{"prompt_template_id":"ptpl","version_id":"v2","version_number":2},`: {
			Template: "ptpl", Version: "v2", Number: 2},
		`"version_number":2,"rollout":{"label":"live","weight":20}},`: {Template: "ptpl", Version: "v2", Number: 2,
			Rollout: "live", Weight: 20},
	} {
		body := ""
		target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			body = string(text)
			stream(w, `{"text":"Yes."}`, `[DONE]`)
		})
		r := request
		r.Session, r.Prompt = "ses_1", version
		require.NoError(t, replier.NewEndpoint(guard, limits).Reply(t.Context(), target, r,
			func(embed.Piece) error { return nil }))
		assert.Contains(t, "body", body, want)
	}
}
