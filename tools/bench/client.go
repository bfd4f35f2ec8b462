package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// target is requests that are sent in turn, again and again. They are written as they are, and of an
// answer only status and length are read: the client shares the cores with what it measures.
type target struct {
	addr     string
	requests [][]byte
	make     func(n int64) []byte // in the place of requests, where no two may be the same
	turn     *atomic.Int64
}

func newTarget(p *program, path, token string) target {
	return p.repeats(p.request("GET", path, token, ""))
}

// repeats sends requests in turn.
func (p *program) repeats(requests ...[]byte) target {
	return target{addr: p.addr, requests: requests, turn: new(atomic.Int64)}
}

// request is one, as it is sent. headers are whole lines without their ends.
func (p *program) request(method, path, token, body string, headers ...string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, p.addr)
	if token != "" {
		fmt.Fprintf(&out, "Authorization: Bearer %s\r\n", token)
	}
	if body != "" {
		fmt.Fprintf(&out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	for _, h := range headers {
		out.WriteString(h + "\r\n")
	}
	out.WriteString("\r\n" + body)
	return out.Bytes()
}

// load sends requests on several connections at once, each when the one before is answered, and
// returns how long each took, shortest first, and how long all of them, those that were under way at the
// end included. Any answer but one of success is an error.
func (t target) load(
	ctx context.Context, connections int, d time.Duration,
) (took []time.Duration, all time.Duration, err error) {
	open, err := t.dialMany(ctx, connections)
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	each, errs := make([][]time.Duration, connections), make([]error, connections)
	begun := time.Now()
	var working sync.WaitGroup
	for i, c := range open {
		working.Go(func() {
			for ctx.Err() == nil && errs[i] == nil {
				var one time.Duration
				one, errs[i] = c.ask()
				each[i] = append(each[i], one)
			}
		})
	}
	working.Wait()
	all = time.Since(begun)
	for _, err := range errs {
		if err != nil { // the others are of the same kind
			return nil, 0, err
		}
	}
	took = slices.Concat(each...)
	slices.Sort(took)
	return took, all, nil
}

// dialMany opens so many connections. Those that are open are returned in any case.
func (t target) dialMany(ctx context.Context, n int) ([]*connection, error) {
	open := make([]*connection, 0, n)
	for range n {
		c, err := t.dial(ctx)
		if err != nil {
			return open, err
		}
		open = append(open, c)
	}
	return open, nil
}

// connection is kept alive between requests.
type connection struct {
	net.Conn
	target
	in *bufio.Reader
}

func (t target) dial(ctx context.Context) (*connection, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, target: t, in: bufio.NewReaderSize(c, 16<<10)}, nil
}

// errRefused is of an answer that is none of success.
var errRefused = errors.New("refused")

// ask sends the next request and returns how long the whole answer took.
func (c *connection) ask() (time.Duration, error) {
	n := c.turn.Add(1)
	var request []byte
	if c.make != nil {
		request = c.make(n)
	} else {
		request = c.requests[int(n)%len(c.requests)]
	}
	begun := time.Now()
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	status, err := c.in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) == len("\r\n") {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if !strings.HasPrefix(status, "HTTP/1.1 20") || length < 0 {
		body := make([]byte, max(0, length))
		_, _ = io.ReadFull(c.in, body) // it may end before
		return 0, fmt.Errorf("%w: %q, length %d: %s\nto %s", errRefused, status, length, body, firstLine(request))
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return time.Since(begun), err
}

// firstLine is as much of a request as holds no secret.
func firstLine(request []byte) []byte {
	line, _, _ := bytes.Cut(request, []byte("\r\n"))
	return line
}

// percentile returns the value that p in a hundred of sorted do not exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

// median returns the middle one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
