package e2e

import (
	"fmt"
	"math"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/proof"
)

func init() {
	examples["rollOutPromptLabel"] = ofTemplate(object{"versions": []object{{"version": "v1", "weight": 90},
		{"version": "v2", "weight": 10}}}, "placed")
}

// rollouts runs as a part of TestTheLifeOfAPrompt.
func rollouts(t *testing.T, ann, bob *client) {
	name := "rolled out"
	template := templates + "/" + ann.create(t, templates, object{"name": name, "visibility": "workspace"}).at("id")
	for _, text := range []string{"one", "two", "three"} {
		ann.version(t, template, text)
	}
	rollout, label := template+"/labels/live/rollout", template+"/labels/live"
	divide := func(weights ...int) object {
		var versions []object
		for i, w := range weights {
			versions = append(versions, object{"version": fmt.Sprintf("v%d", i+1), "weight": w})
		}
		return object{"versions": versions, "reason": "Try"}
	}

	ann.do(t, "PUT", rollout, divide(90, 11)).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.pointer": "/versions"})
	ann.do(t, "PUT", rollout, object{"versions": []object{{"version": "v1", "weight": 50}, {"version": "v9",
		"weight": 50}}}).problem(t, 404, "prompt_version_not_found")
	ann.get(t, template+"/versions/v2").has(t, map[string]string{"state": "draft"}) // nothing was stored
	bob.do(t, "PUT", rollout, divide(50, 50)).problem(t, 404, "prompt_version_not_found")
	ann.do(t, "PUT", rollout, divide(50, 50)).is(t, 200).has(t, map[string]string{"label": "live",
		"versions.0.version_number": "1", "versions.1.weight": "50"})
	outdatedValues := divide(40, 60)
	outdatedValues["expected_version"] = "v3"
	ann.do(t, "PUT", rollout, outdatedValues).problem(t, 409, "label_changed")
	ann.get(t, template+"/versions/v2").has(t, map[string]string{"state": "frozen", "labels": "[]"})
	bob.get(t, template+"/rollouts").has(t, map[string]string{"data.0.versions.1.version_number": "2", "data.1": ""})
	ann.do(t, "DELETE", template+"/versions/v2", nil).problem(t, 409, "version_in_rollout")

	// Every door chooses the same version for the same key, also from memory; without a key it is the first one.
	resolve := templates + "/resolve?ref=live&name=" + url.QueryEscape(name)
	numbers := map[string]bool{}
	for i := range 12 {
		key := fmt.Sprint("user ", i)
		for range 2 {
			byName := bob.get(t, resolve+"&key="+url.QueryEscape(key))
			byName.has(t, map[string]string{"rollout.label": "live", "rollout.weight": "50"})
			number := byName.at("number")
			numbers[number] = true
			bob.do(t, "POST", template+"/render", object{"ref": "live", "key": key}).is(t, 200).has(t,
				map[string]string{"version.number": number, "rollout.weight": "50"})
			bob.do(t, "POST", templates+"/resolve", object{"key": key, "refs": []object{{"name": name, "ref": "live"},
				{"name": name, "ref": "v3"}}}).is(t, 200).has(t, map[string]string{
				"data.0.version.number": number, "data.0.version.rollout.label": "live", "data.1.error.code": "prompt_version_not_found"})
		}
		bob.get(t, resolve).has(t, map[string]string{"number": "1", "rollout": ""})
	}
	unkeyed := bob.do(t, "POST", templates+"/resolve", object{"refs": []object{{"name": name, "ref": "live"},
		{"name": name, "ref": "v1"}}}).is(t, 200)
	unkeyed.has(t, map[string]string{"data.0.version.number": "1", "data.0.version.rollout": "", "data.1.rollout": "",
		"data.0.rollout.versions.0.version_id": unkeyed.at("data.0.version.id"),
		"data.0.rollout.versions.1.weight":     "50", "data.0.rollout.versions.1.slots.49": "99"})
	bob.do(t, "POST", templates+"/resolve", object{"refs": []object{{"name": name, "ref": "live",
		"if_none_match": unkeyed.at("data.0.etag")}}}).is(t, 200).has(t, map[string]string{
		"data.0.not_modified": "true", "data.0.rollout.seed": unkeyed.at("data.0.rollout.seed")})
	if len(numbers) != 2 {
		t.Errorf("12 keys got the versions %v", numbers)
	}
	bob.do(t, "GET", resolve+"&key=", nil).is(t, 400)

	// One call ends it, for one version or the other.
	ann.do(t, "PUT", label, object{"version": "v2", "reason": "Better"}).is(t, 200)
	ann.get(t, template+"/rollouts").has(t, map[string]string{"data.0": ""})
	bob.do(t, "POST", templates+"/resolve", object{"refs": []object{{"name": name, "ref": "live"}}}).is(t, 200).has(t,
		map[string]string{"data.0.version.number": "2", "data.0.rollout": ""})
	for i := range 4 {
		bob.get(t, fmt.Sprintf("%s&key=user+%d", resolve, i)).has(t, map[string]string{"number": "2", "rollout": ""})
	}
	ann.get(t, template+"/activations?label=live").has(t, map[string]string{
		"data.0.reason": "Better", "data.0.from_version_number": "1", "data.0.to_version_number": "2", "data.0.weights": "",
		"data.1.reason": "Try", "data.1.weights.0.weight": "50", "data.1.weights.1.version_number": "2"})
	sticky(t, ann, bob, template, resolve, divide)
}

