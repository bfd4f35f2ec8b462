package databricks

import (
	"crypto/x509"

	"github.com/atrium-hq/atrium/adapters/warehouse"
)

// NewAt returns a warehouse that uses a test's server in place of a workspace.
func NewAt(guard warehouse.Guard, roots *x509.CertPool,
	textAt func(host string) (string, uint16)) *warehouse.Sessions {
	return warehouse.NewSessions(guard, place{roots: roots, server: func(host string) address {
		host, port := textAt(host)
		return address{host, port}
	}}.open)
}

// ServerOf returns where a workspace is outside of tests.
func ServerOf(host string) (string, uint16) {
	a := serverOf(host)
	return a.host, a.port
}
