package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Mailer is the suite for ports.Mailer. open returns a working mailer, and a function that returns the number of mails
// that were sent.
func Mailer(t *testing.T, open func(*testing.T) (m ports.Mailer, takes func() int)) {
	const link = "https://app.example.com/invitations/c4n4ry"
	good := ports.Mail{To: "ada@example.com", Subject: "You are invited", Text: "Follow " + link + "\n"}
	refuse := func(t *testing.T, ctx context.Context, mail ports.Mail, want error) {
		t.Helper()
		m, takes := open(t)
		err := m.Send(ctx, mail)
		if err == nil || (want != nil && !errors.Is(err, want)) {
			t.Fatalf("Send = %v, want an error (%v)", err, want)
		}
		if strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("the error tells the text: %v", err)
		}
		assert.Equal(t, "mails were taken", takes(), 0)
	}

	for name, change := range map[string]func(*ports.Mail){
		"a mail is taken": func(*ports.Mail) {},
		"a subject may be in any language": func(m *ports.Mail) {
			m.Subject = "Einladung für Ada 🎉 " +
				strings.Repeat("é", 200)
		},
		"a subject may look like a header":            func(m *ports.Mail) { m.Subject = "Bcc: eve@example.com" },
		"a text may hold what ends a mail":            func(m *ports.Mail) { m.Text = "one\n.\n..\nQUIT\n" },
		"a text need not be there":                    func(m *ports.Mail) { m.Text = "" },
		"an address may hold all that addresses hold": func(m *ports.Mail) { m.To = "o'hara+x{y}=z@mail.example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			m, takes := open(t)
			mail := good
			change(&mail)
			require.NoError(t, m.Send(t.Context(), mail))
			assert.Equal(t, "mails were taken", takes(), 1)
		})
	}

	for name, change := range map[string]func(*ports.Mail){
		"nobody is no address":                    func(m *ports.Mail) { m.To = "" },
		"a word is no address":                    func(m *ports.Mail) { m.To = "ada" },
		"an address has no name":                  func(m *ports.Mail) { m.To = "Ada <ada@example.com>" },
		"an address has no comment":               func(m *ports.Mail) { m.To = "ada@example.com (Ada)" },
		"there is one address":                    func(m *ports.Mail) { m.To = "ada@example.com, eve@example.com" },
		"an address adds no header":               func(m *ports.Mail) { m.To = "ada@example.com\r\nBcc: eve@example.com" },
		"an address adds no command":              func(m *ports.Mail) { m.To = "\"a\r\nRCPT TO:<eve@example.com>\"@example.com" },
		"an address adds no parameter":            func(m *ports.Mail) { m.To = "ada@example.com> NOTIFY=SUCCESS" },
		"an address has no line break at its end": func(m *ports.Mail) { m.To = "ada@example.com\n" },
		"an address holds no control character":   func(m *ports.Mail) { m.To = "ada@example.com\u0085" },
		"a subject adds no header":                func(m *ports.Mail) { m.Subject = "Hello\r\nBcc: eve@example.com" },
		"a line feed alone adds none":             func(m *ports.Mail) { m.Subject = "Hello\nBcc: eve@example.com" },
		"nor does a carriage return":              func(m *ports.Mail) { m.Subject = "Hello\rBcc: eve@example.com" },
		"a subject holds no NUL":                  func(m *ports.Mail) { m.Subject = "Hello\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			mail := good
			change(&mail)
			refuse(t, t.Context(), mail, nil)
		})
	}

	t.Run("no mail is sent for a cancelled context", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		leave()
		refuse(t, ctx, good, context.Canceled)
	})

	t.Run("no mail is sent after the deadline", func(t *testing.T) {
		ctx, end := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer end()
		refuse(t, ctx, good, context.DeadlineExceeded)
	})

	t.Run("mails can be sent concurrently", func(t *testing.T) {
		m, takes := open(t)
		var senders sync.WaitGroup
		for i := range 16 {
			senders.Go(func() {
				mail := good
				mail.To = fmt.Sprintf("user%d@example.com", i)
				assert.NoError(t, m.Send(t.Context(), mail))
			})
		}
		senders.Wait()
		assert.Equal(t, "mails were taken", takes(), 16)
	})
}
