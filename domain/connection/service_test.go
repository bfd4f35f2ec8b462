package connection_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestARecognisedServiceSaysWhatIsWrong(t *testing.T) {
	const unsupported, timeout = connection.TLSUnsupported, connection.ConnectTimeout
	for name, tt := range map[string]struct {
		kind     connection.Kind
		code     connection.Code
		service  connection.Service
		want     connection.Code
		answered connection.Service
	}{
		"nothing": {connection.Postgres, timeout, "", timeout, ""},
		"another service": {connection.Postgres, timeout, connection.ServiceRedis, connection.NotThisDatabase,
			connection.ServiceRedis},
		"a service without TLS that is another": {connection.MySQL, unsupported, connection.ServicePostgres,
			connection.NotThisDatabase, connection.ServicePostgres},
		"the right service without TLS": {connection.MySQL, unsupported, connection.ServiceMySQL, unsupported,
			connection.ServiceMySQL},
		"the right service, which is slow": {connection.MySQL, timeout, connection.ServiceMySQL, timeout, ""},
		"a web server that is not ClickHouse": {connection.ClickHouse, connection.NotThisDatabase,
			connection.ServiceTLS, connection.NotThisDatabase, connection.ServiceHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.kind.Recognised(tt.code, tt.service)
			var answeredService connection.Service
			if recognisedFault, ok := errors.AsType[*connection.ServiceError](err); ok {
				answeredService = recognisedFault.Service
			}
			if !errors.Is(err, tt.want) || answeredService != tt.answered {
				t.Errorf("error %v, answered %q, want %s and %q", err, answeredService, tt.want, tt.answered)
			}
		})
	}
}

// TestAFailureNamesTheServiceAlsoLater is about a connection that began to fail after it was stored.
func TestAFailureNamesTheServiceAlsoLater(t *testing.T) {
	c, err := connection.New(maker, trial(t, 0, true, ""), 0)
	require.NoError(t, err)
	failedTrial := trial(t, c.CredentialRevision, false, connection.NotThisDatabase)
	for i := range failedTrial.Report.Checks {
		if failedTrial.Report.Checks[i].Result == connection.Failed {
			failedTrial.Report.Checks[i].Answered = connection.ServiceSSH
		}
	}
	c.Check(system, failedTrial)
	if f := c.Failure(); f == nil || f.Answered != connection.ServiceSSH ||
		!strings.HasPrefix(f.Hint, "An SSH server responds at this address, and not PostgreSQL.") {
		t.Errorf("failure %+v", f)
	}
}
