package warehouse_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// cloudSQL is a target of Cloud SQL: a PostgreSQL behind a front that accepts the token of a Google, which is written
// from its documentation.
func cloudSQL(t *testing.T, g *fixture.Google) (*warehouse.Sessions, ports.Target) {
	t.Helper()
	u, err := url.Parse(services.Postgres(t))
	require.NoError(t, err)
	authority := fixture.NewAuthority(t)
	front := fixture.PostgresFront(t, authority.ServerTLS(t, "127.0.0.1"), u.Host,
		func(token, _, _ string) error {
			if token != fixture.GoogleToken {
				return errors.New("not the token")
			}
			return nil
		})
	key, err := json.Marshal(map[string]string{"type": "service_account", "client_email": g.Email,
		"private_key": g.PrivateKey, "private_key_id": "1"})
	require.NoError(t, err)
	target := warehouses.HostTarget(t, connection.Postgres, map[string]any{
		"host": "127.0.0.1", "port": front, "database": strings.Trim(u.Path, "/"), "username": u.User.Username(),
		"cloud_sql_service_account_key": string(key), "tls_ca": authority.PEM, "tls": "verify_ca",
	}, nil)
	return postgres.New(guard).SignInAt(warehouse.GoogleSignIn{Host: "127.0.0.1", Port: g.OverTLS(t, authority),
		Roots: authority.Pool()}), target
}

func TestAUserOfCloudSQLSignsInWithAToken(t *testing.T) {
	g := fixture.NewGoogle(t)
	g.Scope = "https://www.googleapis.com/auth/sqlservice.login"
	w, target := cloudSQL(t, g)
	if r := w.Probe(t.Context(), target); r.Failure() != "" || r.Server.Product != "PostgreSQL" {
		t.Errorf("the probe failed: %+v", r)
	}
}

func TestATokenThatGoogleRefusesFailsTheSignIn(t *testing.T) {
	w, target := cloudSQL(t, fixture.NewGoogle(t)) // which expects another scope
	trial := connection.Trial{Report: w.Probe(t.Context(), target)}
	failure, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
	if !ok || failure.Failure.Code != connection.AuthFailed || !strings.Contains(failure.Failure.Hint, "clock") ||
		!slices.Equal(failure.Failure.Fields, []string{"username", "cloud_sql_service_account_key"}) {
		t.Errorf("failure %+v", failure)
	}
	for _, c := range trial.Report.Checks {
		if c.Result == connection.Failed && c.Step != connection.Authenticate {
			t.Errorf("failed at %s", c.Step)
		}
	}
}

func TestATokenThatCannotBeFetchedIsNotTheDatabasesFault(t *testing.T) {
	w, target := cloudSQL(t, fixture.NewGoogle(t))
	w.SignInAt(warehouse.GoogleSignIn{Host: "127.0.0.1", Port: fixture.ClosedPort(t)})
	r := w.Probe(t.Context(), target)
	assert.Equal(t, "failure", r.Failure(), connection.TokenUnavailable)
}

func TestOnlyAConnectionWithTokensOfGoogleMayUseItsPort(t *testing.T) {
	_, target := cloudSQL(t, fixture.NewGoogle(t))
	plain := warehouses.HostTarget(t, connection.Postgres, map[string]any{"host": "h.example.com", "database": "d",
		"username": "u"}, nil)
	if !target.Credential.AllowsPort(443) || plain.Credential.AllowsPort(443) {
		t.Error("the port 443 is not allowed for one, or allowed for the other")
	}
	for credential, want := range map[*connection.Credential][]uint16{
		&target.Credential: {target.Credential.Port(), 443},
		&plain.Credential:  {5432}} {
		text, err := credential.Reveal()
		require.NoError(t, err)
		input, err := json.Marshal(map[string]any{"Kind": connection.Postgres, "Credential": json.RawMessage(text)})
		require.NoError(t, err)
		assert.EqualSlice(t, "a child gets the ports", warehouse.Needs("")(input).Ports, want)
	}
}
