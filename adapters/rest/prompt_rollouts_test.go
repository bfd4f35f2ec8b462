package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// rolledOut is an environment with one prompt, of which two versions have half of the readers each.
func rolledOut(t *testing.T, reads *int) *env {
	h := newEnv(t)
	h.unchecked = true
	rollout := prompt.Rollout{Label: "live", Seed: "seed", Parts: []prompt.RolloutPart{{Version: "pver_1"},
		{Version: "pver_2"}}}
	for slot := range byte(100) {
		rollout.Parts[slot%2].Slots = append(rollout.Parts[slot%2].Slots, slot)
	}
	version := func(id prompt.VersionID) (*prompt.Reading, *prompt.Version) {
		owner := &prompt.Reading{ID: aTemplate, Type: prompt.Text,
			Subject: access.Subject{Workspace: "wsp_1", Owner: "usr_1"}}
		v := &prompt.Version{Content: prompt.Content{Text: string(id), Format: prompt.Mustache}}
		v.ID, v.Template, v.Number, v.Revision, v.Frozen = id, owner.ID, 1, 1, true
		return owner, v
	}
	a := gomock.Any()
	h.prompts.EXPECT().GetVersionByName(a, a, a, a).AnyTimes().DoAndReturn(
		func(context.Context, identity.Actor, string, prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			*reads++
			owner, v := version("pver_1")
			return owner, v, nil
		})
	h.prompts.EXPECT().GetVersion(a, a, a, a).AnyTimes().DoAndReturn(
		func(_ context.Context, _ identity.Actor, _ prompt.ID,
			ref prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
			if ref.ID == "" {
				ref.ID = "pver_1"
				*reads++
			}
			owner, v := version(ref.ID)
			return owner, v, nil
		})
	h.prompts.EXPECT().Rollouts(a, a, a).AnyTimes().Return([]prompt.Rollout{rollout}, nil)
	return h
}

func TestAnswersAreRememberedForWhatRolloutsChoose(t *testing.T) {
	for name, ask := range map[string]func(h *env, key string) string{
		"GET resolve": func(h *env, key string) string {
			return h.call("GET", promptsPath+"/resolve?name=a&ref=live&key="+key, "").Body.String()
		},
		"POST resolve": func(h *env, key string) string {
			return h.call("POST", promptsPath+"/resolve", `{"refs":[{"name":"a","ref":"live"}],"key":"`+key+`"}`).Body.String()
		},
		"render": func(h *env, key string) string {
			return h.call("POST", promptsPath+"/"+aTemplate+"/render", `{"key":"`+key+`","ref":"live"}`).Body.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads := 0
				h := rolledOut(t, &reads)
				first := map[string]bool{}
				for i := range 40 { // a caller may send 100 requests at once
					key := fmt.Sprint("user", i)
					first[key] = strings.Contains(ask(h, key), `"pver_1"`)
				}
				if reads != 2 {
					t.Errorf("40 keys took %d reads of the store, want one for each version", reads)
				}
				for key, wasSet := range first {
					if ok := strings.Contains(ask(h, key), `"pver_1"`); ok != wasSet {
						t.Fatalf("%s got another version from memory", key)
					}
				}
				h.changes.generation++
				if ask(h, "user1"); reads != 3 {
					t.Error("the answer was used although something has changed")
				}
			})
		})
	}
	t.Run("an answer without a key is not one of a rollout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			reads := 0
			h := rolledOut(t, &reads)
			const path = promptsPath + "/resolve?name=a&ref=live"
			for i := range 20 {
				h.call("GET", path+fmt.Sprint("&key=user", i), "")
				if body := h.call("GET", path, "").Body.String(); strings.Contains(body, "rollout") {
					t.Fatal(body)
				}
			}
		})
	})
	t.Run("a key that is not valid is refused although other keys were answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			reads := 0
			h := rolledOut(t, &reads)
			const path = promptsPath + "/resolve"
			h.call("POST", path, `{"refs":[{"name":"a","ref":"live"}],"key":"user"}`)
			for _, body := range []string{
				`{"refs":[{"name":"a","ref":"live"}],"key":""}`,
				`{"refs":[{"name":"a","ref":"live"}],"key":7}`,
				`{"refs":[{"name":"a","ref":"live"}],"key":"` + strings.Repeat("x", 256) + `"}`,
			} {
				if w := h.call("POST", path, body); w.Code == http.StatusOK {
					t.Errorf("%d for %s", w.Code, body)
				}
			}
		})
	})
}
