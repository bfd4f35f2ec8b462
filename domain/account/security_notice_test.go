package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestSecurityNoticeOf(t *testing.T) {
	becomesOperator := map[string]any{"operator": event.Change{From: false, To: true}}
	for name, tt := range map[string]struct {
		event event.Event
		kind  account.SecurityNoticeKind // empty: no notice
		user  identity.UserID
		name  string
	}{
		"a passkey": {event.Event{Type: "passkey.added", Actor: "ann", Subject: "psk_1"},
			account.PasskeyNotice, "ann", ""},
		"an API key": {event.Event{Type: "api_key.created", Actor: "ann", Subject: "key_1",
			Data: map[string]any{"name": "CI"}}, account.KeyNotice, "ann", "CI"},
		"a key at the command line": {event.Event{Type: "api_key.created", Subject: "key_1"}, "", "", ""},
		"a new browser": {event.Event{Type: "session.device_added", Actor: "ann", Subject: "ses_1"},
			account.DeviceNotice, "ann", ""},
		"a session": {event.Event{Type: "session.started", Actor: "ann", Subject: "ses_1"}, "", "", ""},
		"the right of an operator, which another operator gave": {event.Event{Type: "user.updated", Actor: "bob",
			Subject: "ann", Data: becomesOperator}, account.OperatorNotice, "ann", ""},
		"the right of an operator at the command line": {event.Event{Type: "user.updated", Subject: "ann",
			Data: becomesOperator}, account.OperatorNotice, "ann", ""},
		"an operator who loses the right": {event.Event{Type: "user.updated", Actor: "bob", Subject: "ann",
			Data: map[string]any{"operator": event.Change{From: true, To: false}}}, "", "", ""},
		"another change of a person": {event.Event{Type: "user.updated", Actor: "ann", Subject: "ann",
			Data: map[string]any{"name": true}}, "", "", ""},
		"an operator's new account": {event.Event{Type: "user.created", Subject: "ann",
			Data: map[string]any{"operator": true}}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.event.At = now
			n, ok := account.SecurityNoticeOf(&tt.event)
			assert.Equal(t, "whether there is a notice", ok, tt.kind != "")
			if ok {
				assert.Equal(t, "the notice", n, account.SecurityNotice{User: tt.user, Kind: tt.kind,
					Subject: tt.event.Subject, Name: tt.name, At: now})
			}
		})
	}
}

func TestSecurityNotices(t *testing.T) {
	notice := func(kind account.SecurityNoticeKind, subject string) account.SecurityNotice {
		return account.SecurityNotice{User: "ann", Kind: kind, Subject: subject, At: now}
	}
	t.Run("an event in several workspaces is one notice", func(t *testing.T) {
		var s account.SecurityNotices
		s.Add(notice(account.DeviceNotice, "ses_1"))
		s.Add(notice(account.DeviceNotice, "ses_1"))
		s.Add(notice(account.DeviceNotice, "ses_2"))
		assert.Equal(t, "pending notices", len(s.Pending), 2)
	})
	t.Run("many notices of one kind do not hide one of another", func(t *testing.T) {
		var s account.SecurityNotices
		for i := range 1000 {
			s.Add(notice(account.KeyNotice, fmt.Sprint("key_", i)))
		}
		s.Add(notice(account.PasskeyNotice, "psk_1"))
		assert.Equal(t, "pending notices", len(s.Pending), 6)
		assert.Equal(t, "whether there are more", s.HasMore, true)
		assert.Equal(t, "the last one", s.Pending[5].Kind, account.PasskeyNotice)
	})
	t.Run("a mailbox gets the first mail at once, and at most ten within a day", func(t *testing.T) {
		var s account.SecurityNotices
		count, end := 0, now.Add(24*time.Hour)
		for moment := now; moment.Before(end); moment = moment.Add(time.Minute) {
			s.Add(notice(account.KeyNotice, moment.String()))
			mail := s.Next(moment)
			if len(mail.Notices) == 0 {
				continue
			}
			if count == 0 {
				assert.Equal(t, "the time of the first mail", moment, now)
			}
			s.Mailed(&mail, moment)
			count++
		}
		assert.Equal(t, "mails", count, 10)
		assert.Equal(t, "the time of a mail after a quiet day", s.Due(end.Add(24*time.Hour)), end.Add(24*time.Hour))
	})
	t.Run("what happens while a mail is sent is in the next one", func(t *testing.T) {
		key, passkey := notice(account.KeyNotice, "key_1"), notice(account.PasskeyNotice, "psk_1")
		s := account.SecurityNotices{Pending: []account.SecurityNotice{key}, HasMore: true}
		mail := s.Next(now)
		assert.Equal(t, "whether the mail lists all", mail.HasMore, true)
		s.Add(passkey)
		s.Mailed(&mail, now)
		assert.EqualSlice(t, "pending notices", s.Pending, []account.SecurityNotice{passkey})
		assert.Equal(t, "the time of the next mail", s.Due(now), now.Add(account.MailPause))
		second := s.Next(now.Add(account.MailPause))
		s.Mailed(&second, now.Add(account.MailPause))
		assert.Equal(t, "whether there are more", s.HasMore, false)
		assert.Equal(t, "notices without a new change", len(s.Next(now).Notices), 0)
		assert.Equal(t, "when they are due", s.Next(now).Due, now)
	})
}
