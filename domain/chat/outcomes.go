package chat

import (
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
)

// FailingAfter is the number of replies to visitors that fail one after another before a template counts as failing.
const FailingAfter = 5

// ReplyRun is what became of the latest replies to visitors.
type ReplyRun struct {
	Failures     int       // in a row, up to FailingAfter; 0 if the latest reply succeeded or there was none
	Code         string    // why the latest one failed; empty if it succeeded
	FailingSince time.Time // zero unless the template counts as failing
}

// Outcomes are what became of several replies to visitors.
type Outcomes struct {
	Succeeded bool   // at least one did, before all of Failures
	Failures  int    // since the latest success
	Code      string // of the latest failure
}

// Then returns the outcomes of a, followed by b.
func (a Outcomes) Then(b Outcomes) Outcomes {
	if b.Succeeded {
		b.Succeeded = true
		return b
	}
	b.Succeeded = a.Succeeded
	b.Failures += a.Failures
	if b.Code == "" {
		b.Code = a.Code
	}
	return b
}

// Replied records what became of replies. After FailingAfter failures in a row, or at once if the connection was
// revoked, the template counts as failing until a reply succeeds. by is the system, or who revoked.
func (t *Template) Replied(by identity.Actor, o Outcomes) {
	if o.Succeeded {
		if !t.Replies.FailingSince.IsZero() {
			t.Record(by, "chat_template.replies_recovered", string(t.ID),
				map[string]any{"code": t.Replies.Code, "failing_since": t.Replies.FailingSince})
		}
		t.Replies = ReplyRun{}
	}
	if o.Failures == 0 || !t.Replies.FailingSince.IsZero() {
		return
	}
	t.Replies.Failures, t.Replies.Code = t.Replies.Failures+o.Failures, o.Code
	if t.Replies.Failures < FailingAfter && o.Code != connection.ErrRevoked.Code {
		return
	}
	t.Record(by, "chat_template.replies_failing", string(t.ID), map[string]any{"code": o.Code,
		"failures": t.Replies.Failures, "connection_id": t.Served().Reply.Connection})
	t.Replies.Failures, t.Replies.FailingSince = min(t.Replies.Failures, FailingAfter), by.At
}

// ConnectionUse is a template that replies through a connection, in its draft or its published version.
type ConnectionUse struct {
	Connection connection.ID
	ID         ID
	Name       string
}
