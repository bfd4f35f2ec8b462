package bigquery

import (
	"crypto/x509"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// NewAt returns a Warehouse that takes a test's server for Google's. There is no other way to make one.
func NewAt(guard warehouse.Guard, roots *x509.CertPool, at func(connection.Credential) (host string, port uint16)) *Warehouse {
	return &Warehouse{guard: guard, servers: func(c connection.Credential) servers {
		host, port := at(c)
		return servers{api: address{host, port}, token: address{host, port}, roots: roots}
	}}
}

// Servers returns where a call goes outside of tests.
func Servers(c connection.Credential) (api, token string, ports []uint16) {
	s := New(nil).servers(c)
	return s.api.host, s.token.host, []uint16{s.api.port, s.token.port}
}
