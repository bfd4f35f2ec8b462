package e2e

import (
	"fmt"
	"testing"
)

// TestTheConsoleTellsOfEveryKeyThatARemovalEnds has more keys than one page of their list has.
func TestTheConsoleTellsOfEveryKeyThatARemovalEnds(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	owner, ann := s.user(t, "owner"), s.user(t, "admin")
	ann.create(t, apiKeys, object{"name": "Nightly import", "kind": "service", "role_ceiling": "member"})
	for i := range 60 { // a person can have 100 at most
		owner.create(t, apiKeys, object{"name": fmt.Sprint("Laptop ", i)})
		ann.create(t, apiKeys, object{"name": fmt.Sprint("Phone ", i)})
	}
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	goes(ctx, t, "settings/members")
	reads(ctx, t, ann.email)
	on(ctx, t, fmt.Sprintf(`[...[...document.querySelectorAll('tr')].find((r) => r.innerText.includes(%q))
		.querySelectorAll('button')].find((b) => b.innerText.trim() === 'Remove')`, ann.email), "click")
	reads(ctx, t, "Nightly import")
}
