package prompt_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNew(t *testing.T) {
	t.Run("a template belongs to who makes it, and is a private text unless said otherwise", func(t *testing.T) {
		got, err := prompt.New(owner, prompt.Draft{Name: "Greeting"})
		require.NoError(t, err)
		if !id.Valid(prompt.Prefix, string(got.ID)) || got.Owner != "ann" || got.CreatedBy != "ann" ||
			got.Workspace != "acme" ||
			got.Type != prompt.Text || got.Visibility != access.Private || got.Protected || got.Revision != 1 ||
			got.CreatedAt != now || got.UpdatedAt != now {
			t.Fatalf("got %+v", got)
		}
		recorded(t, got, owner, "prompt_template.created")
	})
	t.Run("it is what was asked for", func(t *testing.T) {
		d := prompt.Draft{Name: "a/b", Type: prompt.Chat, Description: "d", Tags: []string{"x"},
			Metadata: json.RawMessage(`{}`), Visibility: access.Workspace, Protected: true,
			Compatibility: prompt.Backward, Approvals: 2, RequiredChecks: []string{"eval"},
			Thresholds:  []prompt.Threshold{{Name: "eval", AtLeast: new(0.9)}},
			IncludeMode: prompt.Floating, GatedLabels: []string{"live"}, ProtectedLabels: []string{"legal"}}
		got, err := prompt.New(owner, d)
		require.NoError(t, err)
		if again := (prompt.Draft{got.Name, got.Type, got.Description, got.Tags, got.Metadata, got.Visibility,
			got.Protected, got.Compatibility, got.Approvals, got.RequiredChecks,
			got.Thresholds, got.IncludeMode, got.GatedLabels,
			got.ProtectedLabels}); fmt.Sprint(again) != fmt.Sprint(d) {
			t.Fatalf("got %+v", again)
		}
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"a member may":                      {owner, nil},
		"an admin may":                      {admin, nil},
		"a viewer of the workspace may not": {actor("vic", identity.Viewer), identity.ErrForbidden},
		"who has no role may not":           {nobody, identity.ErrForbidden},
		"a viewing credential may not": {with(admin, func(a *identity.Actor) { a.Ceiling = identity.Viewer }),
			identity.ErrForbidden},
		"nor a credential without a ceiling": {uncapped, identity.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := prompt.New(tt.by, prompt.Draft{Name: "x"})
			require.ErrorIs(t, err, tt.want)
		})
	}
}

