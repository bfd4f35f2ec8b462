// Package replier sends signed requests to the endpoints of organisations: the messages of visitors, to which they
// reply, and webhooks.
package replier

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
)

// Network opens guarded connections for one request. Refusals by its rules are connection.NetworkNotAllowed.
type Network interface {
	// Lookup returns a host's addresses that may be dialled.
	Lookup(ctx context.Context, host string, port uint16) ([]netip.AddrPort, error)
	// Dial connects to the first of them that accepts.
	Dial(ctx context.Context, addresses []netip.AddrPort) (net.Conn, error)
}

// Guard creates the network of one request to a target. It stops working at end, and reads at most bytes.
type Guard func(target ports.Target, end time.Time, bytes int64) Network

// Limits bound one answer.
type Limits struct {
	Silence  time.Duration // without a byte, comments included
	Progress time.Duration // without text, reasoning or a call of a tool: a server can keep a stream open for ever
	Total    time.Duration // for the whole answer
	Close    time.Duration // without a byte after the server has said why the answer ended
	Bytes    int64         // received: each answer word has an overhead of some 300 bytes
}

// NewLimits returns the limits of answers that take at most total, and at most progress without progress.
func NewLimits(total, progress time.Duration) Limits {
	return Limits{
		Silence: 30 * time.Second, Progress: progress, Total: total, Close: 2 * time.Second, Bytes: 32 << 20,
	}
}

// client returns an HTTP client for one request, which keeps no connection.
func (g Guard) client(target ports.Target, end time.Time, bytes int64) (*http.Client, error) {
	c, transport, err := g.newClient(target, end, bytes)
	if err == nil {
		transport.DisableKeepAlives = true
	}
	return c, err
}

// newClient returns an HTTP client and its transport. It follows no redirect and uses no proxy. Without TLS it reaches
// only networks that the operator lists.
func (g Guard) newClient(target ports.Target, end time.Time, bytes int64) (*http.Client, *http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca := target.Credential.Text(connection.FieldTLSCA); ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, nil, errors.New("authorities that the credential should have refused")
		}
	}
	n := g(target, end, bytes)
	dial := func(plain bool) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, _, address string) (net.Conn, error) {
			host, text, err := net.SplitHostPort(address)
			if err != nil {
				return nil, connection.NetworkNotAllowed
			}
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil {
				return nil, connection.NetworkNotAllowed
			}
			found, err := n.Lookup(ctx, host, uint16(port))
			if err != nil {
				return nil, err
			}
			if plain {
				found = slices.DeleteFunc(found, func(a netip.AddrPort) bool {
					names := func(p netip.Prefix) bool { return p.Contains(a.Addr()) }
					return !slices.ContainsFunc(target.Egress.Allow, names)
				})
			}
			return n.Dial(ctx, found)
		}
	}
	dialTLS := dial(false)
	transport := &http.Transport{
		DialContext: dial(true),
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialTLS(ctx, network, address)
			if err != nil {
				return nil, err
			}
			clone := config.Clone()
			clone.ServerName, _, _ = net.SplitHostPort(address)
			t := tls.Client(c, clone)
			if err := t.HandshakeContext(ctx); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return t, nil
		},
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport, nil
}

// codeOf returns a failed request's code. The error's own text can contain what a server sent.
func codeOf(err error) connection.Code {
	if code, ok := errors.AsType[connection.Code](err); ok {
		return code
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var lookup *net.DNSError
	var wire *url.Error
	switch {
	case errors.As(err, &lookup):
		return connection.DNSFailed
	case errors.As(err, &name):
		return connection.TLSNameMismatch
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return connection.TLSExpired
	case errors.As(err, &unknown), errors.As(err, &invalid):
		return connection.TLSUntrusted
	case errors.Is(err, syscall.ECONNREFUSED):
		return connection.PortClosed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &wire) && wire.Timeout():
		return connection.ConnectTimeout
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // crypto/tls has no type for alerts
		return connection.TLSUnsupported
	}
	return connection.HostUnreachable
}

// codeOfStatus returns a refusal's code; "" for success.
func codeOfStatus(status int) connection.Code {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return connection.AuthFailed
	case status == http.StatusTooManyRequests:
		return connection.QuotaExceeded
	case status >= 500:
		return connection.HostUnreachable
	default:
		return connection.NotThisDatabase
	}
}

// stepOf returns the probe step that fails with a code.
func stepOf(code connection.Code) connection.Step {
	switch code {
	case connection.DNSFailed:
		return connection.Resolve
	case connection.NetworkNotAllowed:
		return connection.Policy
	case connection.TLSUnsupported, connection.TLSUntrusted, connection.TLSExpired, connection.TLSNameMismatch:
		return connection.TLS
	case connection.AuthFailed, connection.QuotaExceeded:
		return connection.Authenticate
	case connection.NotThisDatabase, connection.ResponseTooLarge:
		return connection.Read
	default:
		return connection.Connect
	}
}

// failed returns f with the code of its cause, which is only for the log.
func failed(f embed.ReplyFailure, code connection.Code) error { return fmt.Errorf("%w: %w", f, code) }
