package source_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAValidationIsRequestedByMembersAndOneAtATime(t *testing.T) {
	by := actor("ann", identity.Member)
	r := source.Reading{Location: source.Location{Sheet: source.SheetLocation{URL: "https://files.example.com/v.csv"}},
		Columns: guestColumns}
	s, err := source.New(by, guests, source.Draft{Type: "guests", Location: r.Location,
		Mapping: []source.Pair{{Field: "first", Column: "Name"}}}, r, 0)
	require.NoError(t, err)
	request := func(v *source.Validation, by identity.Actor, want error) time.Time {
		t.Helper()
		due, err := v.Request(by, s, &guests, time.Minute)
		assert.ErrorIs(t, err, want)
		return due
	}
	actorOf := func(by identity.Actor, d time.Duration) identity.Actor {
		by.At = by.At.Add(d)
		return by
	}
	v := new(source.Validation)
	request(v, actor("vic", identity.Viewer), source.ErrForbidden)
	if due := request(v, by, nil); v.State != source.ValidationQueued || !due.Equal(by.At) {
		t.Errorf("%+v, due %s", v, due)
	}
	instant := v.RequestedAt
	request(v, actorOf(by, time.Second), nil)
	if !v.RequestedAt.Equal(instant) {
		t.Error("a queued validation was requested again")
	}
	found := source.ValidationResult{Rows: 7, Failing: 2, Fields: []source.FieldReport{
		{Field: "first", Counts: map[column.Invalid]int{column.Missing: 2}}, {Field: "last"}}}
	if v.Progress(by, instant.Add(1), found) || v.Rows != 0 {
		t.Error("the progress of another validation counts")
	}
	if !v.Progress(actorOf(by, time.Second), instant, found) || v.State != source.ValidationRunning || v.Rows != 7 ||
		!v.StartedAt.Equal(by.At.Add(time.Second)) {
		t.Errorf("%+v", v)
	}
	if request(v, actorOf(by, 2*time.Second), nil); v.State != source.ValidationRunning {
		t.Error("a running validation was requested again")
	}
	pausedSource := *s
	pausedSource.Paused = source.ConnectionRevoked
	if seen := v.Seen(&pausedSource); seen.State != source.ValidationFailed || seen.Failure != "source_paused" {
		t.Errorf("of a paused source: %+v", seen)
	}
	if !v.End(actorOf(by, 3*time.Second), s, instant, found, true, "") || v.State != source.ValidationDone ||
		!v.Complete || v.Of != s.Revision {
		t.Errorf("%+v", v)
	}
	events := v.RecordedAt(1, string(s.ID))
	if len(events) != 1 || events[0].Type != "source.validated" || events[0].Data["failing_rows"] != 2 ||
		events[0].Data["failing_fields"] != 1 {
		t.Errorf("%+v", events)
	}
	if v.End(by, s, instant, found, true, "") {
		t.Error("it ends twice")
	}
	if due := request(v, actorOf(by, 4*time.Second), nil); !due.Equal(by.At.Add(63*time.Second)) || v.Rows != 0 {
		t.Errorf("due %s", due)
	}
	if request(v, actorOf(by, time.Hour), nil); !v.RequestedAt.Equal(by.At.Add(time.Hour)) {
		t.Error("a lost validation keeps others away")
	}
	v.End(by, s, v.RequestedAt, found, true, "upstream_failed")
	if v.State != source.ValidationFailed || v.Complete {
		t.Errorf("%+v", v)
	}
	s.Paused = source.BreakingDrift
	request(v, by, source.ErrPaused)
	s.Paused, s.Mapping = "", nil
	request(v, by, source.ErrUnmapped)
	if empty := (source.Validation{}).Seen(&pausedSource); empty.State != "" {
		t.Errorf("of a source without one: %+v", empty)
	}
}
