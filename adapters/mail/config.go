package mail

import (
	"net"
	"net/mail"
	"net/netip"
	"strconv"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Config configures the mail server and the limits. Without a server mails are only logged.
type Config struct {
	SMTP   SMTP
	Limits account.MailLimits
}

// SMTP is the server that accepts mail for delivery.
type SMTP struct {
	Addr     string        // host:port; empty: none
	User     string        // empty: the server requires no authentication
	Password secret.String // of User
	From     string        // the sender of every mail: name <address>, or only the address

	// TLS is starttls (the default, even when empty), which sends nothing to a server that does
	// not offer it; implicit, as on port 465 (RFC 8314); or none, only for a relay on loopback.
	TLS string
}

// maxMails is the largest limit: the times of that many mails are kept in one row.
const maxMails = 10_000

// Check calls wrong for every invalid setting, with its key, such as smtp.addr, and the reason. It opens no
// connection.
func (c Config) Check(report func(key, reason string)) {
	s := c.SMTP
	for key, n := range map[string]int{
		"workspace_per_day": c.Limits.WorkspacePerDay, "user_per_hour": c.Limits.UserPerHour,
		"address_per_day": c.Limits.AddressPerDay,
	} {
		if n < 0 || n > maxMails {
			report("limits."+key, "must be 0 to 10000")
		}
	}
	switch s.TLS {
	case "", "starttls", "implicit", "none":
	default:
		report("smtp.tls", "must be starttls, implicit or none")
	}
	if s.Addr == "" {
		if s.User != "" || s.From != "" || !s.Password.IsZero() {
			report("smtp.addr", "must be set where smtp.from, smtp.user or smtp.password is")
		}
		return
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if n, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || n == 0 || host == "" {
		report("smtp.addr", "must be host:port, such as smtp.example.com:587")
	} else if s.TLS == "none" && !isLoopback(host) {
		report("smtp.tls", "must be starttls or implicit: without TLS mail can only go to loopback")
	}
	if _, err := mail.ParseAddress(s.From); err != nil {
		report("smtp.from", "must be an address, such as Atrium <atrium@example.com>")
	}
	if s.User != "" && s.Password.IsZero() {
		report("smtp.password", "must be set where smtp.user is")
	}
	if s.User == "" && !s.Password.IsZero() {
		report("smtp.user", "must be set where smtp.password is")
	}
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && a.IsLoopback())
}
