package warehouse

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// ambiguous lists the failures before sign-in that a wrong port can cause.
var ambiguous = []connection.Code{
	connection.ConnectTimeout, connection.PortClosed, connection.HostUnreachable, connection.TLSUnsupported,
	connection.NotThisDatabase, connection.TooManyConnections, connection.UnsupportedVersion,
	connection.ResponseTooLarge, connection.OutOfMemory, connection.Internal,
}

// recognise returns err, the failure of step, or connection.NotThisDatabase with the service that really listens at
// the address. For this it opens up to four more connections, for half of the target's connect time in total, and
// sends nothing secret.
func recognise(ctx context.Context, n Network, target ports.Target, step connection.Step, err error) error {
	code, ok := errors.AsType[connection.Code](err)
	if !ok || (step != connection.TLS && step != connection.Authenticate) || !slices.Contains(ambiguous, code) ||
		target.Credential.Text(connection.FieldHost) == "" || target.Credential.Port() == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, target.Limits.Connect/2)
	defer cancel()
	found := service(ctx, n, target)
	if step == connection.TLS && code == connection.ConnectTimeout && found == connection.ServiceHTTP {
		// By chance a handshake looks like a request's start: ClickHouse then waits for the rest.
		code = connection.TLSUnsupported
	}
	return target.Credential.Kind().Recognised(code, found)
}

// service returns the service that listens at a target's address, "" if it is not recognised.
func service(ctx context.Context, n Network, target ports.Target) connection.Service {
	// All known services answer this at once; PostgreSQL, SQL Server and TLS close the connection.
	first, isClosed := knock(ctx, n, target, "PING\r\n\r\n")
	if s := serviceOf(first); s != "" || !isClosed {
		return s
	}
	// PostgreSQL answers a request for TLS with one letter, and then waits.
	const sslRequest = 80877103
	request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, sslRequest)
	if a, _ := knock(ctx, n, target, string(request)); len(a) == 1 && (a[0] == 'S' || a[0] == 'N') {
		return connection.ServicePostgres
	}
	// SQL Server answers a PRELOGIN packet, here one with only a version and no encryption, by a response (MS-TDS,
	// section 2.2.6.5).
	const prelogin = "\x12\x01\x00\x1a\x00\x00\x01\x00" + "\x00\x00\x0b\x00\x06" + "\x01\x00\x11\x00\x01" + "\xff" +
		"\x00\x00\x00\x00\x00\x00" + "\x02"
	if a, _ := knock(ctx, n, target, prelogin); len(a) > 8 && a[0] == 4 && a[1] == 1 {
		return connection.ServiceSQLServer
	}
	if speaksTLS(ctx, n, target) {
		return connection.ServiceTLS
	}
	return ""
}

// knock opens a connection, sends a text and returns the first bytes of the server, at most 512, and whether the
// server closed the connection instead.
func knock(ctx context.Context, n Network, target ports.Target, text string) (first []byte, isClosed bool) {
	c, err := Open(ctx, n, target, nil)
	if err != nil {
		return nil, false
	}
	defer func() { _ = c.Close() }()
	defer Limit(ctx, c)()
	_, _ = io.WriteString(c, text) // a server may have spoken before it closed
	first = make([]byte, 512)
	size, _ := c.Read(first)
	return first[:size], size == 0 && c.Ended()
}

// speaksTLS reports whether the server completes a handshake of TLS, whatever its certificate.
func speaksTLS(ctx context.Context, n Network, target ports.Target) bool {
	c, err := Open(ctx, n, target, nil)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	name := target.Credential.Text(connection.FieldHost)
	if net.ParseIP(name) != nil {
		name = ""
	}
	_, err = Secure(ctx, c, Unverified(name))
	return err == nil
}

// greetings are the first bytes of protocols, in answer to PING and an empty line.
var greetings = []struct {
	start   string
	service connection.Service
}{
	{"SSH-", connection.ServiceSSH},
	{"+PONG\r\n", connection.ServiceRedis},
	{"-NOAUTH ", connection.ServiceRedis},
	{"-DENIED ", connection.ServiceRedis},
	{"-ERR unknown command", connection.ServiceRedis}, // of a server with renamed commands
	{"HTTP/", connection.ServiceHTTP},
	{"<!DO", connection.ServiceHTTP}, // an answer of HTTP 0.9, which some servers send to such a request
	{"<htm", connection.ServiceHTTP},
	{"\x15\x03", connection.ServiceTLS}, // an alert
	{"220 ", connection.ServiceMail},
	{"220-", connection.ServiceMail},
	{"+OK", connection.ServiceMail},
	{"* OK", connection.ServiceMail},
}

// serviceOf returns the service that begins like this, "" if it is not known.
func serviceOf(first []byte) connection.Service {
	if bytes.Contains(first, []byte("is for clickhouse-client program")) { // its text, in an HTTP response
		return connection.ServiceClickHouseNative
	}
	for _, g := range greetings {
		if bytes.HasPrefix(first, []byte(g.start)) {
			return g.service
		}
	}
	// A packet of MySQL: its length, the number 0, and version 10 of the protocol or an error.
	if len(first) > 5 && first[2] == 0 && first[3] == 0 && (first[4] == 10 || first[4] == 0xff) {
		return connection.ServiceMySQL
	}
	return ""
}
