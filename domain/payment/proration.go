package payment

import (
	"math/big"
	"time"
)

// Prorate returns amount × left / whole, rounded half up as gateways round.
func Prorate(amount int64, remaining, period time.Duration) int64 {
	if period <= 0 {
		return amount
	}
	n := new(big.Int).Mul(big.NewInt(amount), big.NewInt(2*int64(remaining)))
	n.Add(n, big.NewInt(int64(period)))
	return n.Div(n, big.NewInt(2*int64(period))).Int64() // towards negative infinity, for a positive divisor
}
