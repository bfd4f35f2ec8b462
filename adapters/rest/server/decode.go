package server

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// plainBody is a type of a body that reads the usual ones without reflection, and reports whether it has.
type plainBody interface {
	DecodePlain(body []byte) bool
}

// Decode reads the body into the type that openapi.yaml declares for it. The body has already been
// checked against the contract, so an error here is a bug of ours.
func Decode[T any](r *Call) (T, error) {
	var in T
	if len(r.Payload) == 0 {
		return in, nil
	}
	if plain, ok := any(&in).(plainBody); ok && plain.DecodePlain(r.Payload) {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Payload))
	d.UseNumber() // members that the contract does not declare keep every digit
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("rest: a body passed the contract but not its type: %w", err)
	}
	return in, nil
}
