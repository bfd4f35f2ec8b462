package e2e

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestTheLifeOfAPrompt(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		admin := s.user(t, "admin")

		item := ann.create(t, templates, object{"name": "support/greeting", "tags": []string{"mail"}},
			"Idempotency-Key: first")
		template := templates + "/" + item.at("id")
		item.has(t, map[string]string{"my_role": "owner", "owner_id": ann.id, "visibility": "private",
			"active_version": "null", "revision": "1", "version_count": "0"})
		assert.Equal(t, "Location", item.header.Get("Location"), template)
		var v1, v2 *answer

		t.Run("versions are numbered, and their variables are inferred", func(t *testing.T) {
			v1 = ann.create(t, template+"/versions", object{"text": "Hello {{customer}}!", "commit_message": "First"})
			v2 = ann.create(t, template+"/versions",
				object{"text": "Dear {{customer}},\n{{{body}}}\n", "base_version_id": v1.at("id")})
			v1.has(t, map[string]string{"number": "1", "state": "draft", "variables.0.name": "customer",
				"is_active": "false"})
			v2.has(t, map[string]string{"number": "2", "variables.1.name": "body"})
			ann.do(t, "POST", template+"/versions", object{"text": "late", "base_version_id": v1.at("id")}).problem(t,
				409, "base_outdated")
			foreign := ann.version(t, ann.template(t, "another"), "x")
			for _, base := range []string{"x", "v1", foreign[strings.LastIndexByte(foreign, '/')+1:]} {
				ann.do(t, "POST", template+"/versions", object{"text": "late", "base_version_id": base}).problem(t, 404,
					"prompt_version_not_found")
			}
		})
		t.Run("a prompt is created and goes live in one call, and so is its next version", func(t *testing.T) {
			live := ann.create(t, templates, object{"name": "one/call", "version": object{"text": "Hi!",
				"labels": []string{"production"}, "activate": true, "reason": "First"}})
			live.has(t, map[string]string{"active_version.number": "1", "version_count": "1"})
			path := templates + "/" + live.at("id")
			ann.create(t, path+"/versions", object{"text": "Ho!", "activate": true, "reason": "Shorter"}).has(t,
				map[string]string{"number": "2", "state": "frozen", "is_active": "true"})
			ann.get(t, path+"/activations").has(t, map[string]string{"data.0.reason": "Shorter",
				"data.1.reason": "First", "data.1.from_version_id": "null"})
		})
		t.Run("a draft renders without escaping, and strictly unless told otherwise", func(t *testing.T) {
			ann.do(t, "POST", template+"/render",
				object{"ref": "latest", "variables": object{"customer": "Bob & <Eve> {{x}}", "body": "ok"}}).is(t, 200).
				has(t, map[string]string{"text": "Dear Bob & <Eve> {{x}},\nok\n", "version.number": "2",
					"missing": "[]"})
			ann.do(t, "POST", template+"/render", object{"ref": "v2"}).problem(t, 422, "missing_variables")
			ann.do(t, "POST", template+"/render",
				object{"ref": "v2", "mode": "partial", "variables": object{"other": 1}}).is(t, 200).
				has(t, map[string]string{"missing": `["customer","body"]`, "unused": `["other"]`})
			if a := ann.do(t, "POST", template+"/render", object{}).problem(t, 404,
				"prompt_version_not_found"); !strings.Contains(a.at("detail"),
				"No version of the prompt template is active yet") {
				t.Errorf("it says %s", a)
			}
		})
		t.Run("an activation freezes the version, and a repeated one changes nothing", func(t *testing.T) {
			active := ann.do(t, "POST", template+"/versions/v2/activate",
				object{"reason": "Reviewed", "expected_active_version_id": nil}).is(t, 200)
			active.has(t, map[string]string{"active_version.number": "2", "active_version.activated_by": ann.id,
				"revision": "2"})
			ann.do(t, "POST", template+"/versions/v2/activate", nil).is(t, 200).has(t,
				map[string]string{"revision": "2"})
			ann.do(t, "PATCH", template+"/versions/v2", object{"text": "No"}).problem(t, 409, "version_frozen")
			for _, want := range []string{"", "v2"} {
				ann.do(t, "POST", template+"/versions/v2/activate",
					object{"expected_active_version_id": want}).problem(t, 422, "invalid_fields")
			}
			ann.do(t, "DELETE", template+"/versions/active", nil).problem(t, 409, "version_active")
			ann.do(t, "POST", template+"/versions/v1/activate",
				object{"expected_active_version_id": v1.at("id")}).problem(t, 409, "active_changed")
		})
		t.Run("a template is visible only to users it is shared with, and to a viewer only its frozen versions",
			func(t *testing.T) {
				bob.do(t, "GET", template, nil).problem(t, 404, "prompt_template_not_found")
				ann.create(t, template+"/shares", object{"email": strings.ToUpper(bob.email), "role": "viewer"}).has(t,
					map[string]string{"user_id": bob.id, "granted_by": ann.id, "email": bob.email})
				ann.do(t, "POST", template+"/shares", object{"user_id": bob.id, "role": "viewer"}).problem(t, 409,
					"already_shared")
				ann.do(t, "POST", template+"/shares", object{"user_id": ann.id, "role": "viewer"}).problem(t, 409,
					"owner_share")
				ann.do(t, "POST", template+"/shares",
					object{"email": "nobody@example.com", "role": "viewer"}).problem(t,
					422, "user_not_in_workspace")
				bob.get(t, template).has(t, map[string]string{"my_role": "viewer", "version_count": "1",
					"latest_version.number": "2"})
				if got := bob.get(t, template+"/versions").each(t, "number"); !slices.Equal(got, []string{"2"}) {
					t.Errorf("the viewer sees versions %v, want 2 alone", got)
				}
				bob.do(t, "GET", template+"/versions/v1", nil).problem(t, 404, "prompt_version_not_found")
				bob.do(t, "GET", template+"/versions/v2/diff?against=v1", nil).problem(t, 404,
					"prompt_version_not_found")
				bob.do(t, "PATCH", template, object{"description": "mine"}).problem(t, 403, "prompt_template_forbidden")
				bob.get(t, template+"/versions/active").has(t, map[string]string{"id": v2.at("id"), "is_active": "true",
					"state": "frozen"})
			})
		t.Run("a change based on an old revision is refused", func(t *testing.T) {
			stale := ann.get(t, template).header.Get("Etag")
			admin.do(t, "PATCH", template, object{"description": "Greets"}, "If-Match: "+stale).is(t, 200)
			ann.do(t, "PATCH", template, object{"description": "Welcomes"}, "If-Match: "+stale).problem(t, 412,
				"revision_mismatch")
			ann.get(t, template).has(t, map[string]string{"description": "Greets", "revision": "3"})
		})
		t.Run("a template cannot be renamed to another one's name", func(t *testing.T) {
			other := templates + "/" + ann.create(t, templates, object{"name": "support/farewell"}).at("id")
			ann.do(t, "PATCH", other, object{"name": "support/greeting"}).problem(t, 409, "name_taken")
			ann.do(t, "DELETE", other, nil).is(t, 204)
		})
		t.Run("a replayed problem has the id of the current request", func(t *testing.T) {
			for _, id := range []string{"one", "two"} {
				a := ann.do(t, "POST", templates, object{"name": "support/greeting"}, "Idempotency-Key: taken",
					"Request-Id: "+id).problem(t, 409, "name_taken")
				if a.at("request_id") != id || (a.header.Get("Idempotency-Replayed") == "true") != (id == "two") {
					t.Errorf("it says %s", a)
				}
			}
		})
		t.Run("a POST that is repeated under its key has no effect, and returns the resource as it is now",
			func(t *testing.T) {
				value := ann.create(t, templates, object{"name": "support/greeting", "tags": []string{"mail"}},
					"Idempotency-Key: first")
				if value.header.Get("Idempotency-Replayed") != "true" || item.header.Get("Idempotency-Replayed") != "" {
					t.Error("the replay does not say that it is one, or the first answer does")
				}
				for _, h := range []string{"Location", "Content-Type"} {
					if value.header.Get(h) != item.header.Get(h) {
						t.Errorf("%s is %q, was %q", h, value.header.Get(h), item.header.Get(h))
					}
				}
				current := ann.get(t, item.header.Get("Location"))
				if value.text != current.text || value.header.Get("Etag") != current.header.Get("Etag") {
					t.Errorf("the replay reads\n%s\nthe resource\n%s", value.text, current.text)
				}
				ann.do(t, "POST", templates, object{"name": "other"}, "Idempotency-Key: first").problem(t, 422,
					"idempotency_key_reused")
			})
		t.Run("a diff shows what changed", func(t *testing.T) {
			diff := ann.get(t, template+"/versions/v2/diff?against=v1")
			diff.has(t, map[string]string{"against.number": "1", "version.number": "2"})
			if unifiedUnified := diff.at("unified"); !strings.Contains(unifiedUnified, "-Hello {{customer}}!") ||
				!strings.Contains(unifiedUnified, "+Dear {{customer}},") {
				t.Errorf("the diff reads\n%s", unifiedUnified)
			}
			assert.Contains(t, "changes are", diff.at("changes"), `"field":"variables"`)
			assert.Contains(t, "changed_fields are", diff.at("changed_fields"), `"text"`)
			ann.get(t, template+"/versions/v1/diff").has(t, map[string]string{"against.number": "2"}) // the active one
		})
		t.Run("a label is on one version, and freezes it", func(t *testing.T) {
			ann.do(t, "PATCH", template+"/versions/v1", object{"labels": []string{"production", "staging"}}).is(t,
				200).has(t, map[string]string{"state": "frozen", "labels": `["production","staging"]`})
			stale := ann.get(t, template+"/versions/v1").header.Get("Etag")
			ann.do(t, "PATCH", template+"/versions/v2", object{"labels": []string{"production"}}).is(t, 200)
			ann.do(t, "PATCH", template+"/versions/v1", object{"labels": []string{"production"}},
				"If-Match: "+stale).problem(t, 412, "revision_mismatch")
			ann.get(t, template+"/versions/production").has(t, map[string]string{"number": "2"})
			ann.get(t, template+"/versions/staging").has(t, map[string]string{"number": "1", "labels": `["staging"]`})
			ann.do(t, "PATCH", template+"/versions/v2", object{"labels": []string{"v7"}}).problem(t, 422,
				"invalid_fields")
		})
		t.Run("one call resolves several references, each with its own result", func(t *testing.T) {
			out := bob.do(t, "POST", templates+"/resolve", object{"refs": []object{
				{"name": "Support/GREETING"}, {"prompt_template_id": item.at("id"), "ref": "staging"},
				{"prompt_template_id": item.at("id"), "ref": "nowhere"}, {"name": "not/there"},
				{"prompt_template_id": "ptpl_bad"},
			}}).is(t, 200)
			out.has(t, map[string]string{
				"data.0.version.number": "2", "data.1.version.number": "1",
				"data.2.error.code": "prompt_version_not_found",
				"data.3.error.code": "prompt_template_not_found", "data.4.error.code": "prompt_template_not_found",
			})
			if want := bob.get(t, template+"/versions/active").header.Get("Etag"); out.at("data.0.etag") != want {
				t.Errorf("the ETag is %q, that of the version %q", out.at("data.0.etag"), want)
			}
			tag := out.at("data.0.etag")
			second := bob.do(t, "POST", templates+"/resolve", object{"refs": []object{
				{"prompt_template_id": out.at("data.0.prompt_template_id"), "if_none_match": tag},
				{"prompt_template_id": out.at("data.0.prompt_template_id"), "if_none_match": `"1-old"`}}}).is(t, 200)
			second.has(t, map[string]string{"data.0.not_modified": "true", "data.0.version": "", "data.0.etag": tag,
				"data.1.not_modified": "", "data.1.version.number": "2"})
			byName := templates + "/resolve?name=" + url.QueryEscape(out.at("data.0.name"))
			if got := bob.get(t, byName); got.header.Get("Etag") != tag || got.at("number") != "2" {
				t.Errorf("by name: version %s with ETag %s, want that of the version, %s", got.at("number"),
					got.header.Get("Etag"), tag)
			}
			bob.do(t, "GET", byName, nil, "If-None-Match: "+tag).is(t, 304)
			bob.do(t, "GET", byName+"&ref=v99", nil).problem(t, 404, "prompt_version_not_found")
			bob.do(t, "GET", templates+"/resolve?name=none", nil).problem(t, 404, "prompt_template_not_found")
		})
		t.Run("the ledger says who activated what, when and why", func(t *testing.T) {
			ann.do(t, "POST", template+"/versions/staging/activate", object{"reason": "Back"}).is(t, 200)
			bob.get(t, template+"/activations").has(t, map[string]string{
				"data.0.from_version_id": v2.at("id"), "data.0.to_version_id": v1.at("id"), "data.0.reason": "Back",
				"data.1.from_version_id": "null", "data.1.to_version_id": v2.at("id"), "data.1.reason": "Reviewed",
				"data.1.activated_by": ann.id, "data.0.from_version_number": "2", "data.0.to_version_number": "1",
				"data.1.from_version_number": "null", "data.1.to_version_number": "2",
				"data.2": "",
			})
		})
		t.Run("labels move one at a time", func(t *testing.T) { labelsMove(t, ann, bob) })
		t.Run("labels are rolled out by weights", func(t *testing.T) { rollouts(t, ann, bob) })
		t.Run("templates are found, listed by folder and tag, and moved", func(t *testing.T) { folders(t, ann, bob) })
		t.Run("an activation keeps the contract", func(t *testing.T) { contracts(t, ann) })
		t.Run("an activation waits for approvals, checks and a time", func(t *testing.T) { requests(t, ann, bob) })
		t.Run("applications report feedback about versions", func(t *testing.T) { feedback(t, ann, bob) })
		t.Run("labels have gates of their own", func(t *testing.T) { labelGates(t, ann, bob) })
		t.Run("a required check passes by its threshold", func(t *testing.T) { thresholds(t, ann, bob) })
		t.Run("reads are counted", func(t *testing.T) { counted(t, ann, bob) })
		t.Run("prompts include others", func(t *testing.T) { includes(t, ann, bob) })
		t.Run("templates are copied", func(t *testing.T) { copies(t, ann, bob) })
		t.Run("prompts are exported and imported as files", func(t *testing.T) {
			files(t, ann, s.user(t, "owner", "--workspace", "files"))
		})
		t.Run("a deleted template is hidden from everyone, and can be restored", func(t *testing.T) {
			ann.do(t, "DELETE", template, nil).is(t, 204)
			for _, person := range []*client{ann, bob, admin} {
				person.do(t, "GET", template, nil).problem(t, 404, "prompt_template_not_found")
			}
			for person, want := range map[*client]bool{ann: true, admin: true, bob: false} {
				got := person.get(t, templates+"?deleted=true").each(t, "id")
				if slices.Contains(got, item.at("id")) != want {
					t.Errorf("the trash has %q", got)
				}
			}
			takenText := ann.template(t, "support/greeting")
			ann.do(t, "POST", template+"/restore", nil).problem(t, 409, "name_taken")
			ann.do(t, "DELETE", takenText, nil).is(t, 204)
			bob.do(t, "POST", template+"/restore", nil).problem(t, 404, "prompt_template_not_found")
			admin.do(t, "POST", template+"/restore", nil).is(t, 200).has(t,
				map[string]string{"active_version.number": "1", "my_role": "manager"})
			bob.get(t, template).has(t, map[string]string{"my_role": "viewer"})
		})
		t.Run("a transfer makes the new owner, and keeps the old one as a manager", func(t *testing.T) {
			ann.do(t, "PATCH", template, object{"owner_id": bob.id}).is(t, 200).has(t,
				map[string]string{"my_role": "manager", "owner_id": bob.id})
			bob.get(t, template).has(t, map[string]string{"my_role": "owner"})
		})
		t.Run("the audit trail lists every event, latest first, for admins", func(t *testing.T) {
			all := admin.get(t, "/api/events?limit=100&subject="+item.at("id"))
			own := bob.get(t, "/api/events?limit=100&subject="+item.at("id")).each(t, "type")
			got := all.each(t, "type")
			slices.Reverse(got)
			want := []string{
				"prompt_template.created", "prompt_version.created", "prompt_version.created",
				"prompt_template.activated", "prompt_share.created",
				"prompt_template.updated", "prompt_version.updated", "prompt_version.updated",
				"prompt_template.activated",
				"prompt_template.deleted", "prompt_template.restored", "prompt_template.transferred",
			}
			if !slices.Equal(got, want) {
				t.Errorf("the events are\n%v\nwant\n%v", got, want)
			}
			slices.Reverse(own)
			own = slices.DeleteFunc(own, func(kind string) bool { return kind == "prompt_version.updated" }) // his own
			admins := []string{"prompt_share.created", "prompt_version.created", "prompt_version.updated"}
			want = slices.DeleteFunc(want, func(kind string) bool { return slices.Contains(admins, kind) })
			if !slices.Equal(own, want) {
				t.Errorf("the owner reads\n%v\nwant\n%v", own, want)
			}
			if by := admin.events(t, "&actor="+admin.id+"&subject="+item.at("id")); len(by) != 2 {
				t.Errorf("the admin did %d things, want the description and the restore", len(by))
			}
			if by := admin.events(t, "&type=prompt_template.activated&subject="+item.at("id")); len(by) != 2 {
				t.Errorf("%d activations, want 2", len(by))
			}
			if values := admin.events(t, "&created_after="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); len(
				values) != 0 {
				t.Errorf("%d events of the future", len(values))
			}
			for _, id := range admin.get(t, "/api/events?request_id="+all.at("data.0.request_id")).each(t, "id") {
				assert.Equal(t, "is of another request", id, all.at("data.0.id"))
			}
			var pagedTexts []string
			for cursor := ""; ; {
				p := admin.get(t, "/api/events?limit=5&subject="+item.at("id")+cursor)
				pagedTexts = append(pagedTexts, p.each(t, "id")...)
				if p.at("next_cursor") == "null" {
					break
				}
				cursor = "&cursor=" + p.at("next_cursor")
			}
			if !slices.Equal(pagedTexts, all.each(t, "id")) {
				t.Errorf("in pages of 5 they are\n%v\nat once\n%v", pagedTexts, all.each(t, "id"))
			}
		})
		t.Run("the feed has every event in the order of seq", func(t *testing.T) {
			feed := "/api/events?order=asc&subject=" + item.at("id")
			want := admin.get(t, "/api/events?limit=100&subject="+item.at("id")).each(t, "id")
			slices.Reverse(want)
			awaits(t, "the events are linked", s, func() bool {
				return slices.Equal(admin.get(t, feed+"&limit=100").each(t, "id"), want)
			})
			var read []string
			for next := "0"; len(read) < len(want); {
				p := admin.get(t, feed+"&limit=5&after="+next)
				read, next = append(read, p.each(t, "id")...), p.at("last_seq")
			}
			if !slices.Equal(read, want) {
				t.Errorf("read on from last_seq they are\n%v\nwant\n%v", read, want)
			}
			first := admin.get(t, feed+"&limit=1")
			first.has(t, map[string]string{"data.0.id": want[0]})
			second := admin.get(t, feed+"&limit=1&cursor="+first.at("next_cursor"))
			second.has(t, map[string]string{"data.0.id": want[1]})
			subset := admin.get(t, feed+"&types=prompt_template.deleted,prompt_template.restored").each(t, "type")
			if !slices.Equal(subset, []string{"prompt_template.deleted", "prompt_template.restored"}) {
				t.Errorf("filtered by type they are %v", subset)
			}
			for _, problem := range []string{"after=1", "types=prompt_template.deleted", "order=desc&after=1",
				"order=asc&after=-1", "order=asc&after=x", "order=asc&types=,", "order=up"} {
				admin.do(t, "GET", "/api/events?"+problem, nil).problem(t, 400, "invalid_parameter")
			}
		})
	})
}

