package bigquery

import (
	"crypto/x509"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// NewAt returns a warehouse that uses a test's server in place of Google's.
func NewAt(guard warehouse.Guard, roots *x509.CertPool,
	locate func(connection.Credential) (host string, port uint16)) *warehouse.Sessions {
	return newAt(guard, func(c connection.Credential) servers {
		host, port := locate(c)
		return servers{api: address{host, port}, token: address{host, port}, roots: roots}
	})
}

// Servers returns where a call goes outside of tests.
func Servers() (api, token string, ports []uint16) {
	return google.api.host, google.token.host, []uint16{google.api.port, google.token.port}
}
