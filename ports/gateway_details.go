package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/payment"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// GatewayDetails is what a Gateway does for what invoices show about a customer.
type GatewayDetails interface {
	// UpdateCustomer replaces a customer's name, e-mail address, address and tax ids by the details in d. Repeating it,
	// even with another key, has no further effect. payment.ErrTaxIDInvalid if a tax id cannot exist: then none of d is
	// stored. payment.ErrAddressInvalid if d is Taxed, and the gateway cannot determine the taxes at its address.
	UpdateCustomer(ctx context.Context, key string, c payment.CustomerID, d payment.Details) error
}
