package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/require"
)

func parties(grants []chat.Grant) []chat.Party {
	out := make([]chat.Party, len(grants))
	for i, g := range grants {
		out[i] = party(g.User)
	}
	return out
}

func TestChangeMembers(t *testing.T) {
	t.Run("a manager adds, changes and removes members in one call, also themselves", func(t *testing.T) {
		c := sharedTemplate()
		grants := []chat.Grant{{User: "sam", Role: access.Editor}, {User: "eve", Role: access.Viewer}, {User: "max"},
			{User: "ina"}, {User: "vic", Role: access.Viewer}, {User: "usr"}}
		got, err := c.ChangeMembers(manager, parties(grants), grants)
		require.NoError(t, err)
		var actions []chat.MemberAction
		for _, m := range got {
			actions = append(actions, m.Action)
		}
		if d := cmp.Diff([]chat.MemberAction{chat.MemberAdded, chat.MemberUpdated, chat.MemberRemoved,
			chat.MemberRemoved, chat.MemberUnchanged, chat.MemberUnchanged}, actions); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if !got[3].Member.Invited || got[1].Member.Revision != 2 || got[0].Member.InvitedBy != "max" {
			t.Errorf("%+v", got)
		}
		recorded(t, c, manager, "chat_member.removed", "chat_member.removed", "chat_member.added",
			"chat_member.updated")
		toSave(t, c, chat.Member{User: "max"}, chat.Member{User: "ina"}, got[0].Member, got[1].Member)
	})
	t.Run("every refused change is named, and its place", func(t *testing.T) {
		grants := []chat.Grant{{User: "ann", Role: access.Viewer}, {User: "sam", Role: access.Viewer},
			{User: "usr", Role: access.Viewer}, {User: "sam", Role: access.Editor}, {User: "ann"}}
		_, err := sharedTemplate().ChangeMembers(owner, parties(grants), grants)
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || f.Kind != fault.Invalid {
			t.Fatalf("error = %v", err)
		}
		got := map[string]string{}
		for _, field := range f.Fields {
			got[field.Pointer] = field.Code
		}
		if d := cmp.Diff(map[string]string{"/changes/0": "duplicate_item", "/changes/2": "user_not_in_workspace",
			"/changes/3": "duplicate_item", "/changes/4": "owner_stays"}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("members of a full template can be replaced, but not more", func(t *testing.T) {
		full := func(grants []chat.Grant) error {
			p := parties(grants)
			for i := range p {
				p[i].Members = chat.MaxMembers
			}
			_, err := sharedTemplate().ChangeMembers(owner, p, grants)
			return err
		}
		add, remove := chat.Grant{User: "sam", Role: access.Viewer}, chat.Grant{User: "eve"}
		require.NoError(t, full([]chat.Grant{add, remove}))
		if err := full([]chat.Grant{add}); err == nil {
			t.Error("a member beyond the limit is added")
		}
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"an editor": {editor, chat.ErrForbidden}, "a viewer of themselves": {viewer, chat.ErrForbidden},
		"a stranger": {stranger, chat.ErrNotFound}} {
		t.Run(name+" changes nothing", func(t *testing.T) {
			c := sharedTemplate()
			grants := []chat.Grant{{User: "vic"}}
			_, err := c.ChangeMembers(tt.by, parties(grants), grants)
			require.ErrorIs(t, err, tt.want)
			unchanged(t, c, sharedTemplate())
		})
	}
}

func TestCheckGrants(t *testing.T) {
	require.NoError(t, chat.CheckGrants([]chat.Grant{{User: "sam"}, {Email: "sam@example.com"}}))
	err := chat.CheckGrants([]chat.Grant{{User: "sam"}, {}, {User: "sam", Email: "sam@example.com"}})
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil || len(f.Fields) != 2 || !strings.HasPrefix(f.Fields[0].Pointer, "/changes/1") {
		t.Errorf("error = %v", err)
	}
}
