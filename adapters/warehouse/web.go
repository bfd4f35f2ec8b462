package warehouse

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/atrium-hq/atrium/domain/connection"
)

// Web is one connection to a server of HTTP/1.1, on which one request follows another. It follows no redirect, uses no
// proxy and no compression, and reads at most what its network permits.
type Web struct {
	recorder *Recorder
	conn     net.Conn // the recorder, or TLS above it
	answers  *bufio.Reader
}

// Answer is a server's response to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// OpenWeb passes the steps up to and including tls. A nil config means no TLS. t is as in OpenAt.
func OpenWeb(ctx context.Context, n Network, host string, port uint16, config *tls.Config, t *Trace) (*Web, error) {
	recorder, err := OpenAt(ctx, n, host, port, t)
	if err != nil {
		return nil, err
	}
	w := &Web{recorder: recorder, conn: recorder}
	switch {
	case config != nil:
		tlsConn, err := Secure(ctx, recorder, config)
		if err != nil {
			w.Close()
			if errors.Is(err, connection.TLSUnsupported) && w.isForeign() {
				err = connection.NotThisDatabase
			}
			return nil, err
		}
		w.conn = tlsConn
		if t != nil {
			t.Passed(connection.TLS)
		}
	case t != nil:
		t.Skipped(connection.TLS)
	}
	w.answers = bufio.NewReader(w.conn)
	return w, nil
}

// isForeign reports whether the first bytes are of neither HTTP nor TLS.
func (w *Web) isForeign() bool {
	first := w.recorder.First()
	return Foreign(first) && !bytes.HasPrefix(first, []byte("HTTP/")) && !w.SpokeTLS()
}

// SpokeTLS reports whether the server's first bytes are a TLS alert. In reply to plain text it means that the server
// requires TLS.
func (w *Web) SpokeTLS() bool { return bytes.HasPrefix(w.recorder.First(), []byte("\x15\x03")) }

// Silent reports whether the server has sent nothing.
func (w *Web) Silent() bool { return w.recorder.Count() == 0 }

// Do sends a request and reads the whole response. It returns the errors of Stream.
func (w *Web) Do(ctx context.Context, r *http.Request) (answer Answer, err error) {
	err = w.Stream(ctx, r, func(response *http.Response) error {
		answer.Status, answer.Header = response.StatusCode, response.Header
		answer.Body, err = io.ReadAll(response.Body) // limited by the network
		return err
	})
	if err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// Stream sends a request, and passes the response to read while it arrives. The next request can only be sent if read
// reads all of it. ctx must have a deadline; Stream returns QueryTimeout if it passes, NotThisDatabase if the response
// is not HTTP, and HostUnreachable if the server closes the connection early; otherwise the error of read.
func (w *Web) Stream(ctx context.Context, r *http.Request, read func(*http.Response) error) error {
	defer Limit(ctx, w.conn)()
	// a server that refuses may respond and close before it has read everything
	if err := r.Write(w.conn); err != nil && !w.recorder.Ended() {
		return w.readFailure(ctx, err)
	}
	response, err := http.ReadResponse(w.answers, r) //nolint:bodyclose // it would read the rest of a stream
	if err != nil {
		return w.readFailure(ctx, err)
	}
	body := &watchedBody{ReadCloser: response.Body}
	response.Body = body
	if err := read(response); body.err == nil {
		return err
	}
	return w.readFailure(ctx, body.err)
}

// watchedBody is a body that keeps the error that its end was not read by.
type watchedBody struct {
	io.ReadCloser
	err error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// readFailure returns the reason why no response could be read.
func (w *Web) readFailure(ctx context.Context, err error) error {
	wireErr := w.recorder.Err()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(wireErr, connection.ResponseTooLarge):
		return connection.ResponseTooLarge
	case IsTimeout(wireErr), ctx.Err() != nil:
		return connection.QueryTimeout
	case w.isForeign():
		return connection.NotThisDatabase
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isReset(err):
		return connection.HostUnreachable
	case wireErr != nil && !errors.Is(wireErr, io.EOF):
		return Classify(ctx, wireErr)
	}
	return connection.NotThisDatabase
}

// Close ends the connection. A server that notices stops its work.
func (w *Web) Close() { _ = w.recorder.Close() }
