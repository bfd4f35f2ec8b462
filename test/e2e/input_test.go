package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/id"
)

// TestBadInput sends invalid requests, and expects the documented problems and no change.
func TestBadInput(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, admin := s.user(t, "member"), s.user(t, "admin")
		template := ann.template(t, "untouched")
		draft := ann.version(t, template, "text")
		previousID := admin.get(t, "/api/events?limit=1").at("data.0.id")

		long := func(n int) string { return strings.Repeat("é", n) }
		deep := func(n int) string {
			return `{"name":"x","metadata":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "}"
		}
		type bodyTest struct {
			name, method, path string
			body               any
			status             int
			code               string
			wrong              string // entries of errors
		}
		const post, patch, invalid = "POST", "PATCH", "invalid_fields"
		for _, tt := range []bodyTest{
			{"a body that is cut off", post, templates, `{"name":"x"`, 400, "malformed_json", ""},
			{"no JSON at all", post, templates, `name=x`, 400, "malformed_json", ""},
			{"two values", post, templates, `{"name":"x"} {}`, 400, "malformed_json", ""},
			{"a key that is repeated", post, templates, `{"name":"x","name":"y"}`, 400, "malformed_json", ""},
			{"a key that is repeated deep inside", post, templates, `{"name":"x","metadata":{"a":{"b":1,"b":2}}}`, 400,
				"malformed_json", ""},
			{"33 levels", post, templates, deep(32), 400, "malformed_json", ""},
			{"ten thousand levels", post, templates, deep(10_000)[:60_000], 400, "malformed_json", ""},
			{"NaN", post, templates, `{"name":NaN}`, 400, "malformed_json", ""},
			{"an empty body", post, templates, "", 400, "malformed_json", ""},
			{"a body of spaces", post, templates, " \n", 400, "malformed_json", ""},
			{"an array for an object", post, templates, `[]`, 422, invalid, " wrong_type"},
			{"null for an object", post, templates, `null`, 422, invalid, " wrong_type"},
			{"a missing field", post, templates, object{}, 422, invalid, "/name required"},
			{"all that is wrong at once", post, templates,
				object{"name": 7, "tags": "x", "tgas": nil, "protected": "yes"}, 422, invalid,
				"/name wrong_type,/protected wrong_type,/tags wrong_type,/tgas unknown_field"},
			{"a field that nobody knows", post, templates, object{"name": "x", "owner_id": ann.id}, 422, invalid,
				"/owner_id unknown_field"},
			{"an empty name", post, templates, object{"name": ""}, 422, invalid, "/name too_short"},
			{"a name of 256 characters", post, templates, object{"name": long(256)}, 422, invalid, "/name too_long"},
			{"a name with an empty folder", post, templates, object{"name": "a//b"}, 422, invalid,
				"/name invalid_format"},
			{"a name that begins with a space", post, templates, object{"name": " a"}, 422, invalid,
				"/name invalid_format"},
			{"a description of 2001 characters", post, templates, object{"name": "x", "description": long(2001)}, 422,
				invalid, "/description too_long"},
			{"21 tags, two of them the same", post, templates,
				object{"name": "x", "tags": append(strings.Split("abcdefghijklmnopqrst", ""), "a")}, 422, invalid,
				"/tags too_many_items,/tags/20 duplicate_item"},
			{"a tag of 51 characters", post, templates, object{"name": "x", "tags": []string{long(51)}}, 422, invalid,
				"/tags/0 too_long"},
			{"metadata of more than 16 KiB", post, templates,
				object{"name": "x", "metadata": object{"a": strings.Repeat("a", 16<<10)}}, 422, invalid,
				"/metadata too_long"},
			{"another enum", post, templates, object{"name": "x", "type": "TEXT", "visibility": "public"}, 422, invalid,
				"/type not_allowed_value,/visibility not_allowed_value"},
			{"NUL in a text", post, templates, `{"name":"a\u0000b"}`, 422, invalid, "/name invalid_characters"},
			{"NUL in a key", post, templates, `{"name":"x","metadata":{"a\u0000":1}}`, 422, invalid,
				"/metadata invalid_characters"},
			{"NUL deep in metadata", post, templates, `{"name":"x","metadata":{"a":["\u0000"]}}`, 422, invalid,
				"/metadata/a/0 invalid_characters"},
			{"a raw NUL", post, templates, "{\"name\":\"a\x00b\"}", 400, "malformed_json", ""},
			{"invalid UTF-8", post, templates, "{\"name\":\"a\xff\"}", 400, "malformed_json", ""},
			{"half a surrogate pair", post, templates, `{"name":"\ud800"}`, 400, "malformed_json", ""},
			{"a number that no integer holds", post, draft + "/activate", `{"reason":1e400}`, 422, invalid,
				"/reason out_of_range,/reason wrong_type"},
			{"a number of 60,000 digits", post, templates, `{"name":` + strings.Repeat("9", 60_000) + `}`, 422, invalid,
				"/name out_of_range,/name too_long,/name wrong_type"},
			{"a fraction for a whole number", post, template + "/versions",
				object{"text": "x", "model_config": object{"max_tokens": 1.5}}, 422, invalid,
				"/model_config/max_tokens wrong_type"},
			{"a whole number beyond 64 bits", post, template + "/versions",
				`{"text":"x","model_config":{"max_tokens":9223372036854775808}}`, 422, invalid,
				"/model_config/max_tokens out_of_range"},
			{"a temperature of 3", post, template + "/versions",
				object{"text": "x", "model_config": object{"temperature": 3}}, 422, invalid,
				"/model_config/temperature out_of_range"},
			{"more than 64 KiB", post, template + "/render", `{"ref":"` + strings.Repeat("x", 64<<10) + `"}`, 413,
				"body_too_large", ""},
			{"a version of more than 1 MiB", post, template + "/versions", `{"text":"` + strings.Repeat("x", 1<<20) +
				`"}`, 413, "body_too_large", ""},
			{"a text of more than 256 KiB", post, template + "/versions",
				object{"text": strings.Repeat("x", 256<<10+1)}, 422, invalid, "/text too_long"},
			{"a text whose bytes exceed 256 KiB", post, template + "/versions", object{"text": long(128<<10 + 1)}, 422,
				invalid, "/text too_long"},
			{"neither text nor messages", post, template + "/versions", object{}, 422, invalid, "/text required"},
			{"messages for a text template", post, template + "/versions",
				object{"messages": []object{{"role": "user", "content": "x"}}}, 422, invalid, ""},
			{"a partial", post, template + "/versions", object{"text": "{{> /etc/hostname}}"}, 422,
				"unsupported_syntax", ""},
			{"a section that is not closed", post, template + "/versions", object{"text": "{{#a}}"}, 422,
				"unsupported_syntax", ""},
			{"a variable that is not declared", post, template + "/versions",
				object{"text": "{{a}}", "variables": []object{{"name": "b"}}}, 422, "undeclared_variable", ""},
			{"a first version that includes nothing that exists", post, templates,
				object{"name": "first", "version": object{"text": "{{> x}}"}}, 422, "include_not_found",
				"/version/text include_not_found"},
			{"a first version with a variable that is not declared", post, templates,
				object{"name": "first", "version": object{"text": "{{a}}", "variables": []object{{"name": "b"}}}}, 422,
				"undeclared_variable", ""},
			{"a first version with a base", post, templates,
				object{"name": "first", "version": object{"text": "x", "base_version_id": "v1"}}, 422, invalid,
				"/version/base_version_id not_allowed_value"},
			{"a reason without an activation", post, template + "/versions", object{"text": "x", "reason": "why"}, 422,
				invalid, "/reason not_allowed_value"},
			{"a reserved label", post, template + "/versions", object{"text": "x", "labels": []string{"latest"}}, 422,
				invalid, "/labels/0 not_allowed_value"},
			{"null where it clears nothing", patch, template, object{"name": nil}, 422, invalid, "/name wrong_type"},
			{"a type that is fixed", patch, template, object{"type": "chat"}, 422, invalid, "/type unknown_field"},
			{"an owner who is nobody", patch, template, object{"owner_id": "usr_x"}, 422, "user_not_in_workspace", ""},
			{"a share with nobody named", post, template + "/shares", object{"role": "viewer"}, 422, invalid,
				"/user_id required"},
			{"a share with two named", post, template + "/shares",
				object{"role": "viewer", "user_id": admin.id, "email": admin.email}, 422, invalid, "/user_id required"},
			{"a share that has ended", post, template + "/shares",
				object{"role": "viewer", "user_id": admin.id, "expires_at": "2001-01-01T00:00:00Z"}, 422, invalid,
				"/expires_at in_the_past"},
			{"a share as owner", post, template + "/shares", object{"role": "owner", "user_id": admin.id}, 422, invalid,
				"/role not_allowed_value"},
			{"a time that is none", post, template + "/shares",
				object{"role": "viewer", "user_id": admin.id, "expires_at": "tomorrow"}, 422, invalid,
				"/expires_at invalid_format"},
			{"nothing to resolve", post, templates + "/resolve", object{"refs": []any{}}, 422, invalid,
				"/refs too_few_items"},
			{"too much to resolve", post, templates + "/resolve",
				object{"refs": slices.Repeat([]object{{"name": "x"}}, 101)}, 422, invalid, "/refs too_many_items"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				a := ann.do(t, tt.method, tt.path, tt.body).problem(t, tt.status, tt.code)
				if invalidPath := strings.Join(a.wrong(), ","); tt.wrong != "" && invalidPath != tt.wrong {
					t.Errorf("wrong are %q, want %q\n%s", invalidPath, tt.wrong, a)
				}
				if len(a.text) > 16<<10 {
					t.Errorf("the answer has %d bytes", len(a.text))
				}
			})
		}

		for path, code := range map[string]string{
			"/api/prompt-templates?limit=0":                             "invalid_limit",
			"/api/prompt-templates?limit=101":                           "invalid_limit",
			"/api/prompt-templates?limit=x":                             "invalid_limit",
			"/api/prompt-templates?limit=":                              "invalid_limit",
			"/api/prompt-templates?limit=1e1":                           "invalid_limit",
			"/api/prompt-templates?limit=99999999999999999999":          "invalid_limit",
			"/api/prompt-templates?limit=1&limit=2":                     "invalid_parameter",
			"/api/prompt-templates?tag=a&tag=b":                         "invalid_parameter",
			"/api/prompt-templates?page=2":                              "unknown_parameter",
			"/api/prompt-templates?Limit=2":                             "unknown_parameter",
			"/api/prompt-templates?%00=1":                               "unknown_parameter",
			"/api/prompt-templates?q=":                                  "invalid_parameter",
			"/api/prompt-templates?q=a%00b":                             "invalid_parameter",
			"/api/prompt-templates?q=%ff":                               "invalid_parameter",
			"/api/prompt-templates?tag=" + strings.Repeat("x", 51):      "invalid_parameter",
			"/api/prompt-templates?q=%zz":                               "malformed_request",
			"/api/prompt-templates?a;b":                                 "malformed_request",
			"/api/prompt-templates?cursor=":                             "invalid_cursor",
			"/api/prompt-templates?cursor=garbage":                      "invalid_cursor",
			"/api/prompt-templates?cursor=" + strings.Repeat("A", 5000): "invalid_cursor",
			"/api/events?created_after=yesterday":                       "invalid_parameter",
			"/api/me?x=1":                                               "unknown_parameter",
		} {
			t.Run("GET "+path[:min(len(path), 60)],
				func(t *testing.T) { admin.do(t, "GET", path, nil).problem(t, 400, code) })
		}

		t.Run("a cursor is valid only for its own list, filter and workspace", func(t *testing.T) {
			other := s.user(t, "owner", "--workspace", "other")
			const list = "/api/events?type=user.created&cursor="
			cursor := admin.get(t, "/api/events?limit=1&type=user.created").at("next_cursor")
			admin.get(t, list+cursor)
			// the limit may change within a list
			admin.get(t, "/api/events?cursor="+cursor+"&limit=7&type=user.created")
			admin.do(t, "GET", "/api/events?cursor="+cursor, nil).problem(t, 400, "invalid_cursor")
			admin.do(t, "GET", "/api/events?type=user.created&actor="+other.id+"&cursor="+cursor, nil).problem(t, 400,
				"invalid_cursor")
			admin.do(t, "GET", "/api/api-keys?cursor="+cursor, nil).problem(t, 400, "invalid_cursor")
			other.do(t, "GET", list+cursor, nil).problem(t, 400, "invalid_cursor")
			forgedContent := []byte(cursor)
			forgedContent[len(forgedContent)/2] ^= 1
			admin.do(t, "GET", list+url.QueryEscape(string(forgedContent)), nil).problem(t, 400, "invalid_cursor")
			admin.do(t, "GET", templates+"?cursor="+template[len(templates)+1:], nil).problem(t, 400, "invalid_cursor")
		})
		t.Run("an identifier of another kind or workspace is not found", func(t *testing.T) {
			other := s.user(t, "owner", "--workspace", "third")
			theirs := other.template(t, "theirs")
			for _, path := range []string{
				theirs, templates + "/" + strings.TrimPrefix(draft[strings.LastIndex(draft, "/"):], "/"),
				templates + "/" + id.New("ptpl"), templates + "/x",
			} {
				ann.do(t, "GET", path, nil).problem(t, 404, "prompt_template_not_found")
			}
			ann.do(t, "GET", template+"/versions/"+id.New("pver"), nil).problem(t, 404, "prompt_version_not_found")
			for _, ref := range []string{"v0", "v99999999999999999999", "UPPER", "%00", "%ff", "-"} {
				ann.do(t, "GET", template+"/versions/"+ref, nil).problem(t, 404, "prompt_version_not_found")
			}
			ann.do(t, "PATCH", template+"/shares/nobody", object{"role": "viewer"}).problem(t, 404, "share_not_found")
			ann.do(t, "GET", "/api/api-keys/"+id.New("usr"), nil).problem(t, 404, "api_key_not_found")
			ann.do(t, "GET", "/api/workspaces/"+other.workspace, nil).problem(t, 404, "workspace_not_found")
			ann.do(t, "PATCH", "/api/me", object{"default_workspace_id": other.workspace}).problem(t, 404,
				"workspace_not_found")
			ann.do(t, "PATCH", template, object{"owner_id": other.id}).problem(t, 422, "user_not_in_workspace")
			ann.do(t, "POST", template+"/shares", object{"email": other.email, "role": "viewer"}).problem(t, 422,
				"user_not_in_workspace")
			ann.do(t, "POST", template+"/versions", object{"text": "x", "base_version_id": id.New("pver")}).problem(t,
				404, "prompt_version_not_found")
		})
		for name, header := range map[string]string{
			"an Idempotency-Key of 256 characters": "Idempotency-Key: " + strings.Repeat("k", 256),
			"an Idempotency-Key that is not ASCII": "Idempotency-Key: ké",
			"a Workspace-Id of 300 characters":     "Workspace-Id: " + strings.Repeat("w", 300),
		} {
			t.Run(name, func(t *testing.T) {
				if a := ann.do(t, "POST", templates, object{"name": "x"}, header); a.status != 400 {
					t.Errorf("%s, want 400", a)
				}
			})
		}
		t.Run("a condition that no revision meets gets 412, and every revision meets *", func(t *testing.T) {
			for _, tag := range []string{`"999-x"`, `"2"`, `"x"`, `"-1"`, `""`} {
				ann.do(t, "PATCH", template, object{"description": "no"}, "If-Match: "+tag).problem(t, 412,
					"revision_mismatch")
			}
			if weak := ann.do(t, "PATCH", template, object{"description": "no"}, `If-Match: W/"1-x"`).problem(t, 412,
				"revision_mismatch"); !strings.Contains(weak.at("detail"), "W/") {
				t.Errorf("of a weak tag it says %s", weak)
			}
			for _, tag := range []string{`1`, `"`, `garbage`} {
				ann.do(t, "PATCH", template, object{"description": "no"}, "If-Match: "+tag).problem(t, 400,
					"invalid_parameter")
			}
			ann.do(t, "PATCH", template, object{}, "If-Match: *").is(t, 200)
			ann.do(t, "PATCH", template, object{}, `If-Match: "999-x", "1-y"`).is(t, 200)
		})
		t.Run("requests and responses have one media type", func(t *testing.T) {
			ann.do(t, "GET", template, nil, "Accept: text/html").problem(t, 406, "not_acceptable")
			ann.do(t, "GET", template, nil, "Accept: text/html, application/*;q=0.1").is(t, 200)
			for _, media := range []string{"text/plain", "", "application/merge-patch+json",
				"multipart/form-data; boundary=x", "application/json/x"} {
				ann.do(t, "POST", templates, object{"name": "x"}, "Content-Type: "+media).problem(t, 415,
					"unsupported_media_type")
			}
			ann.do(t, "PATCH", template, object{}, "Content-Type: application/merge-patch+json; charset=utf-8").is(t,
				200)
		})
		t.Run("a request without a body, whatever its type, is told which members are required", func(t *testing.T) {
			for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json"} {
				a := ann.do(t, "POST", templates, "", "Content-Type: "+media).problem(t, 400, "malformed_json")
				if want := "a JSON body with name."; !strings.Contains(a.at("detail"), want) {
					t.Errorf("of the type %q: %s, want %q", media, a, want)
				}
			}
			a := ann.do(t, "PATCH", template, "", "Content-Type: ").problem(t, 400, "malformed_json")
			if detail := a.at("detail"); !strings.HasSuffix(detail, "requires a JSON body.") {
				t.Errorf("where no member is required: %s", detail)
			}
			_, id := admin.key(t) // of someone else than ann: see below
			admin.do(t, "POST", "/api/api-keys/"+id+"/rotate", nil, "Content-Type: ").is(t, 201)
		})
		t.Run("an unknown path or method says so", func(t *testing.T) {
			for _, path := range []string{"/api", "/api/nothing", "/api/prompt-templates/",
				"/api/prompt-templates//versions", "/API/me", "/api%2Fme", "/api%2fhealth%2flive",
				template + "%2Fversions", "/problems%2Fname_taken", "/embed/..%2f.."} {
				ann.do(t, "GET", path, nil).problem(t, 404, "not_found")
			}
			for call, allow := range map[string]string{
				"DELETE /api/prompt-templates":              "GET, HEAD, POST",
				"PUT " + template:                           "GET, HEAD, PATCH, DELETE",
				"POST /api/me":                              "GET, HEAD, PATCH",
				"TRACE /api/me":                             "GET, HEAD, PATCH",
				"GET " + template + "/versions/v1/activate": "POST",
				"POST /api/health/live":                     "GET, HEAD",
			} {
				method, path, _ := strings.Cut(call, " ")
				if got := ann.do(t, method, path, nil).problem(t, 405,
					"method_not_allowed").header.Get("Allow"); got != allow {
					t.Errorf("%s allows %q, want %q", call, got, allow)
				}
			}
		})
		t.Run("bad input has changed nothing", func(t *testing.T) {
			ann.get(t, template).has(t, map[string]string{"name": "untouched", "revision": "1", "version_count": "1",
				"description": ""})
			if rest := ann.get(t, templates).items(t); len(rest) != 1 {
				t.Errorf("there are %d templates, want 1", len(rest))
			}
			for _, e := range admin.get(t, "/api/events?limit=100").items(t) {
				if e.(object)["id"] == previousID {
					break
				}
				if e.(object)["subject"] == template[len(templates)+1:] || e.(object)["actor"] == ann.id {
					t.Errorf("bad input left %v", e)
				}
			}
		})
	})
}

