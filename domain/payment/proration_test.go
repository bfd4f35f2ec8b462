package payment_test

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestProrationRoundsHalfUp(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for _, tt := range []struct {
		amount      int64
		left, whole time.Duration
		want        int64
	}{
		{2900, month, month, 2900},
		{2900, month - time.Second, month, 2900},
		{2900, month / 2, month, 1450},
		{5, month / 2, month, 3},
		{-5, month / 2, month, -2},
		{1, month / 3, month, 0},
		{99_999_999 * 10_000, 366 * 24 * time.Hour, 366 * 24 * time.Hour, 99_999_999 * 10_000},
		{7, time.Hour, 0, 7},
	} {
		got := payment.Prorate(tt.amount, tt.left, tt.whole)
		assert.That(t, got == tt.want, "%d for %s of %s = %d, want %d", tt.amount, tt.left, tt.whole, got, tt.want)
	}
}
