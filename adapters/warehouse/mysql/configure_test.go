package mysql

import (
	"reflect"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestNothingIsLeftToTheDriversDefaults holds configure to all fields that the driver has, and the
// dangerous ones to what they must be.
func TestNothingIsLeftToTheDriversDefaults(t *testing.T) {
	existing := []string{
		"User", "Passwd", "Net", "Addr", "DBName", "Params", "ConnectionAttributes", "Collation", "Loc",
		"MaxAllowedPacket", "ServerPubKey", "TLSConfig", "TLS",
		"Timeout", "ReadTimeout", "WriteTimeout", "Logger", "DialFunc", "AllowAllFiles", "AllowCleartextPasswords",
		"AllowFallbackToPlaintext",
		"AllowNativePasswords", "AllowOldPasswords", "CheckConnLiveness", "ClientFoundRows", "ColumnsWithAlias",
		"InterpolateParams", "MultiStatements",
		"ParseTime", "RejectReadOnly",
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[mysql.Config]()) {
		if field.IsExported() && !slices.Contains(existing, field.Name) {
			t.Errorf("the driver has a field %s that configure does not know", field.Name)
		}
	}
	for mode, clear := range map[string]bool{"verify_full": true, "verify_ca": true, "require": false,
		"disable": false} {
		c, err := connection.ParseCredential(connection.MySQL,
			[]byte(`{"host":"db.example.com","database":"d?allowAllFiles=true","username":"u","tls":"`+mode+`"}`))
		require.NoError(t, err)
		config := configure(ports.Target{Credential: c, Limits: ports.DefaultLimits()}, nil)
		if config.AllowCleartextPasswords != clear {
			t.Errorf("with %s, a password may be sent in the clear: %v", mode, config.AllowCleartextPasswords)
		}
		if config.AllowAllFiles || config.AllowFallbackToPlaintext || config.AllowOldPasswords ||
			config.MultiStatements {
			t.Errorf("with %s, %+v", mode, config)
		}
		if config.DBName != "d?allowAllFiles=true" || config.Params != nil || config.Addr != "server:3306" {
			t.Errorf("with %s, database %q, parameters %q, address %q", mode, config.DBName, config.Params, config.Addr)
		}
		if _, silent := config.Logger.(*mysql.NopLogger); !silent {
			t.Error("the driver writes to a log, and what servers say with it")
		}
	}
}
