package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAClockGoesForwardByAYearAtMost(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		payment.ClockAdvance
		want time.Time
	}{
		"by a duration":    {payment.ClockAdvance{By: time.Hour}, now.Add(time.Hour)},
		"to a time":        {payment.ClockAdvance{To: now.Add(time.Minute)}, now.Add(time.Minute)},
		"in whole seconds": {payment.ClockAdvance{To: now.Add(time.Second + 1)}, now.Add(time.Second)},
		"not nowhere":      {},
		"not both":         {ClockAdvance: payment.ClockAdvance{By: 1, To: now.Add(1)}},
		"not back":         {ClockAdvance: payment.ClockAdvance{By: -1}},
		"not to the past":  {ClockAdvance: payment.ClockAdvance{To: now}},
		"not too far":      {ClockAdvance: payment.ClockAdvance{By: payment.MaxClockAdvance + 1}},
		"nor to a far time": {ClockAdvance: payment.ClockAdvance{
			To: now.Add(payment.MaxClockAdvance + time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := tt.Target(now)
			assert.That(t, (err != nil) == tt.want.IsZero() && (err != nil || target.Equal(tt.want)), "%s, %v", target,
				err)
		})
	}
}
