package postgres

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestNothingComesFromTheEnvironment compares the configuration in a clean environment with that in one that
// sets all variables that pgx reads.
func TestNothingComesFromTheEnvironment(t *testing.T) {
	c, err := connection.ParseCredential(connection.Postgres,
		[]byte(`{"host":"db.example.com","database":"d","username":"u"}`))
	require.NoError(t, err)
	configuredConfig := func() *pgconn.Config {
		config, err := pgconn.ParseConfig("host=127.0.0.1 port=5432 user=nobody dbname=none password=none " +
			"sslmode=disable")
		require.NoError(t, err)
		configure(config, ports.Target{Credential: c, Limits: ports.DefaultLimits()}, true)
		return config
	}
	clean := configuredConfig()

	home := t.TempDir()
	for name, text := range map[string]string{
		".pgpass":          "*:*:*:*:theirs\n",
		".pg_service.conf": "[ours]\nhost=127.0.0.2\nuser=theirs\npassword=theirs\nsslmode=require\nkrbspn=theirs\nsearch_path=theirs\ntarget_session_attrs=read-write\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	for name, value := range map[string]string{
		"HOME": home, "PGHOST": "127.0.0.2,127.0.0.3", "PGPORT": "1", "PGDATABASE": "theirs", "PGUSER": "theirs",
		"PGPASSWORD": "theirs",
		"PGPASSFILE": filepath.Join(home, ".pgpass"), "PGSERVICE": "ours",
		"PGSERVICEFILE": filepath.Join(home, ".pg_service.conf"),
		"PGSSLMODE":     "prefer", "PGOPTIONS": "-c x=y", "PGAPPNAME": "theirs", "PGCONNECT_TIMEOUT": "1",
		"PGTARGETSESSIONATTRS": "read-write", "PGTZ": "theirs",
		"PGMINPROTOCOLVERSION": "3.2", "PGMAXPROTOCOLVERSION": "3.2", "PGCHANNELBINDING": "require",
		"PGREQUIREAUTH": "none", "PGSSLNEGOTIATION": "direct",
		"PGSSLCERTMODE": "require", "PGKRBSRVNAME": "theirs",
	} {
		t.Setenv(name, value)
	}
	hostile := configuredConfig()

	// DialFunc, LookupFunc and BuildFrontend depend on the connection, and connect sets them.
	elsewhere := []string{"DialFunc", "LookupFunc", "BuildFrontend"}
	existing := []string{
		"Host", "Port", "Database", "User", "Password", "TLSConfig", "ConnectTimeout", "DialFunc", "LookupFunc",
		"BuildFrontend", "MaxProtocolMessageBodyLen",
		"BuildContextWatcherHandler", "RuntimeParams", "KerberosSrvName", "KerberosSpn", "Fallbacks", "SSLNegotiation",
		"SSLCertMode", "AfterNetConnect",
		"ValidateConnect", "AfterConnect", "OnNotice", "OnNotification", "OnPgError", "OAuthTokenProvider",
		"MinProtocolVersion", "MaxProtocolVersion",
		"ChannelBinding", "RequireAuth",
	}
	a, b := reflect.ValueOf(*clean), reflect.ValueOf(*hostile)
	for i := range a.NumField() {
		field := a.Type().Field(i)
		if !field.IsExported() || slices.Contains(elsewhere, field.Name) {
			continue
		}
		if !slices.Contains(existing, field.Name) {
			t.Errorf("pgx has a field %s that configure does not know", field.Name)
		}
		if field.Type.Kind() == reflect.Func {
			if a.Field(i).IsNil() != b.Field(i).IsNil() {
				t.Errorf("%s is there only sometimes", field.Name)
			}
			continue
		}
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			t.Errorf("%s depends on the environment", field.Name)
		}
	}
	if hostile.Password != "" || hostile.Fallbacks != nil || hostile.ValidateConnect != nil ||
		hostile.Database != "d" || hostile.User != "u" {
		t.Error("the credential's fields are not all that is used")
	}
}
