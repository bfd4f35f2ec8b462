package atrium

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	mathrand "math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// silence is how long a stream can be silent before it counts as broken. The server sends a comment every 15 seconds.
const silence = 50 * time.Second

// stream returns the events of a stream. A stream that ends or breaks is opened again, with the id of the last event,
// until ctx is done or the server refuses it.
func stream[T any](ctx context.Context, client *Client, c *call, options []Option) iter.Seq2[StreamEvent[T], error] {
	return func(yield func(StreamEvent[T], error) bool) {
		s := &subscription[T]{client: client, call: *c, options: options, yield: yield}
		s.call.accept, s.call.stream = "text/event-stream", true
		for !s.stopped {
			err := s.open(ctx)
			switch {
			case s.stopped:
				return
			case ctx.Err() != nil:
				yield(StreamEvent[T]{}, context.Cause(ctx))
				return
			case err != nil && isRefusal(err):
				yield(StreamEvent[T]{}, err)
				return
			}
			if client.wait(ctx, s.pause(err)) != nil {
				yield(StreamEvent[T]{}, context.Cause(ctx))
				return
			}
		}
	}
}

// isRefusal reports whether opening the stream again cannot help.
func isRefusal(err error) bool {
	if failed, ok := errors.AsType[*Error](err); ok {
		return failed.Status < 500 && failed.Status != http.StatusTooManyRequests
	}
	_, isConnection := errors.AsType[*ConnectionError](err)
	return !isConnection
}

type subscription[T any] struct {
	client   *Client
	call     call
	options  []Option
	yield    func(StreamEvent[T], error) bool
	lastID   string
	retry    time.Duration // as the server asks for
	failures int           // since the last event
	stopped  bool          // by the reader, or an event that cannot be read
}

// pause returns how long to wait before the stream is opened again.
func (s *subscription[T]) pause(err error) time.Duration {
	base := s.retry
	if base == 0 {
		base = 500 * time.Millisecond
	}
	s.failures++
	base = min(15*time.Second, base<<min(s.failures-1, 6))
	wait := base/2 + mathrand.N(base/2+1)
	if failed, ok := errors.AsType[*Error](err); ok {
		wait = max(wait, min(failed.RetryAfter, maxRetryAfter))
	}
	return wait
}

// open opens the stream once, and reads its events until it ends.
func (s *subscription[T]) open(ctx context.Context) error {
	one := s.call
	if err := one.prepare(s.options); err != nil {
		return err
	}
	if s.lastID != "" {
		one.headers.Set("Last-Event-ID", s.lastID)
	}
	streamCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, end, err := s.client.attempt(streamCtx, &one, s.failures+1, func(*http.Response) error { return nil })
	end(0)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	return s.read(res.Body, quiet)
}

// read reads events as the specification of server-sent events describes them.
func (s *subscription[T]) read(body io.Reader, quiet *time.Timer) error {
	lines := bufio.NewReader(body)
	var name string
	var data []string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil // ended or broken: an incomplete event is discarded
		}
		quiet.Reset(silence)
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "":
			if line == "" && (name != "" || data != nil) {
				s.deliver(name, strings.Join(data, "\n"))
				name, data = "", nil
			}
		case "event":
			name = value
		case "data":
			data = append(data, value)
		case "id":
			s.lastID = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				s.retry = time.Duration(ms) * time.Millisecond
			}
		}
		if s.stopped {
			return nil
		}
	}
}

func (s *subscription[T]) deliver(name, data string) {
	if name == "" {
		name = "message"
	}
	event, err := decodeEvent[T](name, s.lastID, data)
	s.failures = 0
	if !s.yield(event, err) || err != nil {
		s.stopped = true
	}
}
