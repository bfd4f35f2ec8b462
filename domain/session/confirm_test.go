package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

func TestConfirm(t *testing.T) {
	live := func() []*session.Session {
		return []*session.Session{
			{ID: "ses_1", Org: "org", User: "ann", CreatedAt: sessionAt.Add(-time.Hour)},
			{ID: "ses_2", Org: "org", User: "ann"},
		}
	}
	sessions := live()
	s, err := session.Confirm(anns(), inWorkspaces("w1"), sessions, "psk_1")
	if err != nil || s != sessions[0] || !s.SignedInAt().Equal(sessionAt) || !sessions[1].ConfirmedAt.IsZero() {
		t.Fatalf("%+v, %v", s, err)
	}
	if e := s.Recorded(); len(e) != 1 || e[0].Type != "session.confirmed" || e[0].Data["passkey_id"] != "psk_1" {
		t.Errorf("events %+v", e)
	}
	keyedActor, bob, goneActor := anns(), anns(), anns()
	keyedActor.Key, bob.User, goneActor.Session = "key", "bob", "ses_9"
	for by, want := range map[identity.Actor]error{
		keyedActor: account.ErrSessionRequired, bob: session.ErrNotFound, goneActor: session.ErrNotFound,
	} {
		if _, err := session.Confirm(by, inWorkspaces("w1"), live(), "psk_1"); !errors.Is(err, want) {
			t.Errorf("%+v: error %v, want %v", by, err, want)
		}
	}
	if now := live()[0].SignedInAt(); !now.Equal(sessionAt.Add(-time.Hour)) {
		t.Errorf("a session that was not confirmed: %v", now)
	}
}
