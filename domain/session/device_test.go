package session_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestNoteDevice(t *testing.T) {
	others := []*session.Session{{ID: "ses_0", User: "ann"}}
	for name, tt := range map[string]struct {
		age     time.Duration // of the account
		people  []identity.UserID
		live    []*session.Session
		service bool
		want    bool
	}{
		"a browser without a cookie":            {time.Hour, nil, nil, false, true},
		"a browser of another person":           {time.Hour, []identity.UserID{"bob"}, nil, false, true},
		"a browser that the person has used":    {time.Hour, []identity.UserID{"bob", "ann"}, others, false, false},
		"the sign-in that created the account":  {time.Minute, nil, nil, false, false},
		"a second browser in the first minutes": {time.Minute, nil, others, false, true},
		"a program":                             {time.Hour, nil, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := inWorkspaces("w1", "w2")
			p.User.CreatedAt, p.User.Service = sessionAt.Add(-tt.age), tt.service
			key := &account.Key{ID: "key", Workspace: "w1"}
			s, _, err := session.Open(browser(sessionAt), p, session.ByAPIKey, key, "Firefox", tt.live)
			require.NoError(t, err)
			s.NoteDevice(browser(sessionAt), p, tt.people, tt.live)
			events := s.Recorded()[1:]
			assert.Equal(t, "whether it is recorded", len(events) == 1, tt.want)
			if tt.want {
				e := events[0]
				assert.Equal(t, "the type", e.Type, "session.device_added")
				assert.Equal(t, "the subject", e.Subject, string(s.ID))
				assert.Equal(t, "the actor", e.Actor, "ann")
				assert.Equal(t, "the key", e.Key, "key")
				assert.Equal(t, "the workspace", e.Workspace, "w1")
				assert.Equal(t, "what it says", len(e.Data), 0)
			}
		})
	}
}
