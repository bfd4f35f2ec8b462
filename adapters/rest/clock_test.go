package rest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestSessionsFollowCorrectionsOfTheClock corrects the clock of a server that runs.
func TestSessionsFollowCorrectionsOfTheClock(t *testing.T) {
	h := newEnv(t)
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	person := account.Person{
		User: account.User{ID: "usr_1", Org: "org_1"},
		Memberships: []account.Membership{{
			Workspace: account.Workspace{ID: "wsp_1", Slug: "default"}, Role: identity.Owner,
		}},
	}
	openedSession, secrets, err := session.Open(identity.System("org_1", "", "test", start), &person, session.ByLink,
		nil, "", nil)
	require.NoError(t, err)
	openedSession.ExpiresAt = start.Add(2 * time.Hour)
	h.sessions.EXPECT().Person(gomock.Any(), identity.OrgID("org_1"), secrets.Cookie.Hash()).AnyTimes().Return(
		&session.Person{Person: person, Session: *openedSession}, nil)
	h.lists.EXPECT().Visible(gomock.Any(), gomock.Any(), gomock.Any(), gomock.Any()).AnyTimes()
	for _, step := range []struct {
		name  string
		shift time.Duration // of the clock, from start
		want  int
	}{
		{"the session lives", time.Hour, 200},
		{"the clock was put right by a day: the session has expired", 25 * time.Hour, 401},
		{"the clock was set back: the session lives again", time.Hour, 200},
		{"it expires a minute later than it does", 2*time.Hour + time.Minute, 401},
	} {
		h.Now = func() time.Time { return start.Add(step.shift) }
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost:8080"+promptsPath, nil)
		r.Header.Set("Cookie", "atrium_session_8080="+secrets.Cookie.Reveal())
		r.Header.Set("Atrium-Console", secrets.Proof.Reveal())
		r.Header.Set("Workspace-Id", "wsp_1")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != step.want {
			t.Errorf("%s: status %d, want %d: %s", step.name, w.Code, step.want, w.Body)
		}
	}
}
