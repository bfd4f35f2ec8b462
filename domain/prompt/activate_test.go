package prompt_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestActivate(t *testing.T) {
	t.Run("it moves the pointer, freezes the version and writes one line and one event", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		require.NoError(t, tmpl.Activate(editor, nil, info(versions[2]), nil, "better"))
		v := versions[2]
		if tmpl.Active != (prompt.Active{Version: "ver2", Number: 2, At: now, By: "eve"}) || !v.Frozen ||
			v.FirstActivatedAt != now || tmpl.Revision != 8 || tmpl.UpdatedAt != now {
			t.Fatalf("got %+v, %+v", tmpl.Active, v)
		}
		if want := (prompt.Activation{From: "ver1", FromNumber: 1, To: "ver2", ToNumber: 2, By: "eve", At: now,
			Reason: "better"}); len(tmpl.Activated) != 1 || !reflect.DeepEqual(tmpl.Activated[0], want) {
			t.Errorf("ledger = %+v", tmpl.Activated)
		}
		counted(t, tmpl, prompt.Summary{Count: 3, Latest: "ver3", LatestNumber: 3},
			prompt.Summary{Count: 3, Latest: "ver3", LatestNumber: 3})
		recorded(t, tmpl, editor, "prompt_template.activated")
		if data := tmpl.Recorded()[0].Data; data["reason"] != "better" ||
			data["active_version_id"] != (event.Change{From: prompt.VersionID("ver1"), To: prompt.VersionID("ver2")}) {
			t.Errorf("data = %v", data)
		}
	})
	t.Run("again changes nothing", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		previous, _ := sharedTemplate()
		require.NoError(t, tmpl.Activate(owner, nil, info(versions[1]), new(prompt.VersionID("ver1")), "again"))
		unchanged(t, tmpl, previous)
	})
	t.Run("the first activation is remembered", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		first := now.Add(-time.Hour)
		versions[3].FirstActivatedAt = first
		require.NoError(t, tmpl.Activate(owner, nil, info(versions[3]), nil, ""))
		if versions[3].FirstActivatedAt != first {
			t.Fatal("it was forgotten")
		}
	})
	for _, tt := range []struct {
		name     string
		by       identity.Actor
		v        int // 0: none
		at       revision.Match
		expected *prompt.VersionID
		reason   string
		want     error
	}{
		{"with the active version that was expected", owner, 2, nil, new(prompt.VersionID("ver1")), "", nil},
		{"with another one", owner, 2, nil, new(prompt.VersionID("ver3")), "", prompt.ErrActiveChanged},
		{"with none expected where there is one", owner, 2, nil, new(prompt.VersionID("")), "",
			prompt.ErrActiveChanged},
		{"even if it is the active one already", owner, 1, nil, new(prompt.VersionID("ver3")), "",
			prompt.ErrActiveChanged},
		{"the revision comes before the expectation", owner, 2, revision.Match{1}, new(prompt.VersionID("ver3")), "",
			revision.ErrMismatch},
		{"a version that is not there", owner, 0, nil, nil, "", prompt.ErrVersionNotFound},
		{"is not told to a stranger", stranger, 0, nil, nil, "", prompt.ErrNotFound},
		{"a viewer may not", viewer, 3, nil, nil, "", prompt.ErrForbidden},
		{"nor learns of a draft", viewer, 2, nil, nil, "", prompt.ErrVersionNotFound},
		{"a reason of 500 characters", owner, 2, nil, nil, strings.Repeat("ä", 500), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			previous, _ := sharedTemplate()
			require.ErrorIs(t, tmpl.Activate(tt.by, tt.at, info(versions[tt.v]), tt.expected, tt.reason), tt.want)
			if tt.want != nil {
				unchanged(t, tmpl, previous)
			}
		})
	}
	t.Run("a reason of 501 characters is too long", func(t *testing.T) {
		tmpl, versions := sharedTemplate()
		previous, _ := sharedTemplate()
		if got := wrongFields(t, tmpl.Activate(owner, nil, info(versions[2]), nil,
			strings.Repeat("ä", 501))); !slices.Equal(got, []string{"/reason too_long"}) {
			t.Fatalf("wrong = %q", got)
		}
		unchanged(t, tmpl, previous)
	})
	t.Run("whatever is activated in a row, the ledger is a chain that ends at the pointer", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			tmpl, versions := sharedTemplate()
			for _, n := range rapid.SliceOf(rapid.IntRange(1, 3)).Draw(t, "versions") {
				require.NoError(t, tmpl.Activate(owner, nil, info(versions[n]), nil, ""))
			}
			position := prompt.VersionID("ver1")
			for _, line := range tmpl.Activated {
				if line.From != position || line.To == position {
					t.Fatalf("a line from %s to %s, at %s", line.From, line.To, position)
				}
				position = line.To
			}
			if tmpl.Active.Version != position || len(tmpl.Recorded()) != len(tmpl.Activated) {
				t.Fatalf("active %s, the ledger ends at %s", tmpl.Active.Version, position)
			}
		})
	})
}

func TestDeleteVersion(t *testing.T) {
	for _, tt := range []struct {
		name string
		by   identity.Actor
		v    int
		want error
	}{
		{"a draft goes", editor, 2, nil},
		{"a frozen one requires a manager", editor, 3, prompt.ErrForbidden},
		{"who may", manager, 3, nil},
		{"the active one stays", owner, 1, prompt.ErrVersionActive},
		{"one that is not there is not found", owner, 0, prompt.ErrVersionNotFound},
		{"nor is that told to a stranger", stranger, 0, prompt.ErrNotFound},
		{"a viewer is not told of drafts", viewer, 2, prompt.ErrVersionNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tmpl, versions := sharedTemplate()
			previous, _ := sharedTemplate()
			v := versions[tt.v]
			require.ErrorIs(t, tmpl.DeleteVersion(tt.by, nil, info(v), nil), tt.want)
			if tt.want != nil {
				unchanged(t, tmpl, previous)
				if v != nil && v.Deleted {
					t.Error("it was deleted")
				}
				return
			}
			if !v.Deleted || tmpl.LastNumber != 3 {
				t.Errorf("deleted %v, last number %d", v.Deleted, tmpl.LastNumber)
			}
			recorded(t, tmpl, tt.by, "prompt_version.deleted")
		})
	}
}
