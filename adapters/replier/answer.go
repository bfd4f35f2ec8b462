package replier

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/ports"
)

// maxLine is the longest line of a stream, and the longest answer in one piece, in bytes.
const maxLine = 1 << 20

// errSilent ends a request whose endpoint sends nothing.
var errSilent = errors.New("the endpoint sent nothing for too long")

// piece is the part of an event of a stream, or of an answer in one piece, that is for the visitor.
type piece struct {
	text   string
	isLast bool
}

// reader reads an event's data, or an answer in one piece. It returns an error if the data has another shape, or if it
// reports a failure.
type reader func(data []byte) (piece, error)

// relay sends a request, and passes the texts of its answer to each.
func (p *pool) relay(
	ctx context.Context, target ports.Target, l Limits, request func(context.Context) (*http.Request, error),
	event, readAll reader, handle func(string) error,
) error {
	callCtx, cancel := context.WithTimeout(ctx, l.Total)
	defer cancel()
	callCtx, silence := context.WithCancelCause(callCtx)
	defer silence(nil)
	patience := time.AfterFunc(l.Silence, func() { silence(errSilent) })
	defer patience.Stop()
	a := &answer{each: func(text string) error {
		patience.Stop() // a slow visitor does not count as a silent endpoint
		defer patience.Reset(l.Silence)
		return handle(text)
	}}
	err := p.receive(callCtx, cancel, target, l, request, event, readAll, a)
	switch {
	case err == nil, a.refused != nil:
		return a.refused
	case ctx.Err() != nil:
		return context.Cause(ctx)
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

func (p *pool) receive(
	ctx context.Context, abandon func(), target ports.Target, l Limits,
	request func(context.Context) (*http.Request, error), event, readAll reader, a *answer,
) error {
	r, err := request(ctx)
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
	body := &limited{response.Body, l.Bytes}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch media {
	case "text/event-stream":
		err := a.events(body, event)
		if err == nil {
			drain(body, abandon)
		}
		return err
	case "application/json":
		text, err := io.ReadAll(io.LimitReader(body, maxLine+1))
		if err != nil {
			return err
		}
		if len(text) > maxLine {
			return failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
		}
		_, err = a.take(text, readAll)
		return err
	}
	return failed(embed.ReplyFailed, connection.NotThisDatabase)
}

// answer is the part of an answer that the visitor has received so far.
type answer struct {
	each    func(string) error
	size    int
	refused error // of each
}

// events reads server-sent events, each with its data in one line.
func (a *answer) events(body io.Reader, event reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	lines.Split(wholeLines)
	for lines.Scan() {
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
		if last, err := a.take(data, event); err != nil || last {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return failed(embed.ReplyFailed, connection.HostUnreachable) // it ended before the answer did
}

func (a *answer) take(data []byte, read reader) (last bool, err error) {
	p, err := read(data)
	if err != nil {
		return false, failed(embed.ReplyFailed, connection.NotThisDatabase)
	}
	if p.text == "" {
		return p.isLast, nil
	}
	if a.size += len(p.text); a.size > embed.MaxReplied {
		return false, failed(embed.ReplyTooLarge, connection.ResponseTooLarge)
	}
	a.refused = a.each(strings.ToValidUTF8(p.text, "\uFFFD"))
	return p.isLast, a.refused
}

// wholeLines is bufio.ScanLines without a last line that was cut off.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	advance, token, err = bufio.ScanLines(data, false)
	if advance == 0 && atEOF && string(bytes.TrimSpace(data)) == "data: [DONE]" {
		return len(data), data, nil
	}
	return advance, token, err
}
