package node

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/configs"
)

// pieces are what was written to a log, by write.
type pieces struct {
	mu     sync.Mutex
	writes [][]byte
}

func (p *pieces) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, bytes.Clone(b))
	return len(b), nil
}

var message = regexp.MustCompile(`"msg":"([^"]*)"`)

// messages are those of the lines that were written, in order.
func (p *pieces) messages() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range message.FindAllSubmatch(bytes.Join(p.writes, nil), -1) {
		all = append(all, string(m[1]))
	}
	return all
}

func (p *pieces) are(t *testing.T, occasion string, want ...string) {
	t.Helper()
	if got := p.messages(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s, the log has %v, not %v", occasion, got, want)
	}
}

func nodeLog(t *testing.T, level slog.Level) (log *slog.Logger, out *pieces, stop, writeAtOnce func()) {
	t.Helper()
	out = &pieces{}
	ctx, stop := context.WithCancel(t.Context())
	log, writeAtOnce = newNodeLog(ctx, out, configs.Log{Format: "json", Level: level})
	t.Cleanup(writeAtOnce)
	return log, out, stop, writeAtOnce
}

func TestALineWaitsInTheBufferForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out, _, _ := nodeLog(t, slog.LevelInfo)
		log.Info("a")
		time.Sleep(maxDelay / 2)
		log.Info("b")
		time.Sleep(maxDelay / 2)
		synctest.Wait()
		out.are(t, "50 ms after the first line", "a", "b")
		log.Info("c")
		out.are(t, "at the next line", "a", "b")
		time.Sleep(maxDelay)
		synctest.Wait()
		out.are(t, "50 ms after it", "a", "b", "c")
	})
}

func TestAWarningIsWrittenAtOnceAfterTheLinesBeforeIt(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelWarn, slog.LevelError} {
		synctest.Test(t, func(t *testing.T) {
			log, out, _, _ := nodeLog(t, slog.LevelInfo)
			log.Info("a")
			log.With("job", 1).WithGroup("g").Log(t.Context(), level, "b")
			out.are(t, "after a "+level.String(), "a", "b")
		})
	}
}

func TestEveryLineIsWrittenAtOnceWhileTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out, stop, _ := nodeLog(t, slog.LevelInfo)
		log.Info("a")
		stop()
		synctest.Wait()
		out.are(t, "after the signal", "a")
		log.Info("b")
		out.are(t, "while requests end", "a", "b")
	})
}

func TestTheLogIsCompleteAtTheEndOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out, _, writeAtOnce := nodeLog(t, slog.LevelInfo)
		func() {
			defer func() { _ = recover() }()
			defer writeAtOnce()
			log.Info("a")
			panic("in the main goroutine")
		}()
		out.are(t, "after a panic", "a")
		log.Info("b")
		out.are(t, "after that", "a", "b")
	})
}

func TestALogAtLevelDebugIsNotBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out, _, _ := nodeLog(t, slog.LevelDebug)
		log.Debug("a")
		log.Info("b")
		out.are(t, "at once", "a", "b")
	})
}

func TestManyLinesAreWrittenInFewWholePieces(t *testing.T) {
	const writers, lines = 8, 500
	log, out, _, writeAtOnce := nodeLog(t, slog.LevelInfo)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range lines {
				size := 200
				if i == lines/2 {
					size = 2 * maxBuffered
				}
				log.Info("line", "writer", w, "number", i, "text", strings.Repeat("x", size))
			}
		})
	}
	all.Wait()
	writeAtOnce()
	next := make([]int, writers)
	for line := range bytes.Lines(bytes.Join(out.writes, nil)) {
		var of struct{ Writer, Number int }
		if err := json.Unmarshal(line, &of); err != nil || of.Number != next[of.Writer] {
			t.Fatalf("line %d of writer %d comes after %d others of it: %v", of.Number, of.Writer, next[of.Writer], err)
		}
		next[of.Writer]++
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("writer %d has %d lines of %d", w, n, lines)
		}
	}
	for _, piece := range out.writes {
		n := bytes.Count(piece, []byte("\n"))
		if !bytes.HasSuffix(piece, []byte("\n")) || (len(piece) > maxBuffered && n > 1) {
			t.Errorf("a piece of %d bytes and %d lines: %.80s", len(piece), n, piece)
		}
	}
	if n := len(out.writes); n > writers*lines/5 {
		t.Errorf("%d writes for %d lines", n, writers*lines)
	}
}

func TestALineThatTheBufferCannotHoldIsWrittenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out, _, _ := nodeLog(t, slog.LevelInfo)
		log.Info("a")
		log.Info("b", "text", strings.Repeat("x", maxBuffered))
		out.are(t, "at once", "a", "b")
	})
}
