package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
)

// FuzzCheckBody compares which texts pass for a JSON body with what encoding/json makes of them: what passes is one
// object, no more than 32 levels deep, in which no name is there twice, and it decodes.
func FuzzCheckBody(f *testing.F) {
	create := operation(f, "POST", "/api/prompt-templates/{prompt_template_id}/versions")
	patch := operation(f, "PATCH", "/api/prompt-templates/{prompt_template_id}/versions/{version_id}")
	render := operation(f, "POST", "/api/prompt-templates/{prompt_template_id}/render")
	for _, seed := range []string{
		``, `{}`, `null`, `{"text":"a"}`, `{"messages":[{"role":"user","content":"\u0000"}]}`,
		`{"model_config":{"max_tokens":1e3,"temperature":null}}`,
		`{"labels":["a","a"]}`, `{"variables":[{"name":"a","enum":[1,1.0,"x"],"default":1e400}]}`,
		"{\"text\":\"\xff\"}", `{"tools":[[[[]]]]}`, `{"a":1,"a":2}`,
		`{"variables":{"a":1}}`, `{"variables":{"a":1,"a":2}}`, `{"variables":{"a":{"b":[{"c":null}]}}}`,
		`{"variables":{"\u0061":1,"a":2}}`, `{} {}`, "{}\n", "\ufeff{}", `{"variables":{"a":1e999}}`,
		`{"variables":{"a":"\ud800"}}`,
		`{"variables":{"a":` + join(32, `[%.0d`) + `}}`, `{"variables":{"a":-0.0}}`, `{"variables":{"":0}}`, `nul`,
		`{"variables":{"a":"\u0000"}}`, "{\"variables\":{\"a\":\"\x80\"}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		wellFormed := utf8.Valid(body) && json.Valid(body) && unambiguous(body)
		for o, value := range map[*openapi.Operation]any{create: new(openapi.PromptVersionCreate),
			patch: new(openapi.PromptVersionPatch), render: new(openapi.RenderRequest)} {
			checked, err := o.CheckBody(body)
			isLeftOut := o == render && len(bytes.TrimSpace(body)) == 0
			refused, _ := errors.AsType[*fault.Error](err)
			switch {
			case err == nil && isLeftOut:
			case err == nil && !wellFormed:
				t.Errorf("%s passed %q", o.ID, body)
			case err == nil:
				if err := json.Unmarshal(checked, value); err != nil {
					t.Errorf("%s passed %q, which does not decode: %v", o.ID, body, err)
				}
			case errors.Is(err, fault.ErrInvalid):
				if n := len(refused.Fields); n == 0 || n > 100 {
					t.Errorf("%s names %d fields of %q", o.ID, n, body)
				}
			case !errors.Is(err, openapi.ErrMalformedJSON):
				t.Errorf("%s: %v", o.ID, err)
			// half of a surrogate pair is no text
			case wellFormed && !bytes.Contains(body, []byte(`\u`)):
				t.Errorf("%s refused %q: %v", o.ID, body, err)
			}
		}
	})
}

// unambiguous reports whether valid JSON keeps to the depth and repeats no name.
func unambiguous(body []byte) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	type open struct {
		names map[string]bool // nil in an array
		value bool            // the next token is one
	}
	var stack []*open
	for {
		token, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if n := len(stack); n > 0 && stack[n-1].names != nil {
			top := stack[n-1]
			if !top.value {
				name := token.(string)
				if top.names[name] {
					return false
				}
				top.names[name], top.value = true, true
				continue
			}
			top.value = false
		}
		if delim, ok := token.(json.Delim); ok {
			o := &open{}
			if delim == '{' {
				o.names = map[string]bool{}
			}
			if stack = append(stack, o); len(stack) > 32 {
				return false
			}
		}
	}
}
