package mail_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/adapters/mail"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestContract(t *testing.T) {
	t.Run("without a server", func(t *testing.T) {
		contract.Mailer(t, func(t *testing.T) (ports.Mailer, func() int) {
			m, out := logged(t)
			return m, func() int { return strings.Count(out.String(), "a mail was not sent") }
		})
	})
	for _, security := range []string{"starttls", "implicit", "none"} {
		t.Run("through a server with "+security, func(t *testing.T) {
			contract.Mailer(t, func(t *testing.T) (ports.Mailer, func() int) {
				server := fixture.NewSMTP(t, security)
				return mailer(t, server, config(server, security)), func() int { return len(server.Letters()) }
			})
		})
	}
}

// logged returns a mailer without a server, and what it logs, a JSON object a line.
func logged(t *testing.T) (ports.Mailer, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	m, err := mail.New(mail.Config{}, slog.New(slog.NewJSONHandler(&out, nil)))
	require.NoError(t, err)
	return m, &out
}

func TestWithoutAServer(t *testing.T) {
	for address, want := range map[string]string{"ada@example.com": "a***@example.com",
		"a@example.com": "a***@example.com", "élan@example.com": "é***@example.com"} {
		t.Run(address+" is logged as "+want, func(t *testing.T) {
			m, out := logged(t)
			require.NoError(t, m.Send(t.Context(), ports.Mail{To: address, Subject: "You are invited",
				Text: "c4n4ry"}))
			var line map[string]any
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if line["to"] != want || line["subject"] != "You are invited" {
				t.Errorf("logged %s", out)
			}
		})
	}

	t.Run("neither the text nor the whole address is logged", func(t *testing.T) {
		m, out := logged(t)
		require.NoError(t, m.Send(t.Context(), ports.Mail{To: "ada.lovelace@example.com", Subject: "Hello",
			Text: "c4n4ry"}))
		if strings.Contains(out.String(), "c4n4ry") || strings.Contains(out.String(), "lovelace") {
			t.Errorf("logged %s", out)
		}
	})
}

func TestConfig(t *testing.T) {
	good := mail.SMTP{Addr: "smtp.example.com:587", User: "atrium", Password: secret.New("c4n4ry"),
		From: "Atrium <atrium@example.com>"}
	for name, tt := range map[string]struct {
		change func(*mail.SMTP)
		want   string
	}{
		"an address is enough beside a sender": {func(c *mail.SMTP) { c.User, c.Password = "", secret.String{} }, ""},
		"the sender may be only an address":    {func(c *mail.SMTP) { c.From = "atrium@example.com" }, ""},
		"starttls can be said":                 {func(c *mail.SMTP) { c.TLS = "starttls" }, ""},
		"implicit TLS is a choice":             {func(c *mail.SMTP) { c.TLS = "implicit" }, ""},
		"loopback needs no TLS":                {func(c *mail.SMTP) { c.TLS, c.Addr = "none", "127.0.0.1:25" }, ""},
		"nor does it on IPv6":                  {func(c *mail.SMTP) { c.TLS, c.Addr = "none", "[::1]:25" }, ""},
		"nor by its name":                      {func(c *mail.SMTP) { c.TLS, c.Addr = "none", "localhost:25" }, ""},
		"everywhere else needs TLS": {func(c *mail.SMTP) { c.TLS = "none" },
			"mail.smtp.tls: must be starttls or implicit"},
		"a name that only begins like loopback": {func(c *mail.SMTP) { c.TLS, c.Addr = "none", "localhost.evil.test:25" }, "mail.smtp.tls: must be starttls or implicit"},
		"an unknown kind of TLS":                {func(c *mail.SMTP) { c.TLS = "opportunistic" }, "mail.smtp.tls: must be starttls, implicit or none"},
		"a server without a port":               {func(c *mail.SMTP) { c.Addr = "smtp.example.com" }, "mail.smtp.addr: must be host:port"},
		"a server without a host": {func(c *mail.SMTP) { c.Addr = ":587" },
			"mail.smtp.addr: must be host:port"},
		"port 0": {func(c *mail.SMTP) { c.Addr = "smtp.example.com:0" },
			"mail.smtp.addr: must be host:port"},
		"settings without a server": {func(c *mail.SMTP) { c.Addr = "" }, "mail.smtp.addr: must be set"},
		"no sender": {func(c *mail.SMTP) { c.From = "" },
			"mail.smtp.from: must be an address"},
		"a sender that is a name": {func(c *mail.SMTP) { c.From = "Atrium" }, "mail.smtp.from: must be an address"},
		"a sender that adds a header": {func(c *mail.SMTP) { c.From = "Atrium\r\n <atrium@example.com>" },
			"mail.smtp.from: must be an address"},
		"a user without a password": {func(c *mail.SMTP) { c.Password = secret.String{} },
			"mail.smtp.password: must be set"},
		"a password without a user": {func(c *mail.SMTP) { c.User = "" }, "mail.smtp.user: must be set"},
	} {
		if tt.want != "" {
			name += " is refused"
		}
		t.Run(name, func(t *testing.T) {
			c := good
			tt.change(&c)
			m, err := mail.New(mail.Config{SMTP: c}, slog.New(slog.DiscardHandler))
			if tt.want == "" {
				if err != nil || m == nil {
					t.Fatalf("New = %v, %v", m, err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error = %v\nwant %s …, alone", err, tt.want)
			}
			if strings.Contains(err.Error(), "c4n4ry") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}

	t.Run("everything that is wrong is told at once", func(t *testing.T) {
		_, err := mail.New(mail.Config{SMTP: mail.SMTP{Addr: "x", User: "u"}}, slog.New(slog.DiscardHandler))
		if err == nil || strings.Count(err.Error(), "\n") != 2 {
			t.Errorf("error = %v, want three lines", err)
		}
	})
}
