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
	"github.com/atrium-hq/atrium/test/support/assert"
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
		assert.Equal(t, "lines in 10 seconds", strings.Count(out.String(), "connection refused"), 10)
		assert.Equal(t, "lines say how many were left out", strings.Count(out.String(), `"suppressed":99`), 9)
		assert.Equal(t, "lines about something else", strings.Count(out.String(), "another"), 1000)
	})
}
