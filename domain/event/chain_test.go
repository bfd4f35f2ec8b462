package event_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

var began = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)

func digest(purpose string, parts ...[]byte) [32]byte {
	mac := hmac.New(sha256.New, []byte("key of "+purpose))
	for _, p := range parts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		mac.Write(p)
	}
	return [32]byte(mac.Sum(nil))
}

// trail holds five linked events of a workspace, of which retention removed the first, one that is not
// yet linked, and one from before the chain.
type trail struct {
	began, chain *event.Chain
	linked       []*event.Link
	unlinked     []*event.Link
}

func newEvent(id string, now time.Time) event.Event {
	return event.Event{
		ID: id, Org: "org", Workspace: "acme", Type: "item.created", Actor: "ann", Key: "key", Subject: "item", At: now,
		Request: identity.Request{ID: "req", Address: "192.0.2.1"},
	}
}

func signed(id string) *event.Link {
	l := &event.Link{Event: newEvent(id, began), Encoded: []byte(`{"a":1}`)}
	l.Signature = event.Sign(digest, &l.Event, l.Encoded)
	return l
}

func newTrail() *trail {
	t := &trail{began: &event.Chain{Since: began}, chain: &event.Chain{Org: "org", Workspace: "acme", Since: began}}
	t.began.Seal(digest)
	for _, id := range []string{"e1", "e2", "e3", "e4", "e5"} {
		l := signed(id)
		l.Hash = t.chain.Append(digest, l.Signature)
		l.Seq = t.chain.Seq
		t.linked = append(t.linked, l)
	}
	t.chain.BaseSeq, t.chain.BaseHash = 1, t.linked[0].Hash
	t.linked = t.linked[1:]
	t.chain.Seal(digest)
	t.unlinked = []*event.Link{{Event: newEvent("e0", began.Add(-time.Hour)), Encoded: []byte(`{}`)}, signed("e6")}
	return t
}

func (t *trail) verify() event.Report {
	slices.SortStableFunc(t.linked, func(a, b *event.Link) int { return int(a.Seq - b.Seq) })
	v := event.NewVerifier(digest, "org", "acme", t.chain, t.began)
	for _, l := range t.linked {
		v.CheckLink(l)
	}
	for _, l := range t.unlinked {
		v.Unlinked(l)
	}
	return v.Report()
}