// TestFields checks New and Change against the same rules.
func TestFields(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ä", n) } // two bytes each: limits count characters
	many := func(n int) []string { return strings.Split(strings.Repeat("t,", n-1)+"t", ",") }
	for _, tt := range []struct {
		name string
		d    prompt.Draft
		want []string
	}{
		{"a name of 255 characters", prompt.Draft{Name: long(255)}, nil},
		{"one of 256", prompt.Draft{Name: long(256)}, []string{"/name too_long"}},
		{"no name", prompt.Draft{}, []string{"/name too_short"}},
		{"folders", prompt.Draft{Name: "Support/E-Mail v2/Ärger?"}, nil},
		{"a slash in front", prompt.Draft{Name: "/a"}, []string{"/name invalid_format"}},
		{"a slash at the end", prompt.Draft{Name: "a/"}, []string{"/name invalid_format"}},
		{"two slashes", prompt.Draft{Name: "a//b"}, []string{"/name invalid_format"}},
		{"a slash alone", prompt.Draft{Name: "/"}, []string{"/name invalid_format"}},
		{"a space alone", prompt.Draft{Name: " "}, []string{"/name invalid_format"}},
		{"a space beside a slash", prompt.Draft{Name: "a /b"}, []string{"/name invalid_format"}},
		{"a no-break space at the end", prompt.Draft{Name: "a\u00a0"}, []string{"/name invalid_format"}},
		{"a line break", prompt.Draft{Name: "a\nb"}, []string{"/name invalid_format"}},
		{"a NUL", prompt.Draft{Name: "a\x00b"}, []string{"/name invalid_format"}},
		{"a C1 control character", prompt.Draft{Name: "a\u0085b"}, []string{"/name invalid_format"}},
		{"a description of 2000 characters", prompt.Draft{Name: "x", Description: long(2000)}, nil},
		{"one of 2001", prompt.Draft{Name: "x", Description: long(2001)}, []string{"/description too_long"}},
		{"20 tags of 50 characters", prompt.Draft{Name: "x", Tags: append(many(19), long(50))}, nil},
		{"21 tags", prompt.Draft{Name: "x", Tags: many(21)}, []string{"/tags too_many_items"}},
		{"a tag of 51 characters", prompt.Draft{Name: "x", Tags: []string{"t", long(51)}}, []string{"/tags too_long"}},
		{"an empty tag", prompt.Draft{Name: "x", Tags: []string{""}}, []string{"/tags too_long"}},
		{"texts that read in another order", prompt.Draft{Name: "x", Description: "a\u202eb",
			Tags: []string{"t", "a\u2067b"}},
			[]string{"/description invalid_characters", "/tags invalid_characters"}},
		{"metadata of 16 KiB", prompt.Draft{Name: "x", Metadata: make([]byte, 16<<10)}, nil},
		{"a byte more", prompt.Draft{Name: "x", Metadata: make([]byte, 16<<10+1)}, []string{"/metadata too_long"}},
		{"another visibility", prompt.Draft{Name: "x", Visibility: "public"},
			[]string{"/visibility not_allowed_value"}},
		{"a compatibility that does not exist", prompt.Draft{Name: "x", Compatibility: "forward"},
			[]string{"/compatibility not_allowed_value"}},
		{"all that is wrong at once", prompt.Draft{Description: long(2001), Tags: many(21), Visibility: "public",
			Metadata: make([]byte, 16<<10+1)},
			[]string{"/name too_short", "/visibility not_allowed_value", "/description too_long",
				"/tags too_many_items", "/metadata too_long"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := prompt.New(owner, tt.d)
			assert.EqualSlice(t, "New: wrong", wrongFields(t, err), tt.want)
			tmpl, _ := sharedTemplate()
			if tt.d.Visibility == "" {
				tt.d.Visibility = access.Private
			}
			if tt.d.Compatibility == "" {
				tt.d.Compatibility = prompt.Unchecked
			}
			err = apply(tmpl, owner, nil, prompt.Changes{Name: &tt.d.Name, Description: &tt.d.Description,
				Tags: &tt.d.Tags, Metadata: func(json.RawMessage) json.RawMessage { return tt.d.Metadata },
				Visibility: &tt.d.Visibility, Compatibility: &tt.d.Compatibility})
			assert.EqualSlice(t, "Change: wrong", wrongFields(t, err), tt.want)
			if tt.want != nil && len(tmpl.Recorded()) != 0 {
				t.Error("a refused change was recorded")
			}
		})
	}
	t.Run("another type", func(t *testing.T) {
		_, err := prompt.New(owner, prompt.Draft{Name: "x", Type: "image"})
		assert.EqualSlice(t, "wrongFields", wrongFields(t, err), []string{"/type not_allowed_value"})
	})
}

