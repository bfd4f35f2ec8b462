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
func customerDetails(c *payment.Customer) (entered, given string, err error) {
	var wrong, none error
	if !c.Entered.Matches(&payment.Details{}) {
		entered, wrong = encodeDetails(&c.Entered)
	}
	given, none = encodeDetails(c.Given)
	return entered, given, errors.Join(wrong, none)
}
