package engine

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// lib/pq waits forever on a connection whose peer does not respond any more, even if the context is done. So its
// connections set their own deadlines, without the knowledge of lib/pq: every operation gets one before it starts.
// The size of a response is also limited.
const (
	// Grace is the remaining time of an operation whose context is done, and of the request to cancel it, for which
	// lib/pq opens another connection. The server usually responds within it, and the connection is then closed
	// cleanly.
	Grace = 400 * time.Millisecond

	// answerBudget is the most bytes that the server may send between two of our requests. No query of ours comes near
	// it. A larger response means that something is wrong, and would use too much memory.
	answerBudget = 256 << 20
)

var errAnswerTooLarge = errors.New("the answer is longer than its budget")

// dialer dials for one connection, and for the requests that cancel its operations.
type dialer struct {
	timeout   time.Duration
	budget    int64
	line      *guardedConn // the latest dialled: lib/pq may try several hosts, with TLS and without
	connected bool         // from now on lib/pq dials only for cancel requests
}

// DialContext implements pq.DialerContext.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	timeout := d.timeout
	if d.connected {
		d.line.abandon() // lib/pq dials because the context of the running operation is done
		timeout = Grace
	}
	ends := time.Now().Add(timeout)
	if t, ok := ctx.Deadline(); ok && t.Before(ends) {
		ends = t
	}
	dialer := net.Dialer{
		Deadline: ends,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second,
			Count: 3},
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	line := &guardedConn{Conn: conn, budget: d.budget, ends: ends}
	if !d.connected {
		d.line = line
	}
	return line, line.SetDeadline(ends)
}

// Dial implements pq.Dialer. lib/pq calls DialContext where there is one.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// guardedConn is the network connection below lib/pq, and below TLS if it is used.
type guardedConn struct {
	net.Conn
	budget int64
	left   atomic.Int64 // of the budget
	ends   time.Time    // no deadline is later, lib/pq's own included; zero once connected
	broken atomic.Bool  // bytes of a response may be missing or late: must not be used again
}

// SetDeadline implements net.Conn.
func (l *guardedConn) SetDeadline(t time.Time) error {
	if !l.ends.IsZero() && (t.IsZero() || t.After(l.ends)) {
		t = l.ends
	}
	return l.Conn.SetDeadline(t)
}

// abandon gives the current operation Grace to end.
func (l *guardedConn) abandon() {
	l.broken.Store(true)
	_ = l.SetDeadline(time.Now().Add(Grace)) // fails only on a closed connection
}

// Read implements net.Conn. A response beyond the budget returns a *net.OpError, by which lib/pq recognises that a
// connection is lost.
func (l *guardedConn) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.left.Add(-int64(n)) < 0 {
		_ = l.Close()
		err = &net.OpError{Op: "read", Net: l.RemoteAddr().Network(), Addr: l.RemoteAddr(), Err: errAnswerTooLarge}
	}
	if err != nil {
		l.broken.Store(true)
	}
	return n, err
}

// Write implements net.Conn. A new request gets a new budget.
func (l *guardedConn) Write(b []byte) (int, error) {
	l.left.Store(l.budget)
	n, err := l.Conn.Write(b)
	if err != nil {
		l.broken.Store(true)
	}
	return n, err
}
