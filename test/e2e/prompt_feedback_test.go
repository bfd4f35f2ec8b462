package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func init() {
	examples["reportPromptFeedback"] = ofTemplate(object{"name": "solved", "value": true}, "v2")
}

// feedback runs as a part of TestTheLifeOfAPrompt: bob only sees ann's template.
func feedback(t *testing.T, ann, bob *client) {
	id := ann.create(t, templates, object{"name": "judged", "visibility": "workspace"}).at("id")
	template := templates + "/" + id
	for _, text := range []string{"one", "two"} {
		ann.version(t, template, text)
	}
	ann.do(t, "POST", template+"/versions/v1/activate", object{}).is(t, 200)
	report := func(version string) string { return template + "/versions/" + version + "/feedback" }

	// A program that only reports has a key that can do nothing else.
	key := *bob
	key.token = bob.create(t, apiKeys, object{"name": "reports", "scopes": []string{"prompts:feedback"}}).at("token")
	solved := object{"name": "solved", "value": true, "comment": "Thanks!", "idempotency_key": "chat 1"}
	for _, repeated := range []string{"false", "true"} {
		key.do(t, "POST", report("active"), solved).is(t, 200).has(t, map[string]string{"version_number": "1",
			"repeated": repeated})
	}
	key.do(t, "GET", template+"/feedback", nil).problem(t, 403, "scope_required")

	// What is refused, and why.
	key.do(t, "POST", report("v2"), solved).problem(t, 404, "prompt_version_not_found") // a draft
	solved["value"] = false
	key.do(t, "POST", report("active"), solved).problem(t, 422, "idempotency_key_reused")
	key.do(t, "POST", report("v1"), object{"name": "solved", "value": 1}).problem(t, 409, "feedback_kind_mismatch")
	for _, value := range []any{nil, []int{1}, object{}, 1e10, "", strings.Repeat("x", 51)} {
		key.do(t, "POST", report("v1"), object{"name": "any", "value": value}).problem(t, 422, "invalid_fields").has(t,
			map[string]string{"errors.0.pointer": "/value"})
	}
	key.do(t, "POST", report("v1"), object{"name": "Not a name", "value": 1}).problem(t, 422, "invalid_fields")
	for i := range 21 {
		response := key.do(t, "POST", report("v1"), object{"name": "topic", "value": fmt.Sprint("topic ", i)})
		if i == 20 {
			response.problem(t, 409, "feedback_limit_reached")
		}
	}

	// A label counts for the version that its rollout chooses for the reader, and batches count again nothing.
	ann.do(t, "PUT", template+"/labels/live/rollout", object{"versions": []object{{"version": "v1", "weight": 50},
		{"version": "v2", "weight": 50}}}).is(t, 200)
	chosen := map[string]int{}
	var reports []object
	for i := range 300 {
		reader := fmt.Sprint("user ", i)
		rendered := bob.do(t, "POST", template+"/render", object{"ref": "live", "key": reader}).is(t, 200)
		number := rendered.at("version.number")
		chosen[number]++
		reports = append(reports, object{"prompt_template_id": id, "version_id": "live", "key": reader,
			"name": "rating", "value": map[string]float64{"1": 4.25, "2": 3}[number] + float64(i%2)/2,
			"idempotency_key": reader})
	}
	reports = append(reports,
		object{"prompt_template_id": "ptpl_none", "version_id": "v1", "name": "rating", "value": 1},
		object{"prompt_template_id": id, "version_id": "v1", "name": "rating", "value": "good"},
		object{"prompt_template_id": id, "version_id": "v1", "name": "rating", "value": 1e99})
	for _, repeated := range []string{"false", "true"} {
		key.do(t, "POST", templates+"/feedback/batch", object{"reports": reports}).is(t, 200).has(t, map[string]string{
			"results.0.feedback.repeated": repeated, "results.0.error": "null",
			"results.299.feedback.repeated": repeated,
			"results.300.error.code":        "prompt_template_not_found",
			"results.301.error.code":        "feedback_kind_mismatch",
			"results.302.error.code":        "invalid_fields", "results.302.error.errors.0.pointer": "/value",
			"results.302.feedback": "null", "results.303": ""})
	}
	key.do(t, "POST", templates+"/feedback/batch", object{"reports": []object{}}).problem(t, 422, "invalid_fields")

	got := bob.get(t, template+"/feedback?name=rating").has(t, map[string]string{"base_version_number": "1",
		"versions.0.version_number": "2", "versions.0.kind": "number", "versions.0.count": fmt.Sprint(chosen["2"]),
		"versions.0.differences.0.value": "null", "versions.1.version_number": "1", "versions.1.date": "null",
		"versions.1.count": fmt.Sprint(chosen["1"]), "versions.1.differences": "[]", "versions.2": "", "comments": "[]",
		"data.0.version_number": "2", "data.0.count": fmt.Sprint(chosen["2"]), "complete": "true"})
	low, high := got.at("versions.0.differences.0.low"), got.at("versions.0.differences.0.high")
	if !strings.HasPrefix(low, "-1.") || !strings.HasPrefix(high, "-1.") || low <= high { // as texts, -1.3 > -1.1
		t.Errorf("the difference is %s, from %s to %s", got.at("versions.0.differences.0.difference"), low, high)
	}
	ann.get(t, template+"/feedback?name=solved&base=v2").has(t, map[string]string{"base_version_number": "2",
		"versions.0.share": "1", "versions.0.count": "1", "comments.0.comment": "Thanks!", "comments.0.value": "true",
		"comments.1": ""})
	ann.get(t, template+"/feedback?days=1").has(t, map[string]string{"versions.3.name": "topic",
		"versions.3.distribution.19.count": "1", "versions.3.distribution.19.share": "0.05",
		"versions.3.distribution.20": ""})
	bob.do(t, "GET", template+"/feedback?base=v9", nil).problem(t, 404, "prompt_version_not_found")
}

