package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestPlansReplaceQuotas subscribes to a plan that allows more than the org does, and then to one that allows less.
func TestPlansReplaceQuotas(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(`orgs:
  - slug: default
    quotas: {prompt_templates: 1, prompt_versions: 1, chat_templates: 1, storage_bytes: 10000}
    payments:
      gateway: sandbox
      plans:
        - id: large
          name: Large
          price: {amount: 2900, currency: usd}
          interval: month
          limits: {prompt_templates: 2, prompt_versions: 2, chat_templates: 2, storage_bytes: 50000}
`))
		ann, ben := s.user(t, "owner"), s.user(t, "owner", "--workspace", "free")
		ann.card(t, cardNumber)
		ann.subscribe(t, "large")
		large := object{"text": strings.Repeat("x", 20_000)}
		for _, c := range []*client{ann, ben} {
			path := templates + "/" + c.create(t, templates, object{"name": "first"}).at("id") + "/versions"
			extra := []*answer{c.do(t, "POST", templates, object{"name": "second"})}
			if c == ben {
				c.do(t, "POST", path, large).problem(t, 409, "quota_exceeded") // by its bytes
			}
			c.create(t, path, object{"text": "small"})
			extra = append(extra, c.do(t, "POST", path, large))
			c.create(t, chats, object{"name": "first"})
			extra = append(extra, c.do(t, "POST", chats, object{"name": "second"}))
			for _, a := range extra {
				if c == ann {
					a.is(t, 201)
				} else {
					a.problem(t, 409, "quota_exceeded")
				}
			}
		}
		ann.do(t, "POST", templates, object{"name": "third"}).problem(t, 409, "plan_limit_reached")
	})
}

// TestQuotas fills a workspace. What exceeds a quota is refused with the quota's name, and no data is lost.
func TestQuotas(t *testing.T) {
	const limited = `orgs:
  - slug: default
    registry: {agents: [{id: assistant, name: Assistant, version: 1.0.0}]}
    quotas: {prompt_templates: 2, prompt_versions: 3, chat_templates: 1, storage_bytes: 40000}
`
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured(limited))
		ann := s.user(t, "member")
		full := func(t *testing.T, a *answer, quota string, limit int) {
			t.Helper()
			a.problem(t, 409, "quota_exceeded")
			if want := fmt.Sprintf("The quota %s of this workspace is %d.", quota, limit); !strings.Contains(a.text,
				want) {
				t.Errorf("%s does not say %q", a, want)
			}
		}
		first := templates + "/" + ann.create(t, templates, object{"name": "first", "type": "text"}).at("id")
		second := templates + "/" + ann.create(t, templates, object{"name": "second", "type": "text"}).at("id")

		t.Run("templates are limited until one is deleted", func(t *testing.T) {
			full(t, ann.do(t, "POST", templates, object{"name": "third", "type": "text"}), "prompt_templates", 2)
			if got := ann.get(t, templates).items(t); len(got) != 2 {
				t.Errorf("%d templates", len(got))
			}
			ann.do(t, "DELETE", second, nil).is(t, 204)
			third := templates + "/" + ann.create(t, templates, object{"name": "third", "type": "text"}).at("id")
			full(t, ann.do(t, "POST", second+"/restore", nil), "prompt_templates", 2)
			ann.do(t, "DELETE", third, nil).is(t, 204)
			ann.do(t, "POST", second+"/restore", nil).is(t, 200)
		})
		t.Run("versions are limited until one is deleted", func(t *testing.T) {
			for i := range 3 {
				ann.create(t, first+"/versions", object{"text": fmt.Sprint("text ", i)})
			}
			full(t, ann.do(t, "POST", second+"/versions", object{"text": "x"}), "prompt_versions", 3)
			ann.do(t, "DELETE", first+"/versions/v1", nil).is(t, 204)
			ann.create(t, second+"/versions", object{"text": "x"})
		})
		t.Run("chat templates are limited until one is deleted", func(t *testing.T) {
			one := chats + "/" + ann.create(t, chats, object{"name": "one"}).at("id")
			full(t, ann.do(t, "POST", chats, object{"name": "two"}), "chat_templates", 1)
			ann.do(t, "DELETE", one, nil).is(t, 204)
			ann.create(t, chats, object{"name": "two"})
			full(t, ann.do(t, "POST", chats+"/"+strings.TrimPrefix(one, chats+"/")+"/restore", nil),
				"chat_templates", 1)
		})
		t.Run("bytes are limited for everything that grows, and other changes are allowed", func(t *testing.T) {
			chat := chats + "/" + ann.get(t, chats).at("data.0.id")
			ann.do(t, "PATCH", first+"/versions/v2", object{"text": strings.Repeat("x", 29_000)}).is(t, 200)
			grown := strings.Repeat("y", 9_000)
			full(t, ann.do(t, "PATCH", second+"/versions/v1", object{"text": grown}), "storage_bytes", 40_000)
			full(t, ann.do(t, "PATCH", second, object{"metadata": object{"x": grown}}), "storage_bytes", 40_000)
			full(t, ann.do(t, "PATCH", chat, object{"instructions": grown}), "storage_bytes", 40_000)
			ann.do(t, "PATCH", second, object{"name": "2nd"}).is(t, 200)
			ann.do(t, "PATCH", first+"/versions/v2", object{"text": strings.Repeat("z", 29_000)}).is(t, 200)
			ann.do(t, "POST", first+"/versions/v2/activate", object{}).is(t, 200)
			assert.Equal(t, "the version", ann.get(t, second+"/versions/v1").at("text"), "x")
		})
		t.Run("a workspace above lowered quotas keeps its data", func(t *testing.T) {
			s.stop(t)
			s.configure(strings.NewReplacer("prompt_templates: 2", "prompt_templates: 1", "prompt_versions: 3",
				"prompt_versions: 1", "storage_bytes: 40000", "storage_bytes: 1000").Replace(limited))
			repeat := ann.at(s.deployment.start(t))
			repeat.get(t, first+"/versions/v2").has(t, map[string]string{"number": "2"})
			repeat.do(t, "PATCH", first, object{"name": "1st"}).is(t, 200)
			full(t, repeat.do(t, "POST", first+"/versions", object{"text": "x"}), "prompt_versions", 1)
			full(t, repeat.do(t, "POST", templates, object{"name": "x", "type": "text"}), "prompt_templates", 1)
		})
	})
}
