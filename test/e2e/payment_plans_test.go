package e2e

import (
	"slices"
	"strings"
	"testing"
)

func TestPlansCanRequireACredential(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    "+strings.Replace(soldSettings,
		"gateway: sandbox,", "gateway: sandbox, plans_require_sign_in: true,", 1)), knowsWebhookKey)
	s.anonymous().do(t, "GET", payments+"/plans", nil).problem(t, 401, "unauthenticated")
	s.user(t, "viewer").get(t, payments+"/plans").has(t, map[string]string{"data.0.id": "basic"})
}

func TestPlansAreLimitedForEachAddress(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, sold, set("server.rate_limit.burst", "5"), set("server.rate_limit.per_minute", "1"))
	stranger := s.anonymous()
	for range 5 {
		stranger.get(t, payments+"/plans")
	}
	a := stranger.do(t, "GET", payments+"/plans", nil).problem(t, 429, "rate_limited")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("%v", a.header)
	}
}

func TestACacheKeepsPublicPlansForEachOrigin(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, configured("orgs:\n  - slug: default\n    cors_origins: ['https://www.example.com']\n    "+
		soldSettings), knowsWebhookKey)
	a := s.anonymous().get(t, payments+"/plans", "Origin: https://www.example.com")
	varies := strings.Join(a.header.Values("Vary"), ", ")
	if !slices.Contains(strings.Split(varies, ", "), "Origin") || !strings.Contains(varies, "Authorization") {
		t.Errorf("Vary: %s", varies)
	}
}
