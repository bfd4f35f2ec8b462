package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// codes returns "pointer code" for each field that a check refused, and checks that the details are
// sentences of our own.
func codes(t *testing.T, err error) []string {
	t.Helper()
	invalid, ok := errors.AsType[*fault.Error](err)
	if !ok || !errors.Is(err, fault.ErrInvalid) {
		t.Fatalf("error = %v, want invalid_fields", err)
	}
	var out []string
	for _, f := range invalid.Fields {
		if f.Detail == "" || !strings.HasSuffix(f.Detail, ".") || strings.Contains(f.Detail, "hunter2") {
			t.Errorf("detail = %q", f.Detail)
		}
		out = append(out, f.Pointer+" "+f.Code)
	}
	return out
}

func TestCheckBodyFields(t *testing.T) {
	const (
		createTemplate = "POST /api/prompt-templates"
		createVersion  = "POST /api/prompt-templates/{prompt_template_id}/versions"
		updateVersion  = "PATCH /api/prompt-templates/{prompt_template_id}/versions/{version_id}"
		render         = "POST /api/prompt-templates/{prompt_template_id}/render"
		share          = "POST /api/prompt-templates/{prompt_template_id}/shares"
		resolve        = "POST /api/prompt-templates/resolve"
		updateMe       = "PATCH /api/me"
		makeWorkspace  = "POST /api/workspaces"
		editWorkspace  = "PATCH /api/workspaces/{workspace_id}"
		editMember     = "PATCH /api/workspaces/{workspace_id}/members/{user_id}"
		invite         = "POST /api/workspaces/{workspace_id}/invitations"
		createKey      = "POST /api/api-keys"
		rotateKey      = "POST /api/api-keys/{api_key_id}/rotate"
	)
	a := func(n int) string { return strings.Repeat("a", n) }
	tests := map[string]struct {
		operation, body string
		want            []string // none: the body passes
	}{
		"a slug of single characters": {makeWorkspace, `{"name":"a","slug":"r-and-d"}`, nil},
		"a slug of 63 characters":     {makeWorkspace, `{"name":"a","slug":"` + a(63) + `"}`, nil},
		"a slug of 64 characters": {makeWorkspace, `{"name":"a","slug":"` + a(64) + `"}`,
			[]string{"/slug invalid_pattern", "/slug too_long"}},
		"a slug that no host name can hold":   {editWorkspace, `{"slug":"a--b-"}`, []string{"/slug invalid_pattern"}},
		"a workspace is never without a name": {editWorkspace, `{"name":null}`, []string{"/name wrong_type"}},
		"a member without a role":             {editMember, `{}`, []string{"/role required"}},
		"an invitation without an address": {invite, `{"email":"bob","role":"boss"}`,
			[]string{"/email invalid_format", "/role not_allowed_value"}},
		"a service key's role is the domain's": {createKey, `{"name":"a","kind":"service"}`, nil},
		"a key of another kind": {createKey, `{"name":"a","kind":"admin"}`,
			[]string{"/kind not_allowed_value"}},
		"a rotation without a body": {rotateKey, ``, nil},
		"the longest grace":         {rotateKey, `{"grace_seconds":86400}`, nil},
		"a grace of more than a day": {rotateKey, `{"grace_seconds":86401}`,
			[]string{"/grace_seconds out_of_range"}},
		"the smallest body":                   {createTemplate, `{"name":"a"}`, nil},
		"lengths count characters, not bytes": {createTemplate, `{"name":"` + strings.Repeat("ü", 255) + `"}`, nil},
		"a missing field":                     {createTemplate, `{}`, []string{"/name required"}},
		"an unknown field": {createTemplate, `{"name":"a","tgas":"hunter2"}`,
			[]string{"/tgas unknown_field"}},
		"names are case-sensitive": {createTemplate, `{"name":"a","Type":"chat"}`,
			[]string{"/Type unknown_field"}},
		"an unknown field is named in part": {createTemplate, `{"name":"a","` + a(65) + `":1}`,
			[]string{"/" + a(64) + "… unknown_field"}},
		"slashes and tildes are escaped": {createTemplate, `{"name":"a","x/y~z":1}`,
			[]string{"/x~1y~0z unknown_field"}},
		"another type": {createTemplate, `{"name":{"a":"hunter2"}}`,
			[]string{"/name wrong_type"}},
		"null where nothing can be cleared": {createTemplate, `{"name":null}`, []string{"/name wrong_type"}},
		"a body of another type":            {createTemplate, `["hunter2"]`, []string{" wrong_type"}},
		"a text too short":                  {createTemplate, `{"name":""}`, []string{"/name too_short"}},
		"a text too long": {createTemplate, `{"name":"` + a(256) + `"}`,
			[]string{"/name too_long"}},
		"a value that is not in the list": {createTemplate, `{"name":"a","type":"hunter2"}`,
			[]string{"/type not_allowed_value"}},
		"an item twice": {createTemplate, `{"name":"a","tags":["x","hunter2","hunter2"]}`,
			[]string{"/tags/2 duplicate_item"}},
		"too many items": {createTemplate, `{"name":"a","tags":[` + join(21, `"%d"`) + `]}`,
			[]string{"/tags too_many_items"}},
		"too few items": {resolve, `{"refs":[]}`, []string{"/refs too_few_items"}},
		"too many members": {render, `{"variables":{` + join(201, `"v%d":1`) + `}}`,
			[]string{"/variables too_many_items"}},
		"a number too large": {createVersion, `{"text":"a","model_config":{"temperature":2.1}}`,
			[]string{"/model_config/temperature out_of_range"}},
		"a number too small": {createVersion, `{"text":"a","model_config":{"max_tokens":0}}`,
			[]string{"/model_config/max_tokens out_of_range"}},
		"a pattern": {createVersion, `{"text":"x","labels":["HUNTER2"]}`,
			[]string{"/labels/0 invalid_pattern"}},
		"a line break in a label": {createVersion, `{"text":"x","labels":["a\nb"]}`,
			[]string{"/labels/0 invalid_pattern"}},
		"an address": {share, `{"email":"hunter2","role":"viewer"}`,
			[]string{"/email invalid_format"}},
		"a time": {share,
			`{"user_id":"u","role":"viewer","expires_at":"2026-02-30T00:00:00Z"}`,
			[]string{"/expires_at invalid_format"}},
		"a leap second, which Go cannot hold": {share,
			`{"user_id":"u","role":"viewer","expires_at":"2016-12-31T23:59:60Z"}`,
			[]string{"/expires_at invalid_format"}},
		"a time with an offset": {share,
			`{"user_id":"u","role":"viewer","expires_at":"2026-12-31T23:59:59.123456+02:00"}`, nil},
		"NUL in a value": {createTemplate, `{"name":"a\u0000b","metadata":{"k":["\u0000"]}}`,
			[]string{"/metadata/k/0 invalid_characters", "/name invalid_characters"}},
		"NUL in a key": {createTemplate, `{"name":"a","metadata":{"a\u0000b":1}}`,
			[]string{"/metadata invalid_characters"}},
		"an integer beyond 64 bits": {createTemplate, `{"name":"a","metadata":{"n":9223372036854775808}}`,
			[]string{"/metadata/n out_of_range"}},
		"a number beyond a float": {createTemplate, `{"name":"a","metadata":{"n":[1e400,-1e400]}}`,
			[]string{"/metadata/n/0 out_of_range", "/metadata/n/1 out_of_range"}},
		"a number beyond a float, bounded": {createVersion, `{"text":"a","model_config":{"temperature":-1e400}}`,
			[]string{"/model_config/temperature out_of_range"}},
		"an exponent that would take a year": {createTemplate, `{"name":"a","metadata":{"n":1e999999999}}`,
			[]string{"/metadata/n out_of_range"}},
		"400 digits": {createVersion, `{"text":"a","model_config":{"max_tokens":1` +
			strings.Repeat("0", 400) + `}}`,
			[]string{"/model_config/max_tokens out_of_range", "/model_config/max_tokens too_long"}},
		"a number of 65 characters": {render, `{"variables":{"a":[0,1.` + strings.Repeat("0", 63) + `]}}`,
			[]string{"/variables/a/1 too_long"}},
		"a number of 64 characters": {render, `{"variables":{"a":-1.` + strings.Repeat("0", 61) + `}}`, nil},
		"the ends of 64 bits": {createTemplate,
			`{"name":"a","metadata":{"n":[9223372036854775807,-9223372036854775808,1e308,-0]}}`, nil},
		"a fraction where an integer must be": {createVersion, `{"text":"a","model_config":{"max_tokens":1.5}}`,
			[]string{"/model_config/max_tokens wrong_type"}},
		"integers with a fraction or an exponent": {createVersion,
			`{"text":"a","model_config":{"max_tokens":1.0,"top_k":1e2}}`, nil},
		"a fraction for an integer": {createVersion, `{"text":"a","model_config":{"max_tokens":1.5}}`,
			[]string{"/model_config/max_tokens wrong_type"}},
		"a member of what may be null": {updateVersion, `{"model_config":{"temperature":"hot","modal":1}}`,
			[]string{"/model_config/modal unknown_field", "/model_config/temperature wrong_type"}},
		"neither an object nor null": {updateVersion, `{"model_config":7}`,
			[]string{"/model_config wrong_type"}},
		"null clears what can be cleared": {updateVersion,
			`{"model_config":null,"labels":null,"tools":null,"commit_message":null}`, nil},
		"a patch of nothing": {updateMe, `{}`, nil},
		"items of a list": {createVersion,
			`{"messages":[{"role":"user","content":"hi"},{"role":"boss","content":1}]}`,
			[]string{"/messages/1/content wrong_type", "/messages/1/role not_allowed_value"}},
		"everything at once, sorted": {createTemplate,
			`{"type":"x","tags":["",1],"visibility":[],"zzz":1,"description":"` + a(2001) + `"}`,
			[]string{"/description too_long", "/name required", "/tags/0 too_short", "/tags/1 wrong_type",
				"/type not_allowed_value", "/visibility wrong_type", "/zzz unknown_field"}},
		"more values than anybody needs": {createVersion, `{"tools":[` + strings.Repeat("{},", 20_000) + `{}]}`,
			[]string{" too_many_items"}},
		"free JSON is not looked into": {createVersion,
			`{"text":"a","tools":[{"function":{"anything":[null,true,1.5]}}],"response_format":{"a":{"b":{}}}}`, nil},
		"32 levels are enough": {createTemplate, `{"name":"a","metadata":{"d":` +
			strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}}`, nil},
		"blanks around the value do not count": {createTemplate, " \r\n\t{\"name\":\"a\"}\n", nil},
	}
	seen := map[string]bool{}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			method, path, _ := strings.Cut(tt.operation, " ")
			_, err := operation(t, method, path).CheckBody([]byte(tt.body))
			if tt.want == nil {
				if err != nil {
					t.Fatalf("refused: %v %+v", err, err)
				}
				return
			}
			got := codes(t, err)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			for _, field := range got {
				_, code, _ := strings.Cut(field, " ")
				seen[code] = true
			}
		})
	}
	t.Run("every code that the check can answer was answered, and is registered", func(t *testing.T) {
		ofTheDomain := []string{"include_not_found", "include_not_text", "include_cycle", "include_too_deep",
			"include_too_large", "in_the_past", "too_late", "undeclared_variable", "unsupported_syntax",
			"unknown_registry_item", "invalid_item_config", "prompt_unavailable", "unknown_mapping_field",
			"reply_connection_unavailable", "transcript_webhook_unavailable",
			"user_not_in_workspace", "member_limit_reached", "owner_stays",
			"unknown_column", "key_unsupported", "header_candidate", "required_field_unmapped", "invalid_origin", "insecure_origin",
			"invalid_wildcard", "owner_share", "share_limit_reached",
			"public_suffix"}
		registered := document(t)["x-field-codes"].(object)
		for code := range registered {
			if !seen[code] && !slices.Contains(ofTheDomain, code) {
				t.Errorf("%s was not answered", code)
			}
		}
		for code := range seen {
			if registered[code] == nil {
				t.Errorf("%s is not registered", code)
			}
		}
	})
	t.Run("no more than 100 fields are named", func(t *testing.T) {
		_, err := operation(t, "POST", "/api/prompt-templates").CheckBody([]byte(`{` + join(500, `"k%d":1`) + `}`))
		if got := codes(t, err); len(got) != 100 {
			t.Errorf("%d are", len(got))
		}
	})
}

func TestCheckBodyMalformed(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"no body":                 {"", "has no body, and this operation requires a JSON body with name."},
		"only blanks":             {" \n", "requires a JSON body with name."},
		"cut off":                 {`{"name":"hunter2`, "ends in the middle"},
		"cut off between":         {`{"name":`, "ends in the middle"},
		"a bare word":             {`hunter2`, "at byte 0"},
		"a missing comma":         {`{"name":"a" "type":"text"}`, "at byte 12"},
		"a comment":               {`{"name":"a"}//`, "goes on after its JSON value, at byte 12"},
		"a second value":          {`{"name":"a"} {}`, "goes on after its JSON value"},
		"a repeated key":          {`{"name":"a","name":"hunter2"}`, "repeats a key of an object, at byte 12"},
		"a repeated key, escaped": {`{"name":"a","n\u0061me":"b"}`, "repeats a key"},
		"a repeated key, deep":    {`{"name":"a","metadata":{"x":[{"y":1,"y":2}]}}`, "repeats a key"},
		"33 levels": {`{"name":"a","metadata":{"d":` + strings.Repeat("[", 31) +
			strings.Repeat("]", 31) + `}}`, "more than 32 levels deep"},
		"a hundred thousand":       {strings.Repeat("[", 100_000), "more than 32 levels deep"},
		"half a surrogate pair":    {`{"name":"\ud800"}`, "not valid JSON"},
		"a raw control character":  {"{\"name\":\"a\x00\"}", "not valid JSON"},
		"a number with a plus":     {`{"name":+1}`, "not valid JSON"},
		"a number that is no JSON": {`{"name":NaN}`, "not valid JSON"},
		"a byte order mark":        {"\ufeff{}", "at byte 0"},
		"bytes that are no UTF-8":  {"{\"name\":\"\xff\"}", "not UTF-8"},
	}
	create := operation(t, "POST", "/api/prompt-templates")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := create.CheckBody([]byte(tt.body))
			require.ErrorIs(t, err, openapi.ErrMalformedJSON)
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter") ||
				len(err.Error()) > 100 {
				t.Errorf("detail = %q, want %q in it", err, tt.want)
			}
		})
	}
	t.Run("a body that may be left out may be empty", func(t *testing.T) {
		activate := operation(t, "POST", "/api/prompt-templates/{prompt_template_id}/versions/{version_id}/activate")
		if _, err := activate.CheckBody(nil); err != nil {
			t.Errorf("empty: %v", err)
		}
		_, err := activate.CheckBody([]byte(`{"reson":""}`))
		assert.ErrorIs(t, err, fault.ErrInvalid)
	})
	t.Run("an operation without a body looks at none", func(t *testing.T) {
		restore := operation(t, "POST", "/api/prompt-templates/{prompt_template_id}/restore")
		if _, err := restore.CheckBody([]byte("{")); err != nil || restore.HasBody || restore.MaxBody != 0 {
			t.Errorf("error = %v", err)
		}
	})
}

