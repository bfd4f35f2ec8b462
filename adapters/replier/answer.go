package replier

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
)

// maxLine is a stream's longest line, and the longest answer in one piece, in bytes.
const maxLine = 1 << 20

// errSilent ends a request whose endpoint sends nothing, or only signs of life.
var errSilent = errors.New("the endpoint sent nothing for too long")

// part is the part in a stream's event, or in an answer in one piece, that matters to visitors.
type part struct {
	pieces      []embed.Piece
	hasProgress bool   // also without pieces, as when the model calls a tool
	reason      string // why the answer ended; empty if it goes on
}

// reader reads an event's data, or an answer in one piece. It returns an error if the data has another shape, or if it
// reports a failure.
type reader func(data []byte) (part, error)

// exchange is a request, and how its response is read.
type exchange struct {
	request func(context.Context) (*http.Request, error)
	event   reader // of a stream's events
	whole   reader // of an answer in one piece
}

// relay sends a request, and passes the pieces of its answer to yield.
func (p *pool) relay(
	ctx context.Context, target ports.Target, l Limits, e exchange, yield func(embed.Piece) error,
) error {
	callCtx, cancel := context.WithTimeout(ctx, l.Total)
	defer cancel()
	callCtx, silence := context.WithCancelCause(callCtx)
	defer silence(nil)
	a := newAnswer(l, yield, func() { silence(errSilent) })
	defer a.pause()
	err := p.receive(callCtx, cancel, target, e, a)
	switch {
	case a.refused != nil:
		return a.refused
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil, a.reason != "" && callCtx.Err() != nil:
		return a.check()
	case callCtx.Err() != nil:
		return failed(embed.ReplyTimeout, connection.QueryTimeout)
	}
	if _, isFailure := errors.AsType[embed.ReplyFailure](err); isFailure {
		return err
	}
	code := codeOf(err)
	switch code {
	case connection.ResponseTooLarge:
		return failed(embed.ReplyTooLarge, code)
	case connection.ConnectTimeout:
		return failed(embed.ReplyTimeout, code)
	}
	return failed(embed.ReplyFailed, code)
}

// receive sends the request and reads the response into a, as events or as one JSON document. It returns a failure for
// any other status or media type.
func (p *pool) receive(ctx context.Context, abandon func(), target ports.Target, e exchange, a *answer) error {
	r, err := e.request(ctx)
	if err != nil {
		return err
	}
	// These headers make net/http send the request again if a reused connection turns out to be closed. A header field
	// without values is not sent.
	r.Header["X-Idempotency-Key"] = nil
	client, err := p.client(target, r, time.Now())
	if err != nil {
		return err
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	if code := codeOfStatus(response.StatusCode); code != "" {
		return failed(embed.ReplyFailed, code)
	}
	body := &limited{response.Body, a.limits.Bytes}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch media {
	case "text/event-stream":
		err := a.stream(alive{body, a}, e.event)
		if err == nil {
			drain(body, abandon)
		}
		return err
	case "application/json":
		text, err := io.ReadAll(io.LimitReader(alive{body, a}, maxLine+1))
		if err != nil {
			return err
		}
		if len(text) > maxLine {
			return failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
		}
		return a.take(text, e.whole)
	}
	return failed(embed.ReplyFailed, connection.NotThisDatabase)
}

// answer is what the visitor has received so far.
type answer struct {
	limits   Limits
	yield    func(embed.Piece) error
	silence  *time.Timer // without a byte
	progress *time.Timer

	sizes   map[embed.Part]int // bytes
	reason  string             // why the answer ended, if the server said it
	refused error              // of yield
}

func newAnswer(l Limits, yield func(embed.Piece) error, end func()) *answer {
	return &answer{
		limits: l, yield: yield, silence: time.AfterFunc(l.Silence, end), progress: time.AfterFunc(l.Progress, end),
		sizes: map[embed.Part]int{},
	}
}

// pause stops the clocks.
func (a *answer) pause() {
	a.silence.Stop()
	a.progress.Stop()
}

// beat begins the silence again, because a byte has arrived.
func (a *answer) beat() {
	if a.reason != "" {
		a.silence.Reset(a.limits.Close)
	} else {
		a.silence.Reset(a.limits.Silence)
	}
}

// alive reads an answer's body, each byte of which is a sign of life.
type alive struct {
	io.Reader
	answer *answer
}

func (r alive) Read(buffer []byte) (int, error) {
	n, err := r.Reader.Read(buffer)
	if n > 0 {
		r.answer.beat()
	}
	return n, err
}

// stream reads server-sent events, each with its data in one line, until the server closes the stream or sends [DONE].
// A reason is not the end: some servers send one with each event
// (https://github.com/QuantumNous/new-api/issues/378).
func (a *answer) stream(body io.Reader, read reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	for lines.Scan() {
		// llama.cpp's server sent failures in a field of this name until September 2025
		// (https://github.com/ggml-org/llama.cpp/pull/16109).
		if bytes.HasPrefix(lines.Bytes(), []byte("error:")) {
			return failed(embed.ReplyFailed, connection.NotThisDatabase)
		}
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		if data = bytes.TrimSpace(data); len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		if err := a.take(data, read); err != nil {
			return cmp.Or(lines.Err(), err) // it is not valid because it was cut off
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
	}
	if err := lines.Err(); err != nil && a.reason == "" {
		return err
	}
	if a.reason == "" {
		return failed(embed.ReplyFailed, connection.HostUnreachable) // it ended before the answer did
	}
	return nil
}

// take passes an event's pieces to the visitor.
func (a *answer) take(data []byte, read reader) error {
	e, err := read(data)
	if err != nil {
		return failed(embed.ReplyFailed, connection.NotThisDatabase)
	}
	if e.reason != "" {
		a.reason = e.reason
		a.beat()
	}
	for _, p := range e.pieces {
		if err := a.pass(p); err != nil {
			return err
		}
	}
	if e.hasProgress || len(e.pieces) > 0 {
		a.progress.Reset(a.limits.Progress)
	}
	return nil
}

// pass passes a piece to the visitor. A visitor who reads slowly does not count as a silent endpoint.
func (a *answer) pass(p embed.Piece) error {
	if p.Text == "" {
		return nil
	}
	if a.sizes[p.Part] += len(p.Text); a.sizes[p.Part] > embed.MaxReplied {
		if p.Part == embed.PartReasoning {
			return nil
		}
		return failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
	}
	a.pause()
	defer a.progress.Reset(a.limits.Progress)
	defer a.beat()
	p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
	a.refused = a.yield(p)
	return a.refused
}

// check returns an error if the visitor has received nothing that can be shown as an answer.
func (a *answer) check() error {
	if a.sizes[embed.PartText]+a.sizes[embed.PartRefusal] > 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", embed.ReplyEmpty, emptiness(a.reason))
}

// emptiness explains to the log why an answer is empty. It contains nothing that the endpoint sent.
func emptiness(reason string) string {
	switch reason {
	case "tool_calls", "function_call":
		return "the model only called tools"
	case "content_filter":
		return "the server's filter removed the answer"
	case "length":
		return "the model used all tokens before it answered"
	default:
		return "it has no text"
	}
}