func TestARolloutReportsAWorseVersionOnce(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "owner")
		id := ann.create(t, templates, object{"name": "watched"}).at("id")
		template := templates + "/" + id
		for _, text := range []string{"one", "two"} {
			ann.version(t, template, text)
		}
		rollout := template + "/labels/live/rollout"
		divided := object{"versions": []object{{"version": "v1", "weight": 80}, {"version": "v2", "weight": 20}}}
		divided["feedback"] = object{"name": "solved", "margin": -1}
		ann.do(t, "PUT", rollout, divided).problem(t, 422, "invalid_fields").has(t,
			map[string]string{"errors.0.pointer": "/feedback/margin"})
		divided["feedback"] = object{"name": "solved", "margin": 0.01}
		ann.do(t, "PUT", rollout, divided).is(t, 200).has(t, map[string]string{"feedback.name": "solved",
			"feedback.margin": "0.01", "feedback.better": "higher", "worse_reported_at": "null"})
		due := func() {
			s.sql(t, `UPDATE jobs SET due_at = 1 WHERE kind = 'prompt.rollout' AND state = 'queued'`)
		}
		count := func(state string) string {
			return s.only(t, `SELECT COUNT(*) FROM jobs WHERE kind = 'prompt.rollout' AND state = '`+state+`'`)
		}
		due() // nothing was reported yet, so it is evaluated again later
		s.await(t, func() bool { return count("succeeded") == "1" && count("queued") == "1" })
		judge(t, ann, id)
		due()
		s.await(t, func() bool { return len(ann.events(t, "&type=prompt_template.rollout_worsened")) == 1 })
		ann.get(t, "/api/events?type=prompt_template.rollout_worsened").has(t, map[string]string{
			"data.0.data.version_number": "2", "data.0.data.better_version_number": "1", "data.0.data.label": "live",
			"data.0.data.difference": "-0.15", "data.0.subject": id})
		if reported := ann.get(t, template+"/rollouts").at("data.0.worse_reported_at"); len(reported) < 20 {
			t.Errorf("worse_reported_at = %s", reported)
		}
		s.await(t, func() bool { return count("succeeded") == "2" })
		ann.do(t, "PUT", rollout, divided).is(t, 200) // the same again
		if n := count("queued"); n != "0" {
			t.Errorf("%s evaluations are queued after the report", n)
		}
		ann.do(t, "PUT", template+"/labels/live", object{"version": "v1"}).is(t, 200)
		ann.get(t, template+"/rollouts").has(t, map[string]string{"data": "[]"})
	})
}
