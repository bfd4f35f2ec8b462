package warehouse

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
)

// maxFirst is how many bytes from a server are kept: enough to recognise a protocol.
const maxFirst = 16

// Recorder is a connection that remembers its first bytes and its first error, so that the kind of server can be
// recognised independently of the driver's error.
type Recorder struct {
	net.Conn

	mu    sync.Mutex
	first [maxFirst]byte
	read  int64
	err   error
}

// Record wraps c.
func Record(c net.Conn) *Recorder { return &Recorder{Conn: c} }

func (r *Recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.note(b[:n], err)
	return n, err
}

func (r *Recorder) Write(b []byte) (int, error) {
	n, err := r.Conn.Write(b)
	if err != nil {
		r.note(nil, err)
	}
	return n, err
}

func (r *Recorder) note(b []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read < maxFirst {
		copy(r.first[r.read:], b)
	}
	r.read += int64(len(b))
	if err != nil && r.err == nil { // later errors say less
		r.err = err
	}
}

// First returns the first bytes that were read, 16 at most.
func (r *Recorder) First() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.first[:min(r.read, maxFirst)])
}

// Count returns how many bytes were read.
func (r *Recorder) Count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

// Err returns the first read or write error, nil if there was none.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Ended reports whether the other side ended the connection.
func (r *Recorder) Ended() bool {
	err := r.Err()
	return errors.Is(err, io.EOF) || isReset(err)
}

// Foreign reports whether the first bytes belong to a protocol that no database uses: SSH, HTTP, SMTP and FTP banners,
// unrequested TLS records.
func Foreign(first []byte) bool {
	for _, prefix := range []string{"SSH-", "HTTP/", "220 ", "220-", "+OK", "* OK", "RFB ", "<!DO", "<htm",
		"\x15\x03"} {
		if bytes.HasPrefix(first, []byte(prefix)) {
			return true
		}
	}
	return false
}
