package event_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestRecord(t *testing.T) {
	by := identity.Actor{
		Org: "org", User: "ann", Workspace: "acme", Key: "key", At: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
		Request: identity.Request{ID: "req", Address: "192.0.2.1"},
	}
	var log event.Log
	if log.Recorded() != nil {
		t.Fatal("a fresh log holds something")
	}
	log.Record(by, "item.created", "item_1", map[string]any{"a": 1})
	log.Record(by, "item.changed", "item_1", nil)
	got := log.Recorded()
	if len(got) != 2 || got[0].ID >= got[1].ID || !id.Valid(event.Prefix, got[0].ID) {
		t.Fatalf("recorded %+v, want two events, oldest first", got)
	}
	want := event.Event{ID: got[0].ID, Org: "org", Workspace: "acme", Type: "item.created", Actor: "ann", Key: "key",
		Subject: "item_1", Data: map[string]any{"a": 1}, At: by.At, Request: by.Request}
	if !reflect.DeepEqual(got[0], want) {
		t.Errorf("recorded %+v, want %+v", got[0], want)
	}
}

func TestMayRead(t *testing.T) {
	for role, want := range map[identity.Role]error{
		identity.NoRole: identity.ErrForbidden, identity.Viewer: identity.ErrForbidden,
		identity.Member: identity.ErrForbidden, identity.Admin: nil, identity.Owner: nil,
	} {
		t.Run("a "+role.String(), func(t *testing.T) {
			assert.ErrorIs(t, event.MayRead(identity.Actor{Role: role, Operator: true}), want)
		})
	}
}
