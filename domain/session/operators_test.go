package session_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

func TestEndFor(t *testing.T) {
	operator := identity.Actor{Org: "org", User: "op", Operator: true, Ceiling: identity.Owner, At: sessionAt}
	cappedActor, member, abroad := operator, operator, operator
	cappedActor.Ceiling, member.Operator, abroad.Org = identity.Admin, false, "other"
	for name, tt := range map[string]struct {
		by    identity.Actor
		id    identity.SessionID
		ended int
		want  error
	}{
		"all of them by an operator":      {operator, "", 2, nil},
		"one by an operator":              {operator, "ses_2", 1, nil},
		"all of them by the system":       {browser(sessionAt), "", 2, nil},
		"not one that does not exist":     {operator, "ses_9", 0, session.ErrNotFound},
		"not by a member":                 {member, "", 0, identity.ErrForbidden},
		"not by an operator's lesser key": {cappedActor, "", 0, identity.ErrForbidden},
		"not in another org":              {abroad, "", 0, account.ErrUserNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			live := []*session.Session{{ID: "ses_1", Org: "org", User: "ann"}, {ID: "ses_2", Org: "org", User: "ann"}}
			ends, err := session.EndFor(tt.by, inWorkspaces("w1"), live, tt.id)
			if ends != tt.ended || !errors.Is(err, tt.want) {
				t.Fatalf("%d, %v, want %d, %v", ends, err, tt.ended, tt.want)
			}
			for _, s := range live {
				if !s.EndedAt.IsZero() {
					tt.ended--
					if e := s.Recorded(); len(e) != 1 || e[0].Data["reason"] != "ended_by_operator" ||
						e[0].Actor != tt.by.User {
						t.Errorf("events %+v", e)
					}
				}
			}
			if tt.ended != 0 {
				t.Errorf("%d more ended than was said", -tt.ended)
			}
		})
	}
}
