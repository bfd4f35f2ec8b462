package mail_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

const (
	password = "p4ssw0rd-c4n4ry"
	link     = "https://app.example.com/invitations/c4n4ry"
)

var invitation = ports.Mail{To: "ada@example.com", Subject: "Einladung für Ada",
	Text: "Grüße!\n\n.\n" + link + strings.Repeat("x", 100) + "\n"}

func config(server *fixture.SMTP, security string) mail.SMTP {
	return mail.SMTP{Addr: server.Addr(), User: "atrium", Password: secret.New(password),
		From: `"Ätrium, Inc" <atrium@example.org>`, TLS: security}
}

func mailer(t *testing.T, server *fixture.SMTP, c mail.SMTP) ports.Mailer {
	t.Helper()
	m, err := mail.New(mail.Config{SMTP: c}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	mail.Trust(t, m, server.Roots())
	return m
}

func TestSMTP(t *testing.T) {
	for _, security := range []string{"", "starttls", "implicit", "none"} {
		t.Run("a mail arrives to the letter with security "+security, func(t *testing.T) {
			offeredText := security
			if offeredText == "" {
				offeredText = "starttls"
			}
			server := fixture.NewSMTP(t, offeredText)
			require.NoError(t, mailer(t, server, config(server, security)).Send(t.Context(), invitation))
			letters := server.Letters()
			require.Equal(t, "letters", len(letters), 1)
			got := letters[0]
			if got.From != "atrium@example.org" || got.To != invitation.To || got.Subject != invitation.Subject ||
				got.Text != invitation.Text {
				t.Errorf("got %+v", got)
			}
			if got.User != "atrium" || got.Password != password || got.Encrypted != (security != "none") {
				t.Errorf("user %q, password as configured: %v, encrypted: %v", got.User, got.Password == password,
					got.Encrypted)
			}
		})
	}

	t.Run("the headers name the configured sender, one recipient and nothing of the machine", func(t *testing.T) {
		server := fixture.NewSMTP(t, "starttls")
		require.NoError(t, mailer(t, server, config(server, "")).Send(t.Context(), invitation))
		h := server.Letters()[0].Header
		from, err := h.AddressList("From")
		if err != nil || len(from) != 1 || from[0].Name != "Ätrium, Inc" || from[0].Address != "atrium@example.org" {
			t.Errorf("From = %v, %v", from, err)
		}
		if to, err := h.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != invitation.To {
			t.Errorf("To = %v, %v", to, err)
		}
		if date, err := h.Date(); err != nil || time.Since(date).Abs() > time.Minute {
			t.Errorf("Date = %v, %v", date, err)
		}
		if id := h.Get("Message-Id"); !strings.HasSuffix(id, "@example.org>") {
			t.Errorf("Message-ID = %s", id)
		}
		if h.Get("Auto-Submitted") != "auto-generated" || h.Get("User-Agent") != "" || h.Get("X-Mailer") != "" {
			t.Errorf("headers = %v", h)
		}
	})

	t.Run("a server without a user is not shown a password", func(t *testing.T) {
		server := fixture.NewSMTP(t, "none")
		c := config(server, "none")
		c.User, c.Password = "", secret.String{}
		require.NoError(t, mailer(t, server, c).Send(t.Context(), invitation))
		if got := server.Letters()[0]; got.User != "" || got.Password != "" {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("a server that supports only AUTH LOGIN works", func(t *testing.T) {
		server := fixture.NewSMTP(t, "implicit")
		server.Answer("EHLO", "250-fixture\r\n250 AUTH LOGIN XOAUTH2")
		require.NoError(t, mailer(t, server, config(server, "implicit")).Send(t.Context(), invitation))
		if got := server.Letters()[0]; got.User != "atrium" || got.Password != password {
			t.Errorf("user %q, password as configured: %v", got.User, got.Password == password)
		}
	})

	t.Run("a mail that was taken is no error, however the server says goodbye", func(t *testing.T) {
		for _, goodbye := range []string{fixture.HangUp, "421 leaving"} {
			server := fixture.NewSMTP(t, "starttls")
			server.Answer("QUIT", goodbye)
			server.Answer("RSET", goodbye)
			if err := mailer(t, server, config(server, "")).Send(t.Context(), invitation); err != nil ||
				len(server.Letters()) != 1 {
				t.Errorf("%s: %v, %d letters", goodbye, err, len(server.Letters()))
			}
		}
	})
}

func TestSMTPFails(t *testing.T) {
	echo := " you said " + password + " and " + link
	for name, tt := range map[string]struct{ verb, reply, want string }{
		"when the server is busy":               {"CONNECT", "421" + echo, "before any mail the server answered 421"},
		"when the server hangs up at once":      {"CONNECT", fixture.HangUp, "hung up"},
		"when the server speaks something else": {"CONNECT", "HTTP/1.1 400" + echo, "speaks no SMTP"},
		"when STARTTLS is not offered": {"EHLO", "250-fixture\r\n250 AUTH PLAIN LOGIN",
			"does not do what mail.smtp.tls"},
		"when STARTTLS is refused": {"STARTTLS", "454" + echo,
			"before any mail the server answered 454"},
		"when the password is wrong":              {"AUTH", "535" + echo, "before any mail the server answered 535"},
		"when the server hangs up at the sign-in": {"AUTH", fixture.HangUp, "hung up"},
		"when the sender is refused":              {"MAIL", "550" + echo, "MAIL FROM command: the server answered 550"},
		"when the recipient is refused": {"RCPT", "550 5.1.1" + echo,
			"RCPT TO command: the server answered 550"},
		"when the text is not wanted":             {"DATA", "451" + echo, "DATA command: the server answered 451"},
		"when the text is refused":                {".", "554" + echo, "the server answered 554"},
		"when the server hangs up after the text": {".", fixture.HangUp, "the connection broke"},
		"when the server never stops talking": {"EHLO", "250-" + strings.Repeat("c4n4ry", 100_000) +
			"\r\n250 STARTTLS", "more than any SMTP server"},
	} {
		t.Run(name, func(t *testing.T) {
			server := fixture.NewSMTP(t, "starttls")
			server.Answer(tt.verb, tt.reply)
			err := mailer(t, server, config(server, "starttls")).Send(t.Context(), invitation)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), server.Addr()) {
				t.Fatalf("error = %v\nwant … %s … with the server's address", err, tt.want)
			}
			silent(t, err)
			assert.Equal(t, "letters", len(server.Letters()), 0)
		})
	}

	t.Run("when the certificate is not trusted", func(t *testing.T) {
		for _, security := range []string{"starttls", "implicit"} {
			server := fixture.NewSMTP(t, security)
			m := mailer(t, server, config(server, security))
			mail.Trust(t, m, x509.NewCertPool())
			err := m.Send(t.Context(), invitation)
			if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
				t.Errorf("%s: error = %v", security, err)
			}
			silent(t, err)
		}
	})

	t.Run("when the server's TLS begins otherwise than configured", func(t *testing.T) {
		server := fixture.NewSMTP(t, "none")
		err := mailer(t, server, config(server, "implicit")).Send(t.Context(), invitation)
		if err == nil || !strings.Contains(err.Error(), "mail.smtp.tls") {
			t.Errorf("error = %v", err)
		}
	})

	t.Run("when no server listens", func(t *testing.T) {
		server := fixture.NewSMTP(t, "none")
		c := config(server, "none")
		c.Addr = fmt.Sprintf("127.0.0.1:%d", fixture.ClosedPort(t))
		if err := mailer(t, server, c).Send(t.Context(), invitation); err == nil ||
			!strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestTheTimeOfAMail(t *testing.T) {
	const short = 300 * time.Millisecond
	late := func(t *testing.T, start time.Time) {
		t.Helper()
		proof.Within(t, "the mail", time.Since(start), short+2*time.Second)
	}

	for _, verb := range []string{"CONNECT", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "."} {
		t.Run("it ends with the context when the server falls silent at "+verb, func(t *testing.T) {
			server := fixture.NewSMTP(t, "starttls")
			server.Answer(verb, fixture.Hang)
			ctx, end := context.WithTimeout(t.Context(), short)
			defer end()
			start := time.Now()
			err := mailer(t, server, config(server, "")).Send(ctx, invitation)
			late(t, start)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			silent(t, err)
		})
	}

	t.Run("it ends when the caller leaves", func(t *testing.T) {
		server := fixture.NewSMTP(t, "starttls")
		server.Answer("RCPT", fixture.Hang)
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(short, leave)
		start := time.Now()
		err := mailer(t, server, config(server, "")).Send(ctx, invitation)
		late(t, start)
		assert.ErrorIs(t, err, context.Canceled)
	})

	t.Run("it is bounded without any deadline of the caller", func(t *testing.T) {
		server := fixture.NewSMTP(t, "starttls")
		server.Answer("EHLO", fixture.Hang)
		m := mailer(t, server, config(server, ""))
		mail.ShortenTimeouts(t, m, short)
		start := time.Now()
		err := m.Send(context.WithoutCancel(t.Context()), invitation)
		late(t, start)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})

	t.Run("it does not begin again with each answer of a slow server", func(t *testing.T) {
		server := fixture.NewSMTP(t, "starttls")
		server.Delay(short / 3)
		ctx, end := context.WithTimeout(t.Context(), short)
		defer end()
		assert.ErrorIs(t, mailer(t, server, config(server, "")).Send(ctx, invitation), context.DeadlineExceeded)
	})

	t.Run("a slow server may use all of it", func(t *testing.T) {
		server := fixture.NewSMTP(t, "starttls")
		server.Delay(20 * time.Millisecond)
		if err := mailer(t, server, config(server, "")).Send(t.Context(), invitation); err != nil ||
			len(server.Letters()) != 1 {
			t.Errorf("%v, %d letters", err, len(server.Letters()))
		}
	})

	t.Run("no connection stays behind", func(t *testing.T) {
		for _, verb := range []string{"", "CONNECT", "EHLO", "AUTH", "RCPT", "."} {
			server := fixture.NewSMTP(t, "starttls")
			if verb != "" {
				server.Answer(verb, "554 no")
			}
			_ = mailer(t, server, config(server, "")).Send(t.Context(), invitation)
			proof.Eventually(t, "no connection is open after "+verb, func() bool { return server.Open() == 0 })
		}
	})
}

// silent fails the test if err quotes the text or the password, or the address of a person.
func silent(t *testing.T, err error) {
	t.Helper()
	if err != nil && (strings.Contains(err.Error(), "c4n4ry") || strings.Contains(err.Error(), invitation.To)) {
		t.Errorf("the error contains a secret: %v", err)
	}
}
