package accounts_test

import (
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestEvents(t *testing.T) {
	f, q := event.Filter{Type: "x"}, page.Query{Limit: 5}
	t.Run("an admin reads the workspace's", func(t *testing.T) {
		s := newEnv(t)
		want := event.Page{Items: []event.Event{{ID: "e"}}}
		s.events.EXPECT().List(s.ctx, identity.WorkspaceID("acme"), f, q).Return(want, nil)
		if got, err := s.Events(s.ctx, admin, f, q); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("Events = %+v, %v", got, err)
		}
	})
	t.Run("an admin reads the workspace's feed", func(t *testing.T) {
		s := newEnv(t)
		part, want := event.FeedQuery{After: 3, Limit: 5}, event.Feed{Last: 4, More: true}
		s.events.EXPECT().Feed(s.ctx, admin.Org, identity.WorkspaceID("acme"), part).Return(want, nil)
		if got, err := s.EventFeed(s.ctx, admin, part); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("EventFeed = %+v, %v", got, err)
		}
	})
	t.Run("an admin verifies a bounded part of the chain", func(t *testing.T) {
		s := newEnv(t)
		start := event.Position{Seq: 3}
		want := event.Part{Report: event.Report{Verified: 2}, Next: event.Position{Event: "evt_5"}}
		s.events.EXPECT().Verify(s.ctx, admin.Org, identity.WorkspaceID("acme"), start, 10_000).Return(want, nil)
		if got, err := s.VerifyEvents(s.ctx, admin, start); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("VerifyEvents = %+v, %v", got, err)
		}
	})
	t.Run("a member reads what they may, and not how others made their requests", func(t *testing.T) {
		s := newEnv(t)
		mode := identity.Request{ID: "req", Address: "192.0.2.1"}
		read := func() []event.Event {
			return []event.Event{{ID: "mine", Actor: member.User, Key: "k", Session: "s", Request: mode},
				{ID: "other", Actor: "usr_other", Key: "k", Session: "s", Request: mode}}
		}
		want := []event.Event{read()[0], {ID: "other", Actor: "usr_other"}}
		theirs := f
		theirs.Reader = &member
		s.events.EXPECT().List(s.ctx, identity.WorkspaceID("acme"), theirs, q).Return(event.Page{Items: read()}, nil)
		if got, err := s.Events(s.ctx, member, f, q); err != nil || !reflect.DeepEqual(got.Items, want) {
			t.Errorf("Events = %+v, %v", got, err)
		}
		s.events.EXPECT().Feed(s.ctx, member.Org, identity.WorkspaceID("acme"),
			event.FeedQuery{Limit: 5, Filter: event.Filter{Reader: &member}}).Return(event.Feed{Items: read()}, nil)
		got, err := s.EventFeed(s.ctx, member, event.FeedQuery{Limit: 5})
		if err != nil || !reflect.DeepEqual(got.Items, want) {
			t.Errorf("EventFeed = %+v, %v", got, err)
		}
		_, err = s.VerifyEvents(s.ctx, member, event.Position{})
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
	t.Run("a guest's question reaches no list", func(t *testing.T) {
		s, guest := newEnv(t), member
		guest.Role = identity.NoRole
		_, err := s.Events(s.ctx, guest, f, q)
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, err = s.EventFeed(s.ctx, guest, event.FeedQuery{Limit: 5})
		require.ErrorIs(t, err, identity.ErrForbidden)
		_, _, err = s.FollowEvents(guest)
		require.ErrorIs(t, err, identity.ErrForbidden)
	})
	t.Run("an admin follows the workspace", func(t *testing.T) {
		s := newEnv(t)
		news, isStopped := make(chan struct{}), false
		s.events.EXPECT().Follow(identity.WorkspaceID("acme")).Return(news, func() { isStopped = true })
		got, stop, err := s.FollowEvents(admin)
		if err != nil || got != (<-chan struct{})(news) {
			t.Fatalf("FollowEvents = %v, %v", got, err)
		}
		if stop(); !isStopped {
			t.Error("it still follows")
		}
	})
}
