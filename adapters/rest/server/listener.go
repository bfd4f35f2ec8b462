package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Listener returns l with connections that keep their deadlines themselves (ADR 153).
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c), nil
}

// conn is the connection of a client. For each request, net/http sets eight deadlines. Each would change a timer of the
// runtime, and most only put off the one before.
type conn struct {
	net.Conn
	reads, writes deadline
}

func newConn(c net.Conn) *conn {
	return &conn{
		Conn:   c,
		reads:  deadline{apply: c.SetReadDeadline, passed: make(chan struct{}, 1)},
		writes: deadline{apply: c.SetWriteDeadline},
	}
}

// watchAfter is how long a handler runs until the server begins to notice that its client is gone.
const watchAfter = 5 * time.Millisecond

// Read implements net.Conn. A read of one byte begins after watchAfter: by it, net/http notices that the client is gone
// while a handler runs, and ends it by a deadline in the past. Most handlers return so soon that it need not reach the
// kernel.
func (c *conn) Read(p []byte) (n int, err error) {
	if len(p) == 1 && c.reads.passWithin(watchAfter) {
		return 0, os.ErrDeadlineExceeded
	}
	c.reads.begin()
	defer c.reads.end()
	for {
		if n, err = c.Conn.Read(p); !c.reads.wasPutOff(err) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	c.writes.begin()
	defer c.writes.end()
	for {
		count, err := c.Conn.Write(p[n:])
		n += count
		if !c.writes.wasPutOff(err) {
			return n, err
		}
	}
}

// CloseWrite sends the end of the stream. net/http calls it before it closes a connection on which a client may still
// send.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return errors.Join(c.reads.set(t), c.writes.set(t)) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.reads.set(t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.writes.set(t) }

// deadline is that of the reads or the writes of a connection. The connection has it, or an earlier one, whenever a
// call is under way. A call that ends by an earlier one continues.
type deadline struct {
	apply func(time.Time) error

	mu      sync.Mutex
	at      time.Time // zero for none
	applied time.Time // what the connection has; zero for none
	calls   int       // under way

	passing bool          // passWithin waits
	passed  chan struct{} // has an element if the deadline has passed while passWithin waited
	timer   *time.Timer   // of passWithin
}

func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = t
	if d.passing && d.isOver() {
		d.passing = false
		d.passed <- struct{}{}
	}
	if d.calls > 0 {
		return d.applyEarlier()
	}
	return nil
}

// applyEarlier applies the deadline to the connection unless that has an earlier one. The caller holds d.mu.
func (d *deadline) applyEarlier() error {
	if d.at.IsZero() || (!d.applied.IsZero() && !d.at.Before(d.applied)) {
		return nil
	}
	d.applied = d.at
	return d.apply(d.at)
}

// isOver reports whether the deadline has passed. The caller holds d.mu.
func (d *deadline) isOver() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	_ = d.applyEarlier() // fails only if the connection is closed, which the call finds out
}

func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls--
}

// wasPutOff reports whether a call has ended with err only because the deadline was earlier once, and applies the
// present one.
func (d *deadline) wasPutOff(err error) bool {
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOver() {
		return false
	}
	d.applied = d.at
	return d.apply(d.at) == nil
}

// passWithin waits until the deadline has passed, and returns true, or for a duration, and returns false.
func (d *deadline) passWithin(wait time.Duration) bool {
	d.mu.Lock()
	if d.isOver() {
		d.mu.Unlock()
		return true
	}
	d.passing = true
	if d.timer == nil {
		d.timer = time.NewTimer(wait)
	} else {
		d.timer.Reset(wait)
	}
	d.mu.Unlock()
	select {
	case <-d.passed:
		d.timer.Stop()
		return true
	case <-d.timer.C:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.passing { // it passed at the same time
		<-d.passed
		return true
	}
	d.passing = false
	return false
}
