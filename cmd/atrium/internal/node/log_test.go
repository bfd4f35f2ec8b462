package node

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/ports"
)

func TestAnOutageFillsNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := NewLog(&out, configs.Log{Format: "json"})
		for i := range 1000 {
			from := fmt.Errorf("dial from port %d: %w", i, syscall.ECONNREFUSED)
			log.Error("request failed", "error", fmt.Errorf("%w: %w", ports.ErrUnavailable, from))
			log.With("a", 1).Error("request failed", "error", errors.New("another"))
			time.Sleep(10 * time.Millisecond)
		}
		if n := strings.Count(out.String(), "connection refused"); n != 10 {
			t.Errorf("%d lines in 10 seconds", n)
		}
		if n := strings.Count(out.String(), `"suppressed":99`); n != 9 {
			t.Errorf("%d lines say how many were left out", n)
		}
		if n := strings.Count(out.String(), "another"); n != 1000 {
			t.Errorf("%d lines about something else", n)
		}
	})
}