// What passes the check decodes into the generated types.
func TestModels(t *testing.T) {
	t.Run("a patch tells absent, null and a value apart", func(t *testing.T) {
		body := []byte(`{"description":null,"tags":["a"],"protected":false}`)
		body, err := operation(t, "PATCH", "/api/prompt-templates/{prompt_template_id}").CheckBody(body)
		require.NoError(t, err)
		var p openapi.PromptTemplatePatch
		require.NoError(t, json.Unmarshal(body, &p))
		tags, err := p.Tags.Get()
		if !p.Description.IsNull() || err != nil || !slices.Equal(tags, []string{"a"}) || p.Metadata.IsSpecified() ||
			p.Name != nil || p.Protected == nil || *p.Protected {
			t.Errorf("patch = %+v", p)
		}
	})
	t.Run("what is left out is not in the answer, what is null is", func(t *testing.T) {
		at := openapi.Time(time.Date(2026, 3, 2, 10, 30, 0, 1_999_999, time.FixedZone("", 3600)))
		got, err := json.Marshal(openapi.Share{UserID: "u", Email: openapi.OrNull(""), Role: openapi.ShareRoleViewer,
			ExpiresAt: openapi.OrNull(openapi.Time{}), GrantedBy: "g", Revision: 1, CreatedAt: at, UpdatedAt: at})
		want := `{"created_at":"2026-03-02T09:30:00.001Z","email":null,"expires_at":null,"granted_by":"g","name":"","revision":1,"role":"viewer","updated_at":"2026-03-02T09:30:00.001Z","user_id":"u"}`
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
		got, err = json.Marshal(openapi.RenderResult{Text: new(""), Missing: []string{}, Unused: []string{}})
		if err != nil || !bytes.Contains(got, []byte(`"text":""`)) || bytes.Contains(got, []byte(`messages`)) {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("free JSON keeps every digit", func(t *testing.T) {
		var p openapi.PromptTemplateCreate
		if err := json.Unmarshal([]byte(`{"name":"a","metadata":{"n":9007199254740993}}`), &p); err != nil ||
			string(p.Metadata) != `{"n":9007199254740993}` {
			t.Errorf("metadata = %s, %v", p.Metadata, err)
		}
	})
	t.Run("a time that is none does not decode, and is not repeated", func(t *testing.T) {
		var at openapi.Time
		for _, text := range []string{`"hunter2"`, `7`, `"2026-03-02"`, `"2026-03-02 09:30:00Z"`,
			`"2026-03-02T9:30:00Z"`} {
			if err := at.UnmarshalJSON([]byte(text)); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// join writes format with 0 to n-1 and commas between.
func join(n int, format string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(texts, ",")
}
