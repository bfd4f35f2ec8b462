package chat_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

var now = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

// The people around the template that sharedTemplate makes, each in the workspace acme unless said.
var (
	owner    = actor("ann", identity.Member)
	manager  = actor("max", identity.Member)
	editor   = actor("eve", identity.Viewer) // a membership counts, whatever the role in the workspace
	viewer   = actor("vic", identity.Member)
	invited  = actor("ina", identity.Member) // a reserved id
	stranger = actor("sam", identity.Member)
	admin    = actor("ada", identity.Admin)
	boss     = actor("bob", identity.Owner)
	capped   = with(owner, func(a *identity.Actor) { a.Role, a.Ceiling = identity.Viewer, identity.Viewer })
	uncapped = with(owner, func(a *identity.Actor) { a.Ceiling = identity.NoRole })
	nobody   = with(owner, func(a *identity.Actor) { a.Role = identity.NoRole })
	outsider = with(owner, func(a *identity.Actor) { a.Workspace, a.Role = "other", identity.Owner })
)

func actor(user identity.UserID, role identity.Role) identity.Actor {
	return identity.Actor{Org: "org", User: user, Workspace: "acme", Role: role, Ceiling: identity.Owner, At: now}
}

func with(a identity.Actor, change func(*identity.Actor)) identity.Actor {
	change(&a)
	return a
}

// members are those of the template that sharedTemplate returns.
func members() map[identity.UserID]chat.Member {
	all := map[identity.UserID]chat.Member{
		"max": {Role: access.Manager}, "eve": {Role: access.Editor}, "vic": {Role: access.Viewer},
		"ina": {Role: access.Manager, Invited: true, Email: "ina@example.com"},
	}
	for user, m := range all {
		m.User, m.Revision = user, 1
		all[user] = m
	}
	return all
}

// party returns what a store knows of a user who is named by a change.
func party(user identity.UserID) chat.Party {
	p := chat.Party{User: user, InWorkspace: slices.Contains([]identity.UserID{"ann", "max", "eve", "vic", "sam"},
		user), Members: 4}
	if m, ok := members()[user]; ok {
		p.Member = &m
	}
	return p
}

// sharedTemplate returns ann's private template with a member of each kind.
func sharedTemplate() *chat.Template {
	return &chat.Template{
		Resource: access.Resource{
			Subject: access.Subject{Workspace: "acme", Owner: "ann", Visibility: access.Private, Grants: access.Grants{
				{User: "max", Role: access.Manager}, {User: "eve", Role: access.Editor},
				{User: "vic", Role: access.Viewer},
			}},
			Revision: 7, CreatedAt: now.Add(-time.Hour), UpdatedAt: now.Add(-time.Hour),
		},
		ID: "ctpl", Content: chat.Content{Name: "Support", Instructions: "Be kind."}, Status: chat.StatusDraft,
	}
}

// toSave fails t unless the template has exactly these members for the store to save.
func toSave(t testing.TB, c *chat.Template, want ...chat.Member) {
	t.Helper()
	assert.NoDiff(t, "members to save", cmp.Diff(want, c.ChangedMembers))
}

// registry returns a registry with an available, a deprecated and a disabled item of each kind. The
// configuration of the available tool has a schema.
func registry(t testing.TB) *chat.Registry {
	t.Helper()
	items := func(kind string) []chat.Item {
		return []chat.Item{{ID: kind}, {ID: "old-" + kind, Status: chat.ItemDeprecated},
			{ID: "off-" + kind, Status: chat.ItemDisabled}}
	}
	r := chat.Registry{Agents: items("agent"), Tools: items("tool"), Capabilities: items("capability"),
		Workflows: items("workflow")}
	r.Tools[0].ConfigSchema = json.RawMessage(`{"type":"object","required":["queue"],"additionalProperties":false,
		"properties":{"queue":{"type":"string","maxLength":8,"pattern":"^[a-z]+$"},"level":{"enum":["low","high"]},"n":{"type":"integer","minimum":1,"maximum":5}}}`)
	r.Agents[0].Requires = []string{"capability"}
	registry, errs := chat.NewRegistry(r)
	for _, err := range errs {
		t.Fatal(err)
	}
	return registry
}

func facts(t testing.TB) chat.Facts {
	return chat.Facts{Registry: registry(t), PromptSeen: true}
}

// handover returns the facts of a change that makes to the owner.
func handover(t testing.TB, user identity.UserID) chat.Facts {
	f := facts(t)
	f.Owner = party(user)
	return f
}

// unchanged fails t unless a and b are the same and nothing was recorded.
func unchanged(t testing.TB, got, want *chat.Template) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreTypes(event.Log{})); d != "" || len(got.Recorded()) > 0 {
		t.Fatalf("recorded %d events; changes (-before +after):\n%s", len(got.Recorded()), d)
	}
}

// recorded fails t unless the template recorded exactly these events, with the right actor and subject.
func recorded(t testing.TB, template *chat.Template, by identity.Actor, types ...string) {
	t.Helper()
	var got []string
	for _, e := range template.Recorded() {
		got = append(got, e.Type)
		if e.Actor != by.User || e.Subject != string(template.ID) || e.At != by.At || e.Workspace != "acme" {
			t.Errorf("event %+v", e)
		}
	}
	if !slices.Equal(got, types) {
		t.Fatalf("recorded %q, want %q", got, types)
	}
}

// faulty returns the pointers and codes of an error about a body.
func faulty(t testing.TB, err error) (out []string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if err != nil && (!ok || f.Kind != fault.Invalid) {
		t.Fatalf("error = %v, want one about fields", err)
	}
	if ok {
		for _, field := range f.Fields {
			out = append(out, field.Pointer+" "+field.Code)
		}
	}
	return out
}