func TestChange(t *testing.T) {
	t.Run("all fields change, as one revision and one event", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		by := with(owner, func(a *identity.Actor) { a.At = now.Add(time.Minute) })
		require.ErrorIs(t, apply(tmpl, by, nil, prompt.Changes{
			Name: new("n"), Description: new("secret plans"), Tags: &[]string{"b"},
			Metadata:   func(json.RawMessage) json.RawMessage { return json.RawMessage(`{"k":1}`) },
			Visibility: new(access.Workspace), Protected: new(true),
		}), nil)
		if tmpl.Name != "n" || tmpl.Description != "secret plans" || tmpl.Tags[0] != "b" ||
			string(tmpl.Metadata) != `{"k":1}` ||
			tmpl.Visibility != access.Workspace || !tmpl.Protected || tmpl.Revision != 8 || tmpl.UpdatedAt != by.At ||
			tmpl.CreatedAt != now.Add(-time.Hour) {
			t.Fatalf("got %+v", tmpl)
		}
		recorded(t, tmpl, by, "prompt_template.updated")
		data := tmpl.Recorded()[0].Data
		if data["name"] != (event.Change{From: "Greeting", To: "n"}) || data["description"] != true ||
			data["tags"] != true || data["metadata"] != true || len(data) != 6 {
			t.Errorf("data = %v", data)
		}
	})
	t.Run("metadata is made of the old, and its limit holds for the result", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		tmpl.Metadata = json.RawMessage(`{"team":"42"}`)
		add := func(text string) error {
			return apply(tmpl, owner, nil, prompt.Changes{Metadata: func(old json.RawMessage) json.RawMessage {
				return append(append([]byte{}, old[:len(old)-1]...), `,"`+text+`":1}`...)
			}})
		}
		require.NoError(t, add("a"))
		require.Equal(t, "metadata", string(tmpl.Metadata), `{"team":"42","a":1}`)
		if got := wrongFields(t, add(strings.Repeat("x", 16<<10-20))); !slices.Equal(got,
			[]string{"/metadata too_long"}) {
			t.Errorf("wrong = %q", got)
		}
	})
	t.Run("what is sent as it is changes nothing", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		require.ErrorIs(t, apply(tmpl, owner, nil, prompt.Changes{Name: &previous.Name,
			Description: &previous.Description,
			Tags:        &[]string{"a"}, Visibility: &previous.Visibility, Protected: &previous.Protected,
			Owner: &previous.Owner}),
			nil)
		unchanged(t, tmpl, previous)
	})
	t.Run("nothing at all changes nothing", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		require.NoError(t, apply(tmpl, owner, nil, prompt.Changes{}))
		unchanged(t, tmpl, previous)
	})
	t.Run("what one may not change is refused with all the rest", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		require.ErrorIs(t, apply(tmpl, editor, nil, prompt.Changes{Name: new("x"), Protected: new(true)}),
			prompt.ErrForbidden)
		require.ErrorIs(t, apply(tmpl, manager, nil, prompt.Changes{Name: new("x"),
			Owner: new(identity.UserID("max"))}),
			prompt.ErrForbidden)
		unchanged(t, tmpl, previous)
	})
}

func TestTransfer(t *testing.T) {
	to := func(user identity.UserID) prompt.Changes { return prompt.Changes{Owner: &user} }
	t.Run("who owned it goes on as a manager, and who owns it needs no share", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		require.NoError(t, apply(tmpl, owner, nil, to("vic")))
		if tmpl.Owner != "vic" || tmpl.Access(owner) != access.Manager || tmpl.Access(viewer) != access.Owner ||
			len(tmpl.ChangedShares) != 2 || tmpl.ChangedShares[1] != (prompt.Share{User: "vic"}) {
			t.Fatalf("owner %s, shares to save %+v", tmpl.Owner, tmpl.ChangedShares)
		}
		if s := tmpl.ChangedShares[0]; s.User != "ann" || s.Role != access.Manager || s.GrantedBy != "ann" ||
			s.Revision != 1 || s.CreatedAt != now || !s.ExpiresAt.IsZero() {
			t.Errorf("share = %+v", s)
		}
		recorded(t, tmpl, owner, "prompt_template.transferred")
		if tmpl.Recorded()[0].Data["owner"] != (event.Change{From: identity.UserID("ann"),
			To: identity.UserID("vic")}) || tmpl.Revision != 8 {
			t.Errorf("data = %v, revision %d", tmpl.Recorded()[0].Data, tmpl.Revision)
		}
	})
	t.Run("with a new name it is two events and one revision", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		require.NoError(t, apply(tmpl, owner, nil, prompt.Changes{Owner: new(identity.UserID("sam")), Name: new("x")}))
		recorded(t, tmpl, owner, "prompt_template.transferred", "prompt_template.updated")
		assert.Equal(t, "revision", tmpl.Revision, 8)
	})
	t.Run("no one from outside becomes the owner", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		previous, _ := sharedTemplate()
		require.ErrorIs(t, apply(tmpl, owner, nil, to("out")), prompt.ErrUserNotInWorkspace)
		unchanged(t, tmpl, previous)
	})
	t.Run("of one whose owner has left the workspace's owner disposes, and the old owner gets nothing",
		func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			tmpl.OwnerLeft = true
			require.ErrorIs(t, apply(tmpl, admin, nil, to("ada")), prompt.ErrForbidden)
			require.NoError(t, apply(tmpl, boss, nil, to("sam")))
			if len(tmpl.ChangedShares) > 0 || tmpl.OwnerLeft || tmpl.Owner != "sam" {
				t.Fatalf("owner %s, left %v, shares to save %+v", tmpl.Owner, tmpl.OwnerLeft, tmpl.ChangedShares)
			}
		})
}

