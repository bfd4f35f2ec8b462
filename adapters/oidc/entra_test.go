package oidc_test

import (
	"testing"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestWhoCallsAnAddressVerified(t *testing.T) {
	const entra = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0"
	const other = "https://id.example"
	for name, tt := range map[string]struct {
		issuer string
		raw    map[string]any
		want   bool
	}{
		"any issuer, by the claim of the standard": {other, map[string]any{"email_verified": true}, true},
		"not an issuer that leaves it out":         {other, nil, false},
		"Entra ID, by its own claim":               {entra, map[string]any{"xms_edov": true}, true},
		"Entra ID, by a number":                    {entra, map[string]any{"xms_edov": 1.0}, true},
		"Entra ID, by a string":                    {entra, map[string]any{"xms_edov": "1"}, true},
		"not Entra ID, if it does not know":        {entra, map[string]any{"xms_edov": false}, false},
		"not Entra ID without it":                  {entra, nil, false},
		"not Entra ID, if the standard's says no": {entra,
			map[string]any{"email_verified": false, "xms_edov": true}, false},
		"not another issuer by that of Entra ID": {other, map[string]any{"xms_edov": true}, false},
		"not an issuer with a similar name": {"https://login.microsoftonline.com.example/x",
			map[string]any{"xms_edov": true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "verified", oidc.IsEmailVerified(tt.raw, tt.issuer), tt.want)
		})
	}
}
