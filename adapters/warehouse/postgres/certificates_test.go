package postgres_test

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

func TestAServerCanRequireAClientCertificate(t *testing.T) {
	s := shared(t)
	t.Run("directly", func(t *testing.T) {
		warehouses.ClientCertificates(t, direct(t), s.authority, s.target)
	})
	t.Run("through the child", func(t *testing.T) {
		warehouses.ClientCertificates(t, warehouses.Confined[*testing.T](t), s.authority, s.target)
	})
}
