package node

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/configs"
)

// A lineBuffer's limits, and so of what is lost when the process is killed or crashes.
const (
	// maxBuffered is in bytes: about 14 lines of requests. Linux writes up to as many to a pipe in one piece (PIPE_BUF,
	// pipe(7)), so that lines of several programs on one pipe do not mix.
	maxBuffered = 4096

	maxDelay = 50 * time.Millisecond
)

// newNodeLog returns a long-running process's log. It writes lines together (see lineBuffer), except warnings and
// errors, which it writes at once, after the lines before them. From the end of ctx on, and after the call of the
// returned function, it writes every line at once. At level debug it always does: who looks for a crash's cause needs
// the last lines.
func newNodeLog(ctx context.Context, w io.Writer, c configs.Log) (log *slog.Logger, writeAtOnce func()) {
	if c.Level < slog.LevelInfo {
		return NewLog(w, c), func() {}
	}
	lines := newLineBuffer(w)
	log = slog.New(promptWarnings{NewLog(lines, c).Handler(), lines})
	forget := context.AfterFunc(ctx, lines.writeAtOnce)
	return log, func() {
		forget()
		lines.writeAtOnce()
	}
}

// promptWarnings is a handler that lets warnings and errors not wait in the buffer.
type promptWarnings struct {
	slog.Handler
	lines *lineBuffer
}

// Handle implements slog.Handler.
func (h promptWarnings) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.lines.flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (h promptWarnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return promptWarnings{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup implements slog.Handler.
func (h promptWarnings) WithGroup(name string) slog.Handler {
	return promptWarnings{h.Handler.WithGroup(name), h.lines}
}

// lineBuffer is a writer of whole lines that writes many of them by one system call: once they fill maxBuffered, or
// maxDelay after the first of them. While a write is blocked, other writers wait, as they do for one another in package
// slog. Errors of writes are lost: there is no other place for them.
type lineBuffer struct {
	out io.Writer

	mu      sync.Mutex
	lines   []byte
	timer   *time.Timer
	waiting bool // the timer runs
	atOnce  bool
}

func newLineBuffer(out io.Writer) *lineBuffer {
	b := &lineBuffer{out: out, lines: make([]byte, 0, maxBuffered)}
	b.timer = time.AfterFunc(maxDelay, b.expire)
	b.timer.Stop()
	return b
}

// Write implements io.Writer. It never returns an error.
func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines)+len(line) > maxBuffered {
		b.flushLocked()
	}
	if b.atOnce || len(line) > maxBuffered {
		_, _ = b.out.Write(line)
		return len(line), nil
	}
	b.lines = append(b.lines, line...)
	if !b.waiting {
		b.waiting = true
		b.timer.Reset(maxDelay)
	}
	return len(line), nil
}

// flush writes what is in the buffer.
func (b *lineBuffer) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushLocked()
}

// expire is flush at the end of the timer. The timer is not restarted by a flush before, so it runs at most once in
// maxDelay, however many lines there are.
func (b *lineBuffer) expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	b.flushLocked()
}

// writeAtOnce writes what is in the buffer, and from now on every line by itself.
func (b *lineBuffer) writeAtOnce() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flushLocked()
	b.atOnce = true
	b.timer.Stop()
}

func (b *lineBuffer) flushLocked() {
	if len(b.lines) > 0 {
		_, _ = b.out.Write(b.lines)
		b.lines = b.lines[:0]
	}
}
