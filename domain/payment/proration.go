package payment

import (
	"math/big"
	"time"
)

// Prorate returns amount × left / whole, rounded half up as gateways round.
func Prorate(amount int64, left, whole time.Duration) int64 {
	if whole <= 0 {
		return amount
	}
	n := new(big.Int).Mul(big.NewInt(amount), big.NewInt(2*int64(left)))
	n.Add(n, big.NewInt(int64(whole)))
	return n.Div(n, big.NewInt(2*int64(whole))).Int64() // towards negative infinity, for a positive divisor
}