func TestVerify(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(t *trail)
		want string // what the first break says; empty: none
	}{
		"as it was":              {func(*trail) {}, ""},
		"a type that is changed": {func(t *trail) { t.linked[1].Type = "item.kept" }, "e3 was changed"},
		"an actor":               {func(t *trail) { t.linked[1].Actor = "bob" }, "e3 was changed"},
		"a key":                  {func(t *trail) { t.linked[1].Key = "" }, "e3 was changed"},
		"a subject":              {func(t *trail) { t.linked[1].Subject = "other" }, "e3 was changed"},
		"data":                   {func(t *trail) { t.linked[1].Encoded = []byte(`{"a":2}`) }, "e3 was changed"},
		"a time":                 {func(t *trail) { t.linked[1].At = began.Add(1000) }, "e3 was changed"},
		"an address":             {func(t *trail) { t.linked[1].Request.Address = "" }, "e3 was changed"},
		"a request":              {func(t *trail) { t.linked[1].Request.ID = "" }, "e3 was changed"},
		"a signature":            {func(t *trail) { t.linked[1].Signature = nil }, "e3 was changed"},
		"a hash":                 {func(t *trail) { t.linked[1].Hash = t.linked[0].Hash }, "e3 was moved"},
		"one in the middle that is deleted": {func(t *trail) { t.linked = slices.Delete(t.linked, 1, 2) },
			"1 event(s) before this place were deleted"},
		"the first one that is deleted": {func(t *trail) { t.linked = t.linked[1:] },
			"1 event(s) before this place were deleted"},
		"the last one that is deleted": {func(t *trail) { t.linked = t.linked[:3] },
			"1 event(s) at the end of the chain were deleted"},
		"all that are deleted": {func(t *trail) { t.linked = nil }, "4 event(s) at the end"},
		"two that change places": {func(t *trail) {
			t.linked[1].Seq, t.linked[2].Seq = t.linked[2].Seq,
				t.linked[1].Seq
		},
			"e4 was moved to this place"},
		"one that is inserted in a place that is taken": {func(t *trail) {
			l := *signed("x")
			l.Seq = 3
			t.linked = append(t.linked, &l)
		}, "x was inserted"},
		"one before the beginning": {func(t *trail) { l := *signed("x"); l.Seq = 1; t.linked = append(t.linked, &l) },
			"x was inserted"},
		"one behind the end": {func(t *trail) { l := *signed("x"); l.Seq = 6; t.linked = append(t.linked, &l) },
			"x was inserted"},
		"one in no place": {func(t *trail) {
			l := *signed("x")
			l.Seq = -1
			t.unlinked = append(t.unlinked, &l)
		}, "x was inserted"},
		"one that waits with a false signature": {
			func(t *trail) { t.unlinked[1].Signature = bytes.Repeat([]byte{1}, 32) },
			"e6 was changed before it was linked"},
		"one without a signature, after the upgrade": {func(t *trail) {
			t.unlinked = append(t.unlinked, &event.Link{Event: newEvent("x", began.Add(event.UpgradeWindow+1))})
		}, "x has no signature"},
		"one without a signature, during the upgrade": {func(t *trail) {
			t.unlinked = append(t.unlinked, &event.Link{Event: newEvent("x", began.Add(event.UpgradeWindow))})
		}, ""},
		"another end of the chain": {func(t *trail) { t.chain.Seq, t.chain.Hash = 4, t.linked[2].Hash },
			"the ends of the chain were changed"},
		"a later beginning": {func(t *trail) { t.chain.BaseSeq, t.chain.BaseHash = 2, t.linked[0].Hash },
			"the ends of the chain were changed"},
		"a chain that is gone":   {func(t *trail) { t.chain = nil }, "e2 is linked, and its workspace has no chain"},
		"no beginning of chains": {func(t *trail) { t.began = nil }, "the record of when chains began is missing"},
		"a changed one": {func(t *trail) { t.began.Since = began.Add(time.Hour) },
			"the record of when chains began was changed"},
		"a later one": {func(t *trail) { t.began.Since = began.Add(time.Hour); t.began.Seal(digest) },
			"the record of when chains began was replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			all := newTrail()
			tt.do(all)
			r := all.verify()
			if tt.want == "" {
				if r.Broken != 0 || r.Verified != 4 || r.Waiting != 1 || r.Unsigned < 1 || r.Seq != 5 ||
					len(r.Hash) != 64 {
					t.Fatalf("got %+v", r)
				}
				return
			}
			if r.Broken == 0 {
				t.Fatalf("it is not found: %+v", r)
			}
			first := r.Breaks[0]
			said := first.Reason
			if first.Event != "" {
				said = strings.Replace(said, "it ", first.Event+" ", 1)
			}
			if !strings.HasPrefix(said, tt.want) {
				t.Errorf("it says %q, want %q", said, tt.want)
			}
		})
	}
	t.Run("a deletion is one break, whatever follows", func(t *testing.T) {
		all := newTrail()
		all.linked = slices.Delete(all.linked, 1, 2)
		if r := all.verify(); r.Broken != 1 || r.Verified != 3 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("breaks beyond the first ones are counted", func(t *testing.T) {
		v := event.NewVerifier(digest, "org", "acme", nil, nil)
		for range 30 {
			v.CheckLink(signed("x"))
		}
		if r := v.Report(); r.Broken != 30 || len(r.Breaks) != 20 {
			t.Errorf("%d broken, %d named", r.Broken, len(r.Breaks))
		}
	})
}

func TestPositionsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]event.Position{
		"0": {}, "1284": {Seq: 1284}, "evt_01jb4rqnx1e5btz2s1v2j9k3mn": {Event: "evt_01jb4rqnx1e5btz2s1v2j9k3mn"},
	} {
		if got := event.ParsePosition(text); got != want || got.String() != text || got.IsZero() != (text == "0") {
			t.Errorf("%s is read as %+v, which is written as %s", text, got, got)
		}
	}
}
