package oidc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func TestDiagnose(t *testing.T) {
	tests := map[string]struct {
		begin     func(*fixture.Issuer)
		audiences []string
		want      []string // each check, with an exclamation mark if it failed
		note      string   // part of the last failed one
	}{
		"all is well": {func(*fixture.Issuer) {}, []string{app},
			[]string{"audiences", "issuer", "discovery", "keys"}, ""},
		"no audience": {func(*fixture.Issuer) {}, nil,
			[]string{"audiences!", "issuer", "discovery", "keys"}, "no token of this issuer is accepted"},
		"an empty audience": {func(*fixture.Issuer) {}, []string{app, ""},
			[]string{"audiences!", "issuer", "discovery", "keys"}, "index 1 is empty"},
		"no TLS": {func(i *fixture.Issuer) { i.URL = "http://id.example" }, []string{app},
			[]string{"audiences", "issuer!"}, "https"},
		"no server": {func(i *fixture.Issuer) { i.Network.Cut() }, []string{app},
			[]string{"audiences", "issuer", "discovery!"}, "refused"},
		"out of order": {func(i *fixture.Issuer) { i.Answer(fixture.Failing) }, []string{app},
			[]string{"audiences", "issuer", "discovery!"}, "answered 500"},
		"garbage": {func(i *fixture.Issuer) { i.Answer(fixture.Garbage) }, []string{app},
			[]string{"audiences", "issuer", "discovery!"}, "not a discovery document"},
		"a final slash too many": {func(i *fixture.Issuer) { i.URL += "/" }, []string{app},
			[]string{"audiences", "issuer", "discovery!"}, "final slash"},
		"moved": {func(i *fixture.Issuer) { i.Answer(redirects(i)) }, []string{app},
			[]string{"audiences", "issuer", "discovery!"}, "answered 302"},
		"keys that are none": {func(i *fixture.Issuer) { i.Answer(keysAnswer(i, "{}")) }, []string{app},
			[]string{"audiences", "issuer", "discovery", "keys!"}, "not a JWK Set"},
		"no keys": {func(i *fixture.Issuer) { i.Publish() }, []string{app},
			[]string{"audiences", "issuer", "discovery", "keys!"}, "0 can be used"},
		"no key that is of any use": {
			func(i *fixture.Issuer) { i.Publish(map[string]any{"kty": "oct", "k": "AAAA"}) }, []string{app},
			[]string{"audiences", "issuer", "discovery", "keys!"}, "not a public key"},
		"all fails that can, at once": {func(i *fixture.Issuer) { i.URL = "" }, nil, []string{"audiences!", "issuer!"},
			"https"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			issuer := fixture.NewIssuer(t, "ES256")
			servedURL := issuer.URL
			tt.begin(issuer)
			askedIssuer := identity.Issuer{URL: issuer.URL, Audiences: tt.audiences}
			if name == "a final slash too many" {
				issuer.URL = servedURL // it calls itself what it always did
			}
			var got []string
			note := ""
			const redirect = "https://atrium.example.com/api/auth/oidc/callback"
			for _, f := range newVerifier().Diagnose(t.Context(), askedIssuer, redirect) {
				if !f.OK {
					f.Check += "!"
					note = f.Note
				}
				if strings.Contains(f.Note, "\n") || f.Note == "" {
					t.Errorf("the note of %s is not one line: %q", f.Check, f.Note)
				}
				got = append(got, f.Check)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || !strings.Contains(note, tt.note) {
				t.Errorf("%s\nthe last failed one says %q, want %q in it", diff, note, tt.note)
			}
		})
	}
}
