package identity_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

func TestVouchesFor(t *testing.T) {
	for name, tt := range map[string]struct {
		issuer identity.Issuer
		email  string
		want   bool
	}{
		"an issuer that is not trusted vouches for no one": {identity.Issuer{}, "a@corp.test", false},
		"also if it lists domains":                         {identity.Issuer{EmailDomains: []string{"corp.test"}}, "a@corp.test", false},
		"one that is trusted does for everybody":           {identity.Issuer{TrustEmail: true}, "a@corp.test", true},
		"or for the domains that it lists":                 {identity.Issuer{TrustEmail: true, EmailDomains: []string{"x.test", "corp.test"}}, "a@corp.test", true},
		"whatever their case":                              {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "A@Corp.TEST", true},
		"but not for others":                               {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@partner.test", false},
		"nor for a subdomain":                              {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@mail.corp.test", false},
		"nor for one that ends alike":                      {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@evilcorp.test", false},
		"nor for one that begins alike":                    {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@corp.test.evil.test", false},
		"nor with a final dot":                             {identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@corp.test.", false},
		"nor behind a second at": {
			identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "a@evil.test@corp.test", false},
		"nor for what only looks alike": {
			identity.Issuer{TrustEmail: true, EmailDomains: []string{"kelvin.test"}}, "a@\u212aelvin.test", false},
		"nor without a domain": {
			identity.Issuer{TrustEmail: true, EmailDomains: []string{"corp.test"}}, "corp.test", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.issuer.VouchesFor(tt.email); got != tt.want {
				t.Errorf("VouchesFor(%q) = %v", tt.email, got)
			}
		})
	}
}

func TestTheShorterAgeOfASignInCounts(t *testing.T) {
	hour, minute, zero := time.Hour, time.Minute, time.Duration(0)
	for name, tt := range map[string]struct {
		configured time.Duration
		requested  *time.Duration
		want       *time.Duration
	}{
		"any":                          {0, nil, nil},
		"the configured one":           {time.Hour, nil, &hour},
		"the requested one":            {0, &minute, &minute},
		"the requested one is shorter": {time.Hour, &minute, &minute},
		"the configured one is":        {time.Minute, &hour, &minute},
		"at once":                      {time.Hour, &zero, &zero},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&identity.Client{MaxAge: tt.configured}).AgeOfSignIn(tt.requested)
			if (got == nil) != (tt.want == nil) || (got != nil && *got != *tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
