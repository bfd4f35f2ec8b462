package warehouses

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// ClientCertificates checks that a server which requires a client certificate of authority from the user certified lets
// only the certificate for this name in. target returns the user's target with some fields changed.
func ClientCertificates(
	t *testing.T, w ports.Warehouse, authority *fixture.Authority,
	target func(t *testing.T, changes map[string]any) ports.Target,
) {
	sign := func(from *fixture.Authority, name string) map[string]any {
		certificate, key := from.Sign(t, time.Hour, name)
		return map[string]any{"username": "certified", "password": nil, "tls_cert": certificate, "tls_key": key}
	}
	report := w.Probe(t.Context(), target(t, sign(authority, "certified")))
	if report.Failure() != "" {
		t.Errorf("a certificate for the user: %+v", report.Checks)
	}
	for name, changes := range map[string]map[string]any{
		"no certificate":                   {"username": "certified", "password": nil},
		"a certificate for another user":   sign(authority, "reader"),
		"a certificate of other authority": sign(fixture.NewAuthority(t), "certified"),
	} {
		report := w.Probe(t.Context(), target(t, changes))
		if code := report.Failure(); code != connection.AuthRejected && code != connection.AuthFailed {
			t.Errorf("%s: %q, %+v", name, code, report.Checks)
		}
	}
}