func TestLists(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		for _, p := range []object{
			{"name": "sales/Call", "tags": []string{"Mail", "x"}, "description": "50% off_now"},
			{"name": "sales/eu/visit", "visibility": "workspace"},
			{"name": "salesforce", "tags": []string{"mail"}, "visibility": "workspace"},
		} {
			ann.create(t, templates, p)
		}
		for query, want := range map[string][]string{
			"":                                     {"salesforce", "sales/eu/visit", "sales/Call"},
			"?folder=sales":                        {"sales/eu/visit", "sales/Call"},
			"?folder=SALES/eu":                     {"sales/eu/visit"},
			"?tag=mail":                            {"salesforce"},
			"?q=CALL":                              {"sales/Call"},
			"?q=%25+OFF_":                          {"sales/Call"},
			"?q=_":                                 {"sales/Call"},
			"?q=%25":                               {"sales/Call"},
			"?q=nothing":                           {},
			"?q=sales&tag=mail&limit=1":            {"salesforce"},
			"?folder=sales&tag=x&q=off&limit=100":  {"sales/Call"},
			"?folder=" + strings.Repeat("deep", 9): {},
		} {
			t.Run("filter "+query, func(t *testing.T) {
				assert.EqualSlice(t, "get", ann.get(t, templates+query).each(t, "name"), want)
			})
		}
		t.Run("lists hold exactly what the caller may see", func(t *testing.T) {
			assert.EqualSlice(t, "get", bob.get(t, templates).each(t, "name"), []string{"salesforce", "sales/eu/visit"})
		})
		t.Run("lists neither skip nor repeat items while others add some", func(t *testing.T) {
			first := ann.get(t, templates+"?limit=2")
			ann.template(t, "added between two pages")
			second := ann.get(t, templates+"?limit=2&cursor="+first.at("next_cursor"))
			if got := append(first.each(t, "name"), second.each(t, "name")...); !slices.Equal(got,
				[]string{"salesforce", "sales/eu/visit", "sales/Call"}) {
				t.Errorf("got %v", got)
			}
			if second.at("next_cursor") != "null" {
				t.Error("the last page has a next one")
			}
		})
	})
}
