package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/billing"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// GatewayPromotions is the part of a Gateway for promotion codes.
type GatewayPromotions interface {
	// Promotion returns the promotion of a code that a customer can use for a sale now. The code's case
	// does not count. billing.ErrPromotionInvalid in all other cases: no such code, expired, used up,
	// another customer's, or not for this sale.
	Promotion(ctx context.Context, c billing.CustomerID, code string, of billing.Sale) (billing.Promotion, error)
}
