package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTwoForwardedHostsAreRefusedFromTrustedProxies(t *testing.T) {
	h := newEnv(t)
	for remote, want := range map[string]int{"10.1.2.3:1": http.StatusMisdirectedRequest,
		"203.0.113.9:1": http.StatusUnauthorized} {
		r := httptest.NewRequest("GET", "http://direct.example.com/api/me", nil)
		r.RemoteAddr = remote
		r.Header["X-Forwarded-Host"] = []string{"evil.example.com", "forwarded.example.com"}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want ||
			(want == http.StatusMisdirectedRequest && !strings.Contains(w.Body.String(), `"ambiguous_host"`)) {
			t.Errorf("from %s: %d %s", remote, w.Code, w.Body)
		}
	}
}