// sticky changes the weights of a rollout while 16 readers read.
func sticky(t *testing.T, ann, bob *client, template, resolve string, divide func(...int) object) {
	rollout := template + "/labels/live/rollout"
	keys := proof.Sample(400, 10_000)
	ann.do(t, "PUT", rollout, divide(100-10, 10)).is(t, 200)
	var wg sync.WaitGroup
	var done, reads, reply atomic.Int64
	for reader := range 16 {
		wg.Go(func() {
			for i := reader; i < keys; i += 16 {
				path := fmt.Sprintf("%s&key=k%d", resolve, i)
				last := "1"
				for stop := false; !stop; {
					stop = done.Load() > 0 || (i >= 16 && i%400 != reader)
					a, err := bob.try(t, "GET", path, nil)
					if err != nil || a.status != 200 {
						t.Errorf("%s: %v %v", path, a, err)
						return
					}
					number := a.at("number")
					if reads.Add(1); last == "2" && number == "1" {
						reply.Add(1) // the weight of version 2 only grows
					}
					last = number
					pause(t.Context(), 2*time.Millisecond) // each read is a connection of its own
				}
			}
		})
	}
	for weight := 15; weight <= 50; weight += 5 {
		a, err := ann.try(t, "PUT", rollout, divide(100-weight, weight))
		if err != nil || a.status != 200 {
			t.Errorf("the weight %d: %v %v", weight, a, err)
		}
	}
	done.Add(1)
	wg.Wait()
	if reply.Load()*1000 > reads.Load() {
		t.Errorf("%d of %d reads went back to the version before", reply.Load(), reads.Load())
	}
	second := 0
	for i := range keys {
		if bob.get(t, fmt.Sprintf("%s&key=k%d", resolve, i)).at("number") == "2" {
			second++
		}
	}
	t.Logf("%d of %d keys have version 2, whose weight is 50; %d reads, %d went back", second, keys, reads.Load(),
		reply.Load())
	if deviation := second*100/keys - 50; max(deviation, -deviation) > proof.Sample(10, 2) {
		t.Errorf("%d of %d keys have version 2, whose weight is 50", second, keys)
	}
}

// TestARolloutDividesItsReadersByTheWeights asks for a version under many keys over HTTP, and then again after the new
// version got more weight: who had it keeps it.
func TestARolloutDividesItsReadersByTheWeights(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "member")
		template := templates + "/" + ann.create(t, templates, object{"name": "divided"}).at("id")
		ann.version(t, template, "one")
		ann.version(t, template, "two")
		keys := proof.Sample(300, 10_000)
		ask := func(weight int) (existing map[int]string) {
			ann.do(t, "PUT", template+"/labels/live/rollout", object{"versions": []object{
				{"version": "v1", "weight": 100 - weight}, {"version": "v2", "weight": weight}}}).is(t, 200)
			existing = map[int]string{}
			for key := range keys {
				existing[key] = ann.get(t, fmt.Sprintf("%s/resolve?name=divided&ref=live&key=user+%d", templates,
					key)).at("number")
			}
			return existing
		}
		share := func(existing map[int]string) (percent float64) {
			for _, number := range existing {
				if number == "2" {
					percent += 100 / float64(keys)
				}
			}
			return percent
		}
		previous, current := ask(10), ask(30)
		// With few keys a share is off by chance: 14 is more than five times the standard deviation of 30 % of 300.
		limit := proof.Sample(14, 2)
		for want, got := range map[float64]float64{10: share(previous), 30: share(current)} {
			if math.Abs(got-want) > float64(limit) {
				t.Errorf("%.1f %% of %d keys get the new version, of which the weight is %.0f", got, keys, want)
			}
		}
		for i, number := range previous {
			if number == "2" && current[i] != "2" {
				t.Errorf("the key %d lost the new version when that got more weight", i)
			}
		}
	})
}
