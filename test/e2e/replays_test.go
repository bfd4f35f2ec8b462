package e2e

import (
	"strings"
	"testing"
)

// TestReplaysReadAgain repeats requests whose response a GET returns too, so that no copy is stored.
func TestReplaysReadAgain(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		template := ann.create(t, templates, object{"name": "replayed", "type": "text", "visibility": "private"},
			"Idempotency-Key: template")
		path := templates + "/" + template.at("id")
		body := object{"text": strings.Repeat("long ", 40_000)}
		response := ann.create(t, path+"/versions", body, "Idempotency-Key: version")
		version := response.header.Get("Location")
		repeat := func(t *testing.T) *answer {
			t.Helper()
			a := ann.create(t, path+"/versions", body, "Idempotency-Key: version")
			if a.header.Get("Idempotency-Replayed") != "true" || a.header.Get("Location") != version ||
				a.at("id") != response.at("id") {
				t.Fatalf("%.300s: %v", a, a.header)
			}
			return a
		}

		t.Run("a replayed response is the same while nothing has changed", func(t *testing.T) {
			if a := repeat(t); a.text != response.text || a.header.Get("Etag") != response.header.Get("Etag") {
				t.Errorf("%.300s: %v", a, a.header)
			}
		})
		t.Run("a replayed response shows the current state", func(t *testing.T) {
			ann.do(t, "PATCH", version, object{"text": "short"}).is(t, 200)
			if a := repeat(t); a.at("text") != "short" ||
				a.header.Get("Etag") != ann.get(t, version).header.Get("Etag") {
				t.Errorf("%.300s: %v", a, a.header)
			}
		})
		t.Run("a replayed action returns the current state", func(t *testing.T) {
			activate := func() *answer {
				return ann.do(t, "POST", version+"/activate", object{"reason": "first"},
					"Idempotency-Key: activate").is(t, 200)
			}
			activate()
			ann.do(t, "PATCH", path, object{"description": "changed"}).is(t, 200)
			if a := activate(); a.at("description") != "changed" || a.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: %v", a, a.header)
			}
			if got := ann.get(t, path+"/activations").items(t); len(got) != 1 {
				t.Errorf("%d activations", len(got))
			}
		})
		t.Run("a replay does not show what the caller can no longer read", func(t *testing.T) {
			ann.do(t, "PATCH", path, object{"owner_id": bob.id}).is(t, 200)
			bob.do(t, "DELETE", path+"/shares/"+ann.id, nil).is(t, 204)
			ann.do(t, "POST", path+"/versions", body, "Idempotency-Key: version").problem(t, 409,
				"idempotency_answer_erased")
		})
		t.Run("a replay does not show or recreate what was deleted", func(t *testing.T) {
			goneResponse := ann.create(t, templates, object{"name": "gone"}, "Idempotency-Key: gone")
			ann.do(t, "DELETE", templates+"/"+goneResponse.at("id"), nil).is(t, 204)
			ann.do(t, "POST", templates, object{"name": "gone"}, "Idempotency-Key: gone").problem(t, 409,
				"idempotency_answer_erased")
			if rest := ann.get(t, templates+"?q=gone").items(t); len(rest) != 0 {
				t.Errorf("%d templates", len(rest))
			}
		})
	})
}
