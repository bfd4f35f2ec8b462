package oidc_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestTheUserInfoEndpointCompletesAnIDTokenWithoutAnAddress(t *testing.T) {
	says := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer at-atrium-console" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		address  bool // in the ID token
		userInfo http.HandlerFunc
		document func(map[string]any)
		want     string // the address; empty: the sign-in fails
		verified bool
		asked    bool
	}{
		"the address and its verification": {
			userInfo: says(`{"sub":"ann-1","email":"ann@example.com","email_verified":true,"name":"Anna","iss":"x"}`),
			want:     "ann@example.com", verified: true, asked: true},
		"an address that is not verified": {userInfo: says(`{"sub":"ann-1","email":"ann@example.com"}`),
			want: "ann@example.com", asked: true},
		"no address there either": {userInfo: says(`{"sub":"ann-1"}`), want: "none", asked: true},
		"no such endpoint":        {want: "none"},
		"an ID token with an address is enough": {address: true, userInfo: fixture.Failing, want: "ann@example.com",
			verified: true},
		"another subject":            {userInfo: says(`{"sub":"eve-1","email":"ann@example.com"}`), asked: true},
		"no subject":                 {userInfo: says(`{"email":"ann@example.com"}`), asked: true},
		"a signed response":          {userInfo: says(`eyJhbGciOiJub25lIn0.e30.`), asked: true},
		"an endpoint that fails":     {userInfo: fixture.Failing, asked: true},
		"one that never stops":       {userInfo: fixture.Huge, asked: true},
		"one that is not protected":  {userInfo: says(`{}`), document: func(d map[string]any) { d["userinfo_endpoint"] = "http://id.example/me" }},
		"one that is not an address": {userInfo: says(`{}`), document: func(d map[string]any) { d["userinfo_endpoint"] = "%" }},
	} {
		t.Run(name, func(t *testing.T) {
			p := fixture.NewProvider(t)
			p.Tamper(func(p *fixture.Provider) {
				p.UserInfo, p.Document = tt.userInfo, tt.document
				p.Claims = func(c map[string]any) {
					if !tt.address {
						delete(c, "email")
						delete(c, "email_verified")
					}
				}
			})
			claims, err := signsIn(t, oidc.NewClient(newVerifier()), registered(p), nil)
			if isAsked := p.Requests(fixture.UserInfoPath) > 0; isAsked != tt.asked {
				t.Errorf("the endpoint was asked: %v", isAsked)
			}
			if tt.want == "" {
				if !errors.Is(err, session.ErrProviderFailed) || !strings.Contains(err.Error(), "UserInfo") {
					t.Errorf("it ends with %+v, %v", claims, err)
				}
				return
			}
			accepted(t, claims, err)
			if email := strings.TrimPrefix(tt.want, "none"); claims.Email != email ||
				claims.EmailVerified != tt.verified || claims.Name != "Ann" || claims.Issuer != p.URL ||
				claims.Raw["iss"] != p.URL {
				t.Errorf("the claims are %+v", claims)
			}
		})
	}
}
