package accounts_test

import (
	"reflect"
	"testing"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
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
	t.Run("a member's question reaches no list", func(t *testing.T) {
		s := newEnv(t)
		_, err := s.Events(s.ctx, member, f, q)
		wantErr(t, err, identity.ErrForbidden)
		_, err = s.EventFeed(s.ctx, member, event.FeedQuery{Limit: 5})
		wantErr(t, err, identity.ErrForbidden)
	})
}