func TestHosts(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(`
base_domain: atrium.test
orgs:
  - {slug: red, hosts: [red.example.com]}
  - {slug: blue, hosts: [blue.example.com]}
`))
		red := s.user(t, "owner", "--org", "red")

		t.Run("an org answers on its own hosts", func(t *testing.T) {
			for _, host := range []string{"red.example.com", "RED.example.com.", "red.example.com:8443",
				"red.atrium.test"} {
				red.get(t, "/api/me", "Host: "+host).has(t, map[string]string{"org.slug": "red"})
			}
		})
		t.Run("an unknown host gets 421, which names it if it is printable", func(t *testing.T) {
			for _, host := range []string{"green.example.com", "127.0.0.1", "red.example.com.evil.test", "atrium.test",
				"x.red.atrium.test"} {
				a := red.do(t, "GET", "/api/me", nil, "Host: "+host).problem(t, 421, "unknown_host")
				if !strings.Contains(a.at("detail"), host) {
					t.Errorf("%s is not named: %s", host, a)
				}
			}
		})
		t.Run("a forwarded host is used only from trusted proxies", func(t *testing.T) {
			red.do(t, "GET", "/api/me", nil, "Host: green.example.com", "X-Forwarded-Host: red.example.com").problem(t,
				421, "unknown_host")
			red.get(t, "/api/me", "Host: red.example.com", "X-Forwarded-Host: blue.example.com").has(t,
				map[string]string{"org.slug": "red"})
		})
		t.Run("two forwarded hosts from a trusted proxy are refused", func(t *testing.T) {
			backend := start(t, engine, configured("server: {trusted_proxies: [127.0.0.0/8]}\norgs: [{slug: red, "+
				"hosts: [red.example.com]}]"))
			one := backend.user(t, "owner", "--org", "red")
			one.get(t, "/api/me", "X-Forwarded-Host: red.example.com")
			one.do(t, "GET", "/api/me", nil, "X-Forwarded-Host: evil.example.com",
				"X-Forwarded-Host: red.example.com").problem(t, 421, "ambiguous_host")
			one.do(t, "GET", "/api/docs", nil, "X-Forwarded-Host: red.example.com",
				"X-Forwarded-Host: red.example.com").problem(t, 421, "ambiguous_host")
		})
		t.Run("a key is refused at another org's host", func(t *testing.T) {
			red.do(t, "GET", "/api/me", nil, "Host: blue.example.com").problem(t, 401, "unauthenticated")
		})
		t.Run("health is served on any host", func(t *testing.T) {
			for _, path := range []string{"/api/health/live", "/api/health/ready"} {
				s.anonymous().get(t, path, "Host: green.example.com")
			}
		})
		t.Run("one workspace slug in two orgs is two workspaces", func(t *testing.T) {
			blue := s.user(t, "owner", "--org", "blue")
			theirs := templates + "/" + red.create(t, templates, object{"name": "red"},
				"Host: red.example.com").at("id")
			blue.do(t, "GET", theirs, nil, "Host: blue.example.com").problem(t, 404, "prompt_template_not_found")
			if blue.workspace == red.workspace {
				t.Error("they share a workspace")
			}
		})
	})
}
