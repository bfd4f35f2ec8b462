package prompts_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestShares(t *testing.T) {
	q := page.Query{Limit: 5}
	t.Run("a manager sees them", func(t *testing.T) {
		s := newMocked(t)
		want := prompt.SharePage{Items: []prompt.Share{{User: "vic"}}}
		s.expectGet(manager)
		s.lists.EXPECT().Shares(s.ctx, manager.Workspace, prompt.ID("tpl"), q).Return(want, nil)
		if got, err := s.Shares(s.ctx, manager, "tpl", q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Shares = %+v, %v", got, err)
		}
	})
	for name, tt := range map[string]struct {
		by   identity.Actor
		want error
	}{"a viewer may not": {viewer, prompt.ErrForbidden}, "a stranger is told nothing": {stranger, prompt.ErrNotFound}} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectGet(tt.by)
			_, err := s.Shares(s.ctx, tt.by, "tpl", q)
			require.ErrorIs(t, err, tt.want)
		})
	}
}

func TestShare(t *testing.T) {
	t.Run("a member is found by address, and gets the share", func(t *testing.T) {
		s := newMocked(t)
		s.users.EXPECT().Member(s.ctx, owner.Workspace, identity.UserID(""),
			"sam@example.com").Return(identity.UserID("sam"), nil)
		s.expectUpdateFor(owner, "sam")
		got, err := s.Share(s.ctx, owner, "tpl", prompt.Grant{Email: "sam@example.com", Role: access.Editor})
		if err != nil || got.User != "sam" || got.Role != access.Editor {
			t.Fatalf("Share = %+v, %v", got, err)
		}
	})
	t.Run("who is no member gets none, and a stranger is not told even that", func(t *testing.T) {
		for by, want := range map[*identity.Actor]error{&owner: prompt.ErrUserNotInWorkspace,
			&viewer: prompt.ErrForbidden, &stranger: prompt.ErrNotFound} {
			s := newMocked(t)
			s.expectUpdateFor(*by, "out")
			_, err := s.Share(s.ctx, *by, "tpl", prompt.Grant{User: "out", Role: access.Viewer})
			require.ErrorIs(t, err, want)
			s.users.EXPECT().Member(s.ctx, by.Workspace, identity.UserID(""),
				"out@example.com").Return(identity.UserID(""), nil)
			s.expectUpdateFor(*by, "")
			_, err = s.Share(s.ctx, *by, "tpl", prompt.Grant{Email: "out@example.com", Role: access.Viewer})
			require.ErrorIs(t, err, want)
		}
	})
}

func TestChangeShare(t *testing.T) {
	s := newMocked(t)
	s.expectUpdateFor(owner, "vic")
	got, err := s.ChangeShare(s.ctx, owner, "tpl", "vic", revision.Match{1},
		prompt.ShareChanges{Role: new(access.Editor)})
	if err != nil || got.Role != access.Editor || got.Revision != 2 {
		t.Fatalf("ChangeShare = %+v, %v", got, err)
	}
}

func TestUnshare(t *testing.T) {
	for name, tt := range map[string]struct {
		by   identity.Actor
		at   revision.Match
		want error
	}{
		"a manager takes it away":       {manager, nil, nil},
		"everyone gives up their own":   {viewer, nil, nil},
		"at the revision that is meant": {owner, revision.Match{9}, revision.ErrMismatch},
		"a stranger is told nothing":    {stranger, nil, prompt.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMocked(t)
			s.expectUpdateFor(tt.by, "vic")
			require.ErrorIs(t, s.Unshare(s.ctx, tt.by, "tpl", "vic", tt.at), tt.want)
		})
	}
}

func TestChangeShares(t *testing.T) {
	t.Run("removals are made first, and all in one transaction", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		s.users.EXPECT().Member(s.ctx, owner.Workspace, identity.UserID(""),
			"sam@example.com").Return(identity.UserID("sam"), nil)
		gomock.InOrder(s.expectUpdateFor(manager, "vic"), s.expectUpdateFor(manager, "sam"))
		s.expectGet(manager)
		got, err := s.ChangeShares(s.ctx, manager, "tpl", []prompt.Grant{
			{Email: "sam@example.com", Role: access.Editor}, {User: "vic"}})
		if err != nil || len(got) != 2 || got[0].Action != prompt.ShareAdded || got[1].Action != prompt.ShareRemoved {
			t.Errorf("ChangeShares = %+v, %v", got, err)
		}
	})
	t.Run("all that are refused are named", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		s.expectUpdateFor(manager, "out")
		s.expectUpdateFor(manager, "ann")
		_, err := s.ChangeShares(s.ctx, manager, "tpl", []prompt.Grant{{User: "out", Role: access.Viewer},
			{User: "ann", Role: access.Viewer}})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || len(f.Fields) != 2 || f.Fields[0].Code != "user_not_in_workspace" ||
			f.Fields[1].Code != "owner_share" ||
			f.Fields[1].Pointer != "/changes/1" {
			t.Errorf("ChangeShares = %+v", err)
		}
	})
	t.Run("no one is named twice", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		_, err := s.ChangeShares(s.ctx, manager, "tpl", []prompt.Grant{{User: "vic"}, {User: "vic",
			Role: access.Editor}})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
	t.Run("an outage is no refusal", func(t *testing.T) {
		s := newMocked(t)
		s.expectGet(manager)
		s.prompts.EXPECT().UpdateFor(s.ctx, manager, prompt.ID("tpl"), gomock.Any(), gomock.Any()).Return(nil,
			errOutage)
		_, err := s.ChangeShares(s.ctx, manager, "tpl", []prompt.Grant{{User: "vic"}, {User: "sam",
			Role: access.Viewer}})
		require.ErrorIs(t, err, errOutage)
	})
	for by, want := range map[*identity.Actor]error{&viewer: prompt.ErrForbidden, &stranger: prompt.ErrNotFound} {
		s := newMocked(t)
		s.expectGet(*by)
		_, err := s.ChangeShares(s.ctx, *by, "tpl", []prompt.Grant{{Email: "sam@example.com", Role: access.Viewer}})
		require.ErrorIs(t, err, want)
	}
}
