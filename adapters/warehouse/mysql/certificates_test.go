package mysql_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestAServerCanRequireAClientCertificate(t *testing.T) {
	s := shared(t)
	// The user exists only here: MariaDB pretends that unknown users sign in as one of the existing ones does.
	for _, statement := range []string{`CREATE USER certified REQUIRE SUBJECT '/CN=certified'`,
		`GRANT SELECT ON shop.kinds TO certified`} {
		_, err := s.admin.Exec(statement)
		require.NoError(t, err)
	}
	defer func() {
		_, err := s.admin.Exec(`DROP USER certified`)
		require.NoError(t, err)
	}()
	t.Run("directly", func(t *testing.T) {
		warehouses.ClientCertificates(t, direct(t), s.authority, s.target)
	})
	t.Run("through the child", func(t *testing.T) {
		warehouses.ClientCertificates(t, warehouses.Confined[*testing.T](t), s.authority, s.target)
	})
}
