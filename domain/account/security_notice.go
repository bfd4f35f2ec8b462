package account

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
)

// SecurityNoticeJob mails a person's security notices. Its subject is the person, and it is in no workspace.
const SecurityNoticeJob job.Kind = "user.notice"

// SecurityNoticeKind is what a security notice is about.
type SecurityNoticeKind string

// The values of SecurityNoticeKind.
const (
	PasskeyNotice  SecurityNoticeKind = "passkey"  // a passkey was added
	KeyNotice      SecurityNoticeKind = "key"      // an API key was created
	DeviceNotice   SecurityNoticeKind = "device"   // a browser opened the account for the first time
	OperatorNotice SecurityNoticeKind = "operator" // the person became an operator
)

// SecurityNotice tells a person about a change of their account that someone else may have made.
type SecurityNotice struct {
	User    identity.UserID // who is told
	Kind    SecurityNoticeKind
	Subject string // identifier of the passkey, key, session or user
	Name    string // of the key; empty for other kinds
	At      time.Time
}

// is reports whether n and other are about the same change.
func (n *SecurityNotice) is(other SecurityNotice) bool {
	return n.Kind == other.Kind && n.Subject == other.Subject
}

// SecurityNoticeOf returns the notice that an event leads to. It returns false for an event without one, such as an
// operator's key for someone at the command line.
func SecurityNoticeOf(e *event.Event) (SecurityNotice, bool) {
	n := SecurityNotice{User: e.Actor, Subject: e.Subject, At: e.At}
	switch e.Type {
	case "passkey.added":
		n.Kind = PasskeyNotice
	case "api_key.created":
		n.Kind = KeyNotice
		n.Name, _ = e.Data["name"].(string)
	case "session.device_added":
		n.Kind = DeviceNotice
	case "user.updated":
		if e.Data["operator"] != (event.Change{From: false, To: true}) {
			return SecurityNotice{}, false
		}
		n.Kind, n.User = OperatorNotice, identity.UserID(e.Subject)
	}
	return n, n.Kind != "" && n.User != ""
}

const (
	// maxPendingNotices is the maximum number of notices of one kind that a mail lists: many of one kind must not hide
	// one of another.
	maxPendingNotices = 5
	// maxNoticePause is the longest pause between two mails with notices.
	maxNoticePause = 4 * time.Hour
)

// SecurityNotices are what a person is told by mail. The first notice is mailed at once. A pause of MailPause follows
// that doubles with each mail within a day, up to maxNoticePause; the next mail has everything that happened in the
// pause. So no one can flood a mailbox, and no notice is lost.
type SecurityNotices struct {
	Pending []SecurityNotice // not mailed, oldest first
	HasMore bool             // whether there are more than Pending lists
	Sent    []time.Time      // when mails were sent, oldest first
}

// Add adds a notice. One that is pending is not added again: several workspaces record the same event.
func (s *SecurityNotices) Add(n SecurityNotice) {
	count := 0
	for _, other := range s.Pending {
		if other.Kind == n.Kind {
			count++
		}
	}
	switch {
	case slices.ContainsFunc(s.Pending, n.is):
	case count >= maxPendingNotices:
		s.HasMore = true
	default:
		s.Pending = append(s.Pending, n)
	}
}

// Due returns the earliest time for the next mail, which is not before now.
func (s *SecurityNotices) Due(now time.Time) time.Time {
	mails := sentWithin(s.Sent, day, now)
	if len(mails) == 0 {
		return now
	}
	pause := MailPause
	for range mails[1:] {
		pause = min(2*pause, maxNoticePause)
	}
	if due := mails[len(mails)-1].Add(pause); due.After(now) {
		return due
	}
	return now
}

// NoticeMail is a mail with security notices.
type NoticeMail struct {
	Notices []SecurityNotice // empty: there are none, or it is not Due
	HasMore bool
	Due     time.Time
}

// Next returns the next mail.
func (s *SecurityNotices) Next(now time.Time) NoticeMail {
	if len(s.Pending) == 0 {
		return NoticeMail{Due: now}
	}
	if due := s.Due(now); due.After(now) {
		return NoticeMail{Due: due}
	}
	return NoticeMail{Notices: slices.Clone(s.Pending), HasMore: s.HasMore, Due: now}
}

// Mailed records that m was mailed at a time.
func (s *SecurityNotices) Mailed(m *NoticeMail, now time.Time) {
	s.Pending = slices.DeleteFunc(s.Pending, func(n SecurityNotice) bool {
		return slices.ContainsFunc(m.Notices, n.is)
	})
	s.HasMore = s.HasMore && len(s.Pending) > 0
	s.Sent = append(sentWithin(s.Sent, day, now), now)
}
