package e2e

import (
	"encoding/json"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestARolloutDividesVisitorsBySession(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin, bot := s.user(t, "admin"), newReplies(t, nil)
		e := admin.replying(t, bot, nil)
		type request struct {
			Session      string `json:"session_id"`
			Instructions string `json:"instructions"`
			Prompt       *struct {
				Template string `json:"prompt_template_id"`
				Version  string `json:"version_id"`
				Number   int    `json:"version_number"`
				Rollout  *struct {
					Label  string `json:"label"`
					Weight int    `json:"weight"`
				} `json:"rollout"`
			} `json:"prompt"`
		}
		ask := func(session string) (r request) {
			t.Helper()
			e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
			body, _ := bot.last()
			assert.NoError(t, json.Unmarshal([]byte(body), &r))
			return r
		}
		open := func() string { return e.visit(t, fromShop).is(t, 200).at("session") }
		if plain := ask(open()); plain.Prompt != nil || plain.Session == "" {
			t.Errorf("a chat with its own instructions sends %+v", plain)
		}

		prompt := templates + "/" + admin.create(t, templates, object{"name": "divided",
			"version": object{"text": "Old.", "activate": true}}).at("id")
		admin.create(t, prompt+"/versions", object{"text": "New."})
		id := admin.get(t, prompt).at("id")
		admin.do(t, "PUT", prompt+"/labels/live", object{"version": "v1"}).is(t, 200)
		admin.do(t, "PATCH", e.template, object{"instructions": nil,
			"prompt": object{"prompt_template_id": id, "ref": "live"}}).is(t, 200)
		admin.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
		if runtime := ask(open()); runtime.Instructions != "Old." || runtime.Prompt.Rollout != nil {
			t.Errorf("without a rollout the program gets %+v", runtime)
		}
		admin.do(t, "PUT", prompt+"/labels/live/rollout", object{"versions": []object{{"version": "v1", "weight": 60},
			{"version": "v2", "weight": 40}}}).is(t, 200)

		texts, weights := map[int]string{1: "Old.", 2: "New."}, map[int]int{1: 60, 2: 40}
		for numbers := map[int]bool{}; len(numbers) < 2; {
			session := open()
			first := ask(session)
			numbers[first.Prompt.Number] = true
			renewal := s.anonymous().do(t, "POST", sessions+"/renew", nil, fromShop, "Authorization: Bearer "+session)
			second := ask(renewal.is(t, 200).at("session"))
			if first.Session != second.Session || first.Prompt.Version != second.Prompt.Version {
				t.Errorf("a session gets %+v, and then %+v", first, second)
			}
			number := first.Prompt.Number
			if first.Instructions != texts[number] || first.Prompt.Template != id || first.Prompt.Rollout == nil ||
				first.Prompt.Rollout.Label != "live" || first.Prompt.Rollout.Weight != weights[number] {
				t.Errorf("the program gets %+v", first)
			}
			admin.do(t, "POST", sessions+"/verify", object{"session": session}).is(t, 200).has(t,
				map[string]string{"session_id": first.Session})
		}
	})
}
