package payments

import (
	"encoding/json"
	"errors"

	"github.com/atrium-hq/atrium/domain/payment"
)

// encodeDetails returns billing details as JSON; the empty text for nil.
func encodeDetails(d *payment.Details) (string, error) {
	if d == nil {
		return "", nil
	}
	text, err := json.Marshal(d)
	return string(text), err
}

// customerDetails returns the stored form of the billing details of c.
func customerDetails(c *payment.Customer) (current, synced string, err error) {
	var problem, empty error
	if !c.Entered.Matches(&payment.Details{}) {
		current, problem = encodeDetails(&c.Entered)
	}
	synced, empty = encodeDetails(c.Given)
	return current, synced, errors.Join(problem, empty)
}
