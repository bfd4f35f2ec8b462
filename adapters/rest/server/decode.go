package server

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Decode reads the body into the type that openapi.yaml declares for it. The body has already been
// checked against the contract, so an error here is a bug of ours.
func Decode[T any](r *Call) (T, error) {
	var in T
	if len(r.Payload) == 0 {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Payload))
	d.UseNumber() // members that the contract does not declare keep every digit
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("rest: a body passed the contract but not its type: %w", err)
	}
	return in, nil
}
