package payments

import (
	"encoding/json"

	"github.com/atrium-hq/atrium/domain/payment"
)

// decodeColumn reads JSON; an empty column leaves into as it is.
func decodeColumn(text string, target any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), target)
}

// encodeOptional returns what p points to as JSON; nil is an empty text.
func encodeOptional[T any](p *T) (string, error) {
	if p == nil {
		return "", nil
	}
	text, err := json.Marshal(p)
	return string(text), err
}

// encodeList returns a list as JSON; an empty list is an empty text.
func encodeList[T any](all []T) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// encodeUnlessZero returns a value as JSON; the zero value is an empty text.
func encodeUnlessZero[T comparable](v T) (string, error) {
	if v == *new(T) {
		return "", nil
	}
	return encodeOptional(&v)
}

// encodeDetails returns billing details as JSON; the empty text for nil.
func encodeDetails(d *payment.Details) (string, error) {
	if d == nil {
		return "", nil
	}
	text, err := json.Marshal(d)
	return string(text), err
}
