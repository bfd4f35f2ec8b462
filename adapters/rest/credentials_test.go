package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang/mock/gomock"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestARequestWithoutAValidCredentialIsToldWhatIsWrong(t *testing.T) {
	h := newEnv(t)
	unknown := account.NewToken().Reveal()
	for authorization, want := range map[string]string{
		"":                   "The request has no credential.",
		"atk_without_scheme": "must be the word Bearer",
		"Basic YTpi":         "must be the word Bearer",
		"Bearer unknown":     "is neither an API key (atk_...) nor a valid token",
		"Bearer atk_short":   "its length or its checksum is wrong",
		"Bearer " + unknown:  "is unknown, was revoked or has expired",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/me", nil)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p openapi.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusUnauthorized ||
			p.Code != identity.ErrUnauthenticated.Code || !strings.Contains(p.Detail, want) {
			t.Errorf("%q: %d %s (%v), want 401 and %q", authorization, w.Code, w.Body, err, want)
		}
	}
}

func TestTheCookieOfASessionIsRefusedInTheSameWordsWhateverIsWrong(t *testing.T) {
	const refused = "The session of the cookie is not valid: it is unknown or has ended, or the request lacks its " +
		"proof or comes from a page of another origin. Sign in again, or send an API key in the Authorization header."
	h := newEnv(t)
	person := account.Person{User: account.User{ID: "usr_1", Org: "org_1"}}
	open := func() (*session.Session, session.Secrets) {
		s, secrets, err := session.Open(identity.System("org_1", "", "test", time.Now()), &person, session.ByLink,
			nil, "", nil)
		require.NoError(t, err)
		return s, secrets
	}
	expiredSession, secrets := open()
	expiredSession.ExpiresAt = time.Now().Add(-time.Hour)
	_, unknown := open()
	h.sessions.EXPECT().Person(gomock.Any(), gomock.Any(), secrets.Cookie.Hash()).AnyTimes().Return(
		&session.Person{Person: person, Session: *expiredSession}, nil)
	h.sessions.EXPECT().Person(gomock.Any(), gomock.Any(), unknown.Cookie.Hash()).AnyTimes().Return(nil,
		identity.ErrUnauthenticated)
	for name, message := range map[string]struct{ cookie, proof, site string }{
		"it has expired":             {secrets.Cookie.Reveal(), secrets.Proof.Reveal(), "same-origin"},
		"it is unknown":              {unknown.Cookie.Reveal(), unknown.Proof.Reveal(), "same-origin"},
		"its proof is missing":       {secrets.Cookie.Reveal(), "", "same-origin"},
		"its page is somewhere else": {secrets.Cookie.Reveal(), secrets.Proof.Reveal(), "cross-site"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8080"+promptsPath, nil)
		r.Header.Set("Cookie", "atrium_session_8080="+message.cookie)
		r.Header.Set("Atrium-Console", message.proof)
		r.Header.Set("Sec-Fetch-Site", message.site)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var p openapi.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusUnauthorized ||
			p.Detail != refused {
			t.Errorf("%s: %d %s (%v), want 401 and %q", name, w.Code, w.Body, err, refused)
		}
	}
}
