package snowflake

import (
	"crypto/x509"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// NewAt returns a warehouse that uses a test's server in place of an account's.
func NewAt(guard warehouse.Guard, roots *x509.CertPool,
	textAt func(account string) (host string, port uint16)) *warehouse.Sessions {
	return warehouse.NewSessions(guard, place{roots: roots, server: func(account string) address {
		host, port := textAt(account)
		return address{host, port}
	}}.open)
}

// ServerOf returns where an account is outside of tests.
func ServerOf(account string) (host string, port uint16) {
	a := serverOf(account)
	return a.host, a.port
}

// Sign returns the token of a credential.
func Sign(c connection.Credential, now time.Time) (string, error) { return sign(c, now) }
