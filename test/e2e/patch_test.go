package e2e

import "testing"

func TestAPatchIsMergedDeepIntoWhatNobodyDeclared(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")

		t.Run("metadata of a template", func(t *testing.T) {
			template := templates + "/" + ann.create(t, templates,
				object{"name": "merged", "metadata": object{"team": "42", "deep": object{"a": 1, "b": []int{1}}}}).at(
				"id")
			change := object{"cost": "low", "deep": object{"a": nil, "c": 12345678901234567}}
			ann.do(t, "PATCH", template, object{"metadata": change}).is(t, 200).
				has(t, map[string]string{"metadata": `{"cost":"low","deep":{"b":[1],"c":12345678901234567},"team":"42"}`})
			ann.do(t, "PATCH", template, object{"metadata": object{"team": nil, "cost": nil, "deep": nil}}).is(t,
				200).has(t, map[string]string{"metadata": "{}"})
			ann.do(t, "PATCH", template, object{"metadata": object{"x": 1}}).is(t, 200)
			ann.do(t, "PATCH", template, object{"metadata": nil}).is(t, 200).has(t, map[string]string{"metadata": "{}"})
		})
		t.Run("response format and parameters of a version", func(t *testing.T) {
			template := ann.template(t, "formatted")
			version := template + "/versions/" + ann.create(t, template+"/versions", object{
				"text": "x", "response_format": object{"type": "json_schema",
					"json_schema": object{"name": "answer", "strict": true}},
				"model_config": object{"provider": "p", "extra_params": object{"seed": 7, "deep": object{"a": 1}}},
			}).at("id")
			ann.do(t, "PATCH", version, object{
				"response_format": object{"json_schema": object{"strict": nil, "schema": object{}}},
				"model_config":    object{"extra_params": object{"deep": object{"b": 2}}},
			}).is(t, 200).has(t, map[string]string{
				"response_format":           `{"json_schema":{"name":"answer","schema":{}},"type":"json_schema"}`,
				"model_config.extra_params": `{"deep":{"a":1,"b":2},"seed":7}`,
			})
			ann.do(t, "PATCH", version, object{"response_format": nil}).is(t, 200).has(t,
				map[string]string{"response_format": "null"})
		})
	})
}
