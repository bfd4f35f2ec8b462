package mail

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/atrium-hq/atrium/ports"
)

const (
	longest = 10 * time.Second // that one mail may take, connecting included
	// bytes that a server may send for one mail; an honest one sends about 10 KiB, mostly certificates
	maxAnswers = 256 << 10
)

var errTooMuch = errors.New("it sent more than any SMTP server needs to")

// smtp opens a connection for each mail: they are too few to keep one.
type smtp struct {
	SMTP
	host    string
	from    *mail.Address
	roots   *x509.CertPool // nil: the system's
	longest time.Duration
}

func newSMTP(c SMTP) (*smtp, error) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil, fmt.Errorf("mail.smtp.addr: %w", err)
	}
	from, err := mail.ParseAddress(c.From)
	if err != nil {
		return nil, fmt.Errorf("mail.smtp.from: %w", err)
	}
	return &smtp{SMTP: c, host: host, from: from, longest: longest}, nil
}

// Delivers implements ports.Mailer.
func (s *smtp) Delivers() bool { return true }

func (s *smtp) Send(ctx context.Context, m ports.Mail) error {
	if err := check(m); err != nil {
		return err
	}
	ctx, end := context.WithTimeout(ctx, s.longest)
	defer end() // also closes the connection, which go-mail leaves open after an early failure
	msg, err := s.message(m)
	if err != nil {
		return err
	}
	client, err := s.client(ctx)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err == nil {
		err = client.SendWithSMTPClient(session, msg)
	}
	if err != nil {
		return fmt.Errorf("mail: %s: %w", s.Addr, reason(ctx, err))
	}
	_ = client.CloseWithSMTPClient(session) // the server has accepted the mail; how the session ends does not matter
	return nil
}

// message returns the mail as go-mail sends it. Its errors do not quote the recipient's address, which logs must not
// have.
func (s *smtp) message(m ports.Mail) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil { // its error quotes the address
		return nil, errors.New("mail: To cannot be used")
	}
	msg.Subject(m.Subject)
	domain := s.from.Address[strings.LastIndex(s.from.Address, "@"):]
	// go-mail's default would reveal the name of this machine
	msg.SetMessageIDWithValue(rand.Text() + domain)
	// prevents automatic replies (RFC 3834)
	msg.SetGenHeader(gomail.Header("Auto-Submitted"), "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg, nil
}

// client is for one mail: go-mail modifies a client while it chooses the authentication method.
func (s *smtp) client(ctx context.Context) (*gomail.Client, error) {
	policy := gomail.TLSMandatory
	if s.TLS == "implicit" || s.TLS == "none" { // dial handles implicit
		policy = gomail.NoTLS
	}
	options := []gomail.Option{
		gomail.WithDialContextFunc(s.dial(ctx)), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(s.tls()),
		gomail.WithoutNoop(), gomail.WithoutRset(), // a failure of one would turn an accepted mail into an error
	}
	if s.User != "" {
		options = append(options, gomail.WithUsername(s.User), gomail.WithPassword(s.Password.Reveal()),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin))
	}
	client, err := gomail.NewClient(s.host, options...)
	if err != nil {
		return nil, fmt.Errorf("mail: %s: prepare: %w", s.Addr, err)
	}
	return client, nil
}

func (s *smtp) tls() *tls.Config {
	return &tls.Config{ServerName: s.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
}

// dial returns a dialer whose connections end with ctx: go-mail's own deadline starts again
// between two commands, and the context that it passes ends before the mail is sent.
func (s *smtp) dial(ctx context.Context) gomail.DialContextFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = raw.Close() })
		conn := &bounded{Conn: raw, left: maxAnswers}
		if s.TLS != "implicit" {
			return conn, nil
		}
		secure := tls.Client(conn, s.tls())
		return secure, secure.HandshakeContext(ctx)
	}
}

// bounded ends a connection on which too many bytes are received: lines of SMTP replies are read whole.
type bounded struct {
	net.Conn
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// reason returns why a mail was not accepted. It never quotes the server, whose reply may contain the text or the
// password.
func reason(ctx context.Context, err error) error {
	var (
		sending     *gomail.SendError
		answer      *textproto.Error
		network     *net.OpError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &sending) && sending.ErrorCode() != 0:
		return fmt.Errorf("%s: the server answered %d", sending.Reason, sending.ErrorCode())
	case errors.As(err, &sending):
		return fmt.Errorf("%s: the connection broke", sending.Reason)
	case errors.As(err, &answer):
		return fmt.Errorf("before any mail the server answered %d", answer.Code)
	case errors.Is(err, errTooMuch):
		return errTooMuch
	case errors.As(err, &network):
		return network
	case errors.As(err, &certificate):
		return certificate
	case errors.Is(err, io.EOF):
		return errors.New("the server hung up before any mail")
	default:
		return errors.New("the server does not do what mail.smtp.tls and mail.smtp.user ask for, or speaks no SMTP")
	}
}
