package warehouses

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// HTTPResponse frames a body; headers end in \r\n each.
func HTTPResponse(status, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

// HTTPSays is a script that answers requests in turn, and then keeps the connection open.
func HTTPSays(answers ...string) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		for _, text := range answers {
			httpAnswer(c, text)
		}
		_, _ = io.Copy(io.Discard, c)
	}
}

func httpAnswer(c io.ReadWriter, text string) {
	_, _ = c.Read(make([]byte, 16<<10))
	_, _ = io.WriteString(c, text)
}

// HTTPScripts are the attacks of an HTTP server on the first request, for kinds that use HTTP. over is the layer below
// HTTP, such as TLS.
func HTTPScripts(isOver func(proceedOne func(io.ReadWriter)) func(io.ReadWriter)) []HostileScript {
	late := []connection.Code{connection.ConnectTimeout, connection.QueryTimeout}
	foreign := []connection.Code{connection.NotThisDatabase}
	large := []connection.Code{connection.ResponseTooLarge}
	lost := []connection.Code{connection.HostUnreachable}
	pairs := append(large, foreign...)
	refuse := func(head, text string) func(io.ReadWriter) {
		return func(c io.ReadWriter) {
			httpAnswer(c, head)
			Forever(c, bytes.Repeat([]byte(text), 4096/len(text)))
		}
	}
	scripts := []HostileScript{
		{Name: "it redirects to a private address", Plain: true, Codes: foreign,
			Serve: HTTPSays("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.2:1/\r\nContent-Length: " +
				"0\r\n\r\n")},
		{Name: "its status has no end", Codes: large, Serve: refuse("HTTP/1.1 200 ", "OK")},
		{Name: "its headers have no end", Codes: large, Serve: refuse("HTTP/1.1 200 OK\r\n", "X-A: b\r\n")},
		{Name: "its header has no end", Codes: large, Serve: refuse("HTTP/1.1 200 OK\r\nX-A: ", "b")},
		{Name: "it has one row without an end", Codes: large,
			Serve: refuse("HTTP/1.1 200 OK\r\n\r\n{\"data\": [[\"", "x")},
		{Name: "it has rows without an end", Codes: large,
			Serve: refuse("HTTP/1.1 200 OK\r\n\r\n{\"data\": [", `["x"],`)},
		{Name: "it has a value of 100 MB", Codes: large,
			Serve: refuse("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n{\"data\": [[\"", "x")},
		{Name: "it claims to have more than there is", Codes: late,
			Serve: HTTPSays("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n{}")},
		{Name: "its chunks have no end", Codes: pairs,
			Serve: refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n")},
		{Name: "its chunk claims to be endless", Codes: pairs,
			Serve: refuse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", "x")},
		{Name: "its chunk has no number", Plain: true, Codes: foreign,
			Serve: HTTPSays("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")},
		{Name: "it is nested without an end", Codes: pairs, Serve: refuse("HTTP/1.1 200 OK\r\n\r\n", "[")},
		{Name: "it is nested deeply", Plain: true, Codes: foreign,
			Serve: HTTPSays(HTTPResponse("200 OK", "", strings.Repeat("[", 500_000)))},
		{Name: "it continues for ever", Codes: append(pairs, late...),
			Serve: refuse("", "HTTP/1.1 100 Continue\r\n\r\n")},
		{Name: "it says nothing in 200", Plain: true, Codes: foreign, Serve: HTTPSays(HTTPResponse("200 OK", "", ""))},
		{Name: "it talks of something else", Plain: true, Codes: foreign,
			Serve: HTTPSays(HTTPResponse("200 OK", "", `{"data": {"a": 1}}`))},
		{Name: "it has no data", Plain: true, Codes: foreign, Serve: HTTPSays(HTTPResponse("200 OK", "", `{}`))},
		{Name: "it talks nonsense in HTTP's place", Plain: true, Codes: foreign, Serve: HTTPSays("nonsense\r\n")},
		{Name: "it is another web server", Plain: true, Codes: foreign,
			Serve: HTTPSays(HTTPResponse("404 Not Found", "", "<html>not here</html>"))},
		{Name: "there is no server behind its proxy", Plain: true, Codes: []connection.Code{connection.ServerStarting},
			Serve: HTTPSays(HTTPResponse("503 Service Unavailable", "", "<html>no upstream</html>"))},
		{Name: "it drips its answer", Codes: late, Serve: func(c io.ReadWriter) {
			httpAnswer(c, "HTTP/1.1 200 OK\r\n\r\n")
			Drip(c, []byte{' '})
		}},
		{Name: "it goes in the middle of the answer", Plain: true, Codes: lost, Serve: func(c io.ReadWriter) {
			httpAnswer(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
		}},
	}
	for i := range scripts {
		scripts[i].Serve = isOver(scripts[i].Serve)
	}
	return scripts
}

// OverTLS is a script that continues with then after the client has accepted its certificate.
func OverTLS(config *tls.Config, proceedOne func(io.ReadWriter)) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		securedConnection := tls.Server(asConn{c}, config)
		if securedConnection.Handshake() == nil {
			proceedOne(securedConnection)
		}
	}
}

// asConn makes a script's connection a net.Conn, which tls.Server requires.
type asConn struct{ io.ReadWriter }

func (asConn) Close() error                     { return nil }
func (asConn) LocalAddr() net.Addr              { return nil }
func (asConn) RemoteAddr() net.Addr             { return nil }
func (asConn) SetDeadline(time.Time) error      { return nil }
func (asConn) SetReadDeadline(time.Time) error  { return nil }
func (asConn) SetWriteDeadline(time.Time) error { return nil }
