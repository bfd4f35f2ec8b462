package idempotency

import (
	"context"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestSettledBy holds the end of a request to its deadline: with engine.Grace after each operation on a silent
// database it is answered within a second of it.
func TestSettledBy(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		deadline time.Duration // from now; 0 for none
		want     time.Duration // from now
	}{
		"no one waits":                        {0, 2 * time.Second},
		"much time is left":                   {10 * time.Second, 2 * time.Second},
		"a little is left":                    {time.Second, time.Second + engine.Grace},
		"it has just passed":                  {-time.Millisecond, engine.Grace - time.Millisecond},
		"what ran has taken all of its grace": {-engine.Grace, engine.Grace / 4},
		"what ran has taken more than that":   {-time.Minute, engine.Grace / 4},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if tt.deadline != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadline(ctx, now.Add(tt.deadline))
				defer cancel()
			}
			by := settledBy(ctx, now)
			assert.Equal(t, "from now", by.Sub(now), tt.want)
			if excess := by.Add(engine.Grace).Sub(now.Add(tt.deadline)); tt.deadline < 0 &&
				tt.deadline >= -engine.Grace && excess >= time.Second {
				t.Errorf("a caller waits %s beyond their deadline", excess)
			}
		})
	}
}
