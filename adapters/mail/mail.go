// Package mail sends mail through an SMTP server, or logs it without one.
package mail

import (
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"strings"
	"unicode"

	"github.com/atrium-hq/atrium/ports"
)

// New returns the mailer that Config describes: one for its SMTP server, or one that writes a line to log
// for each mail. It opens no connection. The error names every invalid key.
func New(c Config, log *slog.Logger) (ports.Mailer, error) {
	var errs []error
	c.Check(func(key, reason string) { errs = append(errs, fmt.Errorf("mail.%s: %s", key, reason)) })
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if c.SMTP.Addr == "" {
		return noServer{log}, nil
	}
	return newSMTP(c.SMTP)
}

// check refuses texts that could add a header or a recipient. The errors leave out the address, since it must
// not appear in a log.
func check(m ports.Mail) error {
	recipient, err := mail.ParseAddress(m.To)
	if err != nil || recipient.Address != m.To || strings.ContainsFunc(m.To, unicode.IsControl) {
		return errors.New("mail: To must be one address without a name")
	}
	if strings.ContainsFunc(m.Subject, unicode.IsControl) {
		return errors.New("mail: Subject must not hold control characters")
	}
	return nil
}
