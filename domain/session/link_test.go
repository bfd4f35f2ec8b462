package session_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestMailsWithLinksWait(t *testing.T) {
	const own, other = "192.0.2.1", "198.51.100.7"
	// mails returns as many mails to one address, the last one some time ago and each a second after the one before.
	mails := func(n int, from string, last time.Duration) (all []session.LinkMail) {
		for i := range n {
			all = append(all, session.LinkMail{At: sessionAt.Add(-last - time.Duration(n-1-i)*time.Second), From: from})
		}
		return all
	}
	usable := func(item []session.LinkMail) session.LinkMails { return session.LinkMails{Sent: item, Usable: true} }
	for name, tt := range map[string]struct {
		mailed session.LinkMails
		want   bool
	}{
		"the first":                                                 {session.LinkMails{}, false},
		"the second within a minute":                                {usable(mails(1, own, time.Minute-1)), true},
		"the second after a minute":                                 {usable(mails(1, own, time.Minute)), false},
		"the third within two minutes":                              {usable(mails(2, own, 2*time.Minute-1)), true},
		"the third after two minutes":                               {usable(mails(2, own, 2*time.Minute)), false},
		"the fifth within a quarter of an hour":                     {usable(mails(5, own, session.LinkLife-1)), true},
		"the pauses grow to the life of a link":                     {usable(mails(19, own, session.LinkLife-1)), true},
		"and no further":                                            {usable(mails(19, own, session.LinkLife)), false},
		"an earlier link that was used changes nothing":             {session.LinkMails{Sent: mails(1, own, time.Second)}, true},
		"somebody else asked a moment ago":                          {usable(mails(1, other, 0)), false},
		"somebody else asked nine times":                            {usable(mails(9, other, 0)), false},
		"others asked ten times, and a link works for some minutes": {usable(mails(10, other, 10*time.Minute-1)), true},
		"others asked ten times, and the last link is old":          {usable(mails(10, other, 10*time.Minute)), false},
		"others asked ten times, and the last link was used":        {session.LinkMails{Sent: mails(10, other, 0)}, false},
		"others asked often more than an hour ago":                  {usable(append(mails(20, other, time.Hour), mails(1, other, 0)...)), false},
		"others asked 1,000 times, and the last link is old":        {usable(mails(1000, other, 10*time.Minute)), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "it waits", tt.mailed.Waits(own, sessionAt), tt.want)
		})
	}
	t.Run("whatever others ask for, a mailbox always has a link that works", func(t *testing.T) {
		var mailedMails session.LinkMails
		for now := sessionAt; now.Before(sessionAt.Add(24 * time.Hour)); now = now.Add(time.Minute) {
			if from := now.String(); !mailedMails.Waits(from, now) { // each time from another address
				mailedMails = usable(append(mailedMails.Sent, session.LinkMail{At: now, From: from}))
			}
			if last := mailedMails.Sent[len(mailedMails.Sent)-1].At; mailedMails.Waits(own, now) &&
				now.Sub(last) > session.LinkLife-5*time.Minute {
				t.Fatalf("at %s a person gets no mail, and the last link is of %s", now, last)
			}
		}
		for i, first := range mailedMails.Sent {
			n := 0
			for _, mail := range mailedMails.Sent[i:] {
				if mail.At.Sub(first.At) < time.Hour {
					n++
				}
			}
			if n > 10+6 {
				t.Fatalf("the mailbox got %d mails within an hour", n)
			}
		}
	})
}
