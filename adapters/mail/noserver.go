package mail

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/ports"
)

// noServer is used if no SMTP server is configured. Its log lines show an operator which mails would have been
// sent, without their texts.
type noServer struct{ log *slog.Logger }

func (n noServer) Send(ctx context.Context, m ports.Mail) error {
	if err := check(m); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mail: %w", err)
	}
	n.log.InfoContext(ctx, "a mail was not sent: no SMTP server is configured", "to", masked(m.To),
		"subject", m.Subject)
	return nil
}

// Delivers implements ports.Mailer.
func (noServer) Delivers() bool { return false }

// masked shortens an address to the form a***@example.com. An operator can recognise a known address in the log,
// but cannot learn a new one.
func masked(address string) string {
	_, first := utf8.DecodeRuneInString(address)
	return address[:first] + "***" + address[strings.LastIndex(address, "@"):]
}
