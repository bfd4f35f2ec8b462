package mail

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/ports"
)

// Trust makes m believe the certificates of roots instead of the system's.
func Trust(t *testing.T, m ports.Mailer, roots *x509.CertPool) {
	t.Helper()
	internals(t, m).roots = roots
}

// ShortenTimeouts gives each mail of m no longer than d.
func ShortenTimeouts(t *testing.T, m ports.Mailer, d time.Duration) {
	t.Helper()
	internals(t, m).longest = d
}

func internals(t *testing.T, m ports.Mailer) *smtp {
	t.Helper()
	s, ok := m.(*smtp)
	if !ok {
		t.Fatalf("%T is no mailer to an SMTP server", m)
	}
	return s
}