func TestDeleteAndRestore(t *testing.T) {
	deleted := func(ago time.Duration) *prompt.Template {
		tmpl, _ := sharedTemplate()
		tmpl.DeletedAt = now.Add(-ago)
		return tmpl
	}
	t.Run("a deleted template is gone for all", func(t *testing.T) {
		tmpl, _ := sharedTemplate()
		require.NoError(t, tmpl.Delete(owner, nil))
		if tmpl.DeletedAt != now || tmpl.Revision != 8 {
			t.Fatalf("got %+v", tmpl)
		}
		recorded(t, tmpl, owner, "prompt_template.deleted")
		require.ErrorIs(t, tmpl.Allow(owner, access.Viewer), prompt.ErrNotFound)
	})
	for _, tt := range []struct {
		name string
		by   identity.Actor
		ago  time.Duration
		want error
	}{
		{"its owner restores it", owner, time.Hour, nil},
		{"so does an admin", admin, time.Hour, nil},
		{"and the workspace's owner", boss, time.Hour, nil},
		{"on the last moment of the 30 days", owner, access.RestoreWithin, nil},
		{"and not a moment later", owner, access.RestoreWithin + 1, prompt.ErrNotFound},
		{"to a manager it is gone", manager, time.Hour, prompt.ErrNotFound},
		{"to an editor it is gone", editor, time.Hour, prompt.ErrNotFound},
		{"to a viewer it is gone", viewer, time.Hour, prompt.ErrNotFound},
		{"to the owner's viewing credential it is gone", capped, time.Hour, prompt.ErrNotFound},
		{"to a stranger it never was", stranger, time.Hour, prompt.ErrNotFound},
		{"nor to another workspace", outsider, time.Hour, prompt.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl := deleted(tt.ago)
			require.ErrorIs(t, tmpl.Restore(tt.by), tt.want)
			if tt.want != nil {
				unchanged(t, tmpl, deleted(tt.ago))
				return
			}
			if !tmpl.DeletedAt.IsZero() || tmpl.Revision != 8 {
				t.Fatalf("got %+v", tmpl)
			}
			recorded(t, tmpl, tt.by, "prompt_template.restored")
		})
	}
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{
		"its owner": {owner, nil}, "an admin": {admin, nil}, "a manager": {manager, prompt.ErrForbidden},
		"a viewer": {viewer, prompt.ErrForbidden}, "a stranger": {stranger, prompt.ErrNotFound},
	} {
		t.Run("restoring a live one changes nothing for "+name, func(t *testing.T) {
			tmpl, _ := sharedTemplate()
			previous, _ := sharedTemplate()
			require.ErrorIs(t, tmpl.Restore(tt.by), tt.want)
			unchanged(t, tmpl, previous)
		})
	}
}

func TestNameKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-ZäöüÄÖÜßéÉ/ 0-9]{1,20}`).Draw(t, "name")
		// the capital of ß does not fold back
		if prompt.NameKey(strings.ToUpper(strings.ToLower(name))) != prompt.NameKey(name) &&
			!strings.Contains(name, "ß") {
			t.Fatalf("%q is another name in capitals", name)
		}
		if prompt.NameKey(prompt.NameKey(name)) != prompt.NameKey(name) {
			t.Fatal("the key of a key is another one")
		}
	})
}
