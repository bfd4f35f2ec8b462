package connection_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// keyed returns a credential with an AWS key, with some fields changed; nil removes a field.
func keyed(kind connection.Kind, changes map[string]any) (connection.Credential, error) {
	fields := map[string]any{
		"host": "db.example.com", "database": "shop", "username": "reader", "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key": "s3cr3t", "aws_region": "eu-central-1",
	}
	for name, v := range changes {
		if fields[name] = v; v == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return connection.Credential{}, err
	}
	return connection.ParseCredential(kind, text)
}

// wantWrong checks which fields of a credential an error is about.
func wantWrong(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, field := range f.Fields {
			got = append(got, field.Pointer[len("/credential/"):])
		}
	}
	if !slices.Equal(got, want) || (err != nil && got == nil) {
		t.Errorf("wrong fields %q, want %q: %v", got, want, err)
	}
}

func TestFieldsOfAnAWSKey(t *testing.T) {
	for name, tt := range map[string]struct {
		kind    connection.Kind
		changes map[string]any
		wrong   []string
	}{
		"PostgreSQL": {connection.Postgres, nil, nil},
		"MySQL":      {connection.MySQL, nil, nil},
		"without its secret": {connection.MySQL, map[string]any{"aws_secret_access_key": nil},
			[]string{"aws_secret_access_key"}},
		"without all but secret": {connection.MySQL, map[string]any{"aws_access_key_id": nil, "aws_region": nil},
			[]string{"aws_access_key_id", "aws_region"}},
		"and a password": {connection.MySQL, map[string]any{"password": "p"}, []string{"password"}},
		"without TLS":    {connection.MySQL, map[string]any{"tls": "disable"}, []string{"tls"}},
		"with TLS that proves nothing": {connection.MySQL, map[string]any{"tls": "require"},
			[]string{"tls"}},
		"with TLS for any name": {connection.MySQL, map[string]any{"tls": "verify_ca"}, nil},
		"a region with a slash": {connection.MySQL, map[string]any{"aws_region": "eu/1"}, []string{"aws_region"}},
		"a kind without tokens": {connection.ClickHouse, nil,
			[]string{"aws_access_key_id", "aws_region", "aws_secret_access_key"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keyed(tt.kind, tt.changes)
			wantWrong(t, err, tt.wrong)
		})
	}
}

func TestARefusedTokenIsAboutTheKey(t *testing.T) {
	c, err := keyed(connection.Postgres, nil)
	require.NoError(t, err)
	assert.EqualSlice(t, "secrets", c.SecretsSet(), []string{"aws_secret_access_key"})
	refusal := connection.Trial{Report: connection.FailedAt(connection.Authenticate, connection.AuthFailed),
		At: time.Unix(1, 0)}
	failedFault, ok := errors.AsType[*connection.ProbeError](refusal.Failure(c))
	if !ok || !strings.Contains(failedFault.Failure.Hint, "clock") ||
		!slices.Equal(failedFault.Failure.Fields, []string{"username", "aws_access_key_id", "aws_secret_access_key",
			"aws_region"}) {
		t.Errorf("failure %+v", failedFault)
	}
	if plain := connection.Postgres.Failure(connection.AuthFailed, refusal.At); strings.Contains(plain.Hint, "AWS") {
		t.Errorf("the hint of a password: %s", plain.Hint)
	}
}

func TestATokenReplacesThePasswordOnlyInACopy(t *testing.T) {
	c, err := keyed(connection.Postgres, nil)
	require.NoError(t, err)
	assert.Equal(t, "password", c.WithPassword(secret.New("token")).Secret(connection.FieldPassword).Reveal(), "token")
	if !c.Secret(connection.FieldPassword).IsZero() {
		t.Error("the credential itself has the token")
	}
}

func TestABearerTokenIsTextThatAHeaderCanHave(t *testing.T) {
	for token, want := range map[string]bool{
		"ya29.a0Af_-~+/=": true, strings.Repeat("x", 8192): true, "": false, strings.Repeat("x", 8193): false,
		"two words": false, "line\r\nbreak": false, "tab\t": false, "ü": false, "\x7f": false,
	} {
		if got := connection.IsBearerToken(token); got != want {
			t.Errorf("%.20q: %v, want %v", token, got, want)
		}
	}
}
