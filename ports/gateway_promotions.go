package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/payment"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// GatewayPromotions is what a Gateway does for promotion codes.
type GatewayPromotions interface {
	// Promotion returns a code's promotion that a customer can use for a sale now. The code's case does not count.
	// payment.ErrPromotionInvalid in all other cases: no such code, expired, used up, another customer's, or not for
	// this sale.
	Promotion(ctx context.Context, c payment.CustomerID, code string, sale payment.Sale) (payment.Promotion, error)
}
