package replier

import (
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/domain/embed"
)

func TestAnAnswerLastsAsLongAsItMakesProgress(t *testing.T) {
	const (
		comment = ": alive\n"
		text    = `data: {"choices":[{"delta":{"content":"Yes."}}]}` + "\n"
		reason  = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n"
		done    = "data: [DONE]\n"
	)
	const thought = `data: {"choices":[{"delta":{"reasoning_content":"…"}}]}` + "\n"
	const tool = `data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}` + "\n"
	type line struct {
		after time.Duration // since the line before
		text  string
	}
	repeat := func(n int, text string) (all []line) {
		for range n {
			all = append(all, line{20 * time.Second, text})
		}
		return all
	}
	for name, tt := range map[string]struct {
		lines  []line
		reads  time.Duration // how long the visitor takes for a piece
		isDone bool
		took   time.Duration
	}{
		"text after comments":  {append(repeat(5, comment), line{0, text}, line{0, done}), 0, true, 100 * time.Second},
		"nothing but comments": {repeat(50, comment), 0, false, 2 * time.Minute},
		"reasoning for 5 minutes": {
			append(repeat(15, thought), line{0, text}, line{0, done}), 0, true, 5 * time.Minute},
		"reasoning, then nothing":  {append(repeat(15, thought), repeat(50, comment)...), 0, false, 7 * time.Minute},
		"calls of tools":           {append(repeat(15, tool), line{0, text}, line{0, done}), 0, true, 5 * time.Minute},
		"not a byte":               {[]line{{time.Hour, text}}, 0, false, 30 * time.Second},
		"not a byte after a word":  {[]line{{0, text}, {time.Hour, text}}, 0, false, 30 * time.Second},
		"open after its reason":    {[]line{{0, text}, {0, reason}, {time.Hour, text}}, 0, true, 2 * time.Second},
		"more after its reason":    {[]line{{0, reason}, {time.Second, text}, {0, done}}, 0, true, time.Second},
		"a visitor who reads late": {[]line{{0, text}, {0, text}, {0, done}}, 10 * time.Minute, true, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body, server := io.Pipe()
				a := newAnswer(NewLimits(time.Hour, 2*time.Minute), func(embed.Piece) error {
					time.Sleep(tt.reads)
					return nil
				}, func() { _ = server.CloseWithError(errSilent) })
				defer a.pause()
				var writing sync.WaitGroup
				writing.Go(func() {
					for _, l := range tt.lines {
						time.Sleep(l.after)
						if _, err := io.WriteString(server, l.text); err != nil {
							return
						}
					}
				})
				start := time.Now()
				err := a.stream(alive{body, a}, readDelta)
				if took := time.Since(start); (err == nil) != tt.isDone || took != tt.took {
					t.Errorf("after %s: %v", took, err)
				}
				if !tt.isDone && !errors.Is(err, errSilent) {
					t.Error(err)
				}
				_ = body.Close()
				writing.Wait()
			})
		})
	}
}
