package ports

import (
	"context"

	"github.com/atrium-hq/atrium/domain/billing"
)

//go:generate go tool mockgen -source=$GOFILE -destination=mocks/$GOFILE -package=mocks

// GatewayDetails is the part of a Gateway for what invoices show about a customer.
type GatewayDetails interface {
	// UpdateCustomer replaces the name, the e-mail address, the address and the tax ids of a customer by
	// those of d. Repeating it, also with another key, has no further effect. billing.ErrTaxIDInvalid if a
	// tax id cannot exist: then none of d is stored. billing.ErrAddressInvalid if d is Taxed, and the
	// gateway cannot determine the taxes at its address.
	UpdateCustomer(ctx context.Context, key string, c billing.CustomerID, d billing.Details) error
}
