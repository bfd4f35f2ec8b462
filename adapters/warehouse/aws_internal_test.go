package warehouse

import (
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestATokenForRDSIsForTheEndpointInLowerCase(t *testing.T) {
	c, err := connection.ParseCredential(connection.Postgres, []byte(`{"host": "DB.Example.com.", "port": 5433,
		"database": "d", "username": "a user", "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key": "s", "aws_region": "eu-central-1"}`))
	require.NoError(t, err)
	token := rdsToken(c, time.Now())
	if !strings.HasPrefix(token, "db.example.com:5433/?Action=connect&DBUser=a%20user&X-Amz-Algorithm=") {
		t.Errorf("token %s", token)
	}
}
