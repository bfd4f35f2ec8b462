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
	"sync"
	"sync/atomic"
	"time"
)

// target is requests that are sent in turn, again and again. They are written as they are, and of an
// answer only status and length are read: the client shares the cores with what it measures.
type target struct {
	addr     string
	requests [][]byte
	turn     *atomic.Int64
}

func newTarget(p *program, path, token string) target {
	request := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, p.addr, token)
	return target{addr: p.addr, requests: [][]byte{request}, turn: new(atomic.Int64)}
}

// load sends requests on several connections at once, each when the one before is answered, and
// returns how long each took, shortest first. Any answer but 200 is an error.
func (t target) load(ctx context.Context, connections int, d time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	took := make([][]time.Duration, connections)
	errs := make([]error, connections)
	var all sync.WaitGroup
	for i := range connections {
		all.Go(func() {
			c, err := t.dial(ctx)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			for ctx.Err() == nil && errs[i] == nil {
				var one time.Duration
				one, errs[i] = c.ask()
				took[i] = append(took[i], one)
			}
		})
	}
	all.Wait()
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	return sorted, errors.Join(errs...)
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
	return &connection{Conn: c, target: t, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// ask sends the next request and returns how long the whole answer took.
func (c *connection) ask() (time.Duration, error) {
	request := c.requests[int(c.turn.Add(1))%len(c.requests)]
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
	if status != "HTTP/1.1 200 OK\r\n" || length < 0 {
		return 0, fmt.Errorf("%s answered %q, length %d", c.addr, status, length)
	}
	_, err = io.CopyN(io.Discard, c.in, int64(length))
	return time.Since(begun), err
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

// ms is a duration as the table shows it.
func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }
