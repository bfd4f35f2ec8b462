package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/atrium-hq/atrium/domain/mustache"
)

// Hash returns the hex SHA-256 of c in a canonical form: equal contents have equal hashes, whatever the
// order of keys and the notation of numbers. Every field counts, including the descriptions of
// variables. It panics if Tools, ResponseFormat or a default is not JSON, which no version contains.
func (c Content) Hash() string {
	form, err := canonical(struct {
		Text           string          `json:"text,omitempty"`
		Messages       []Message       `json:"messages,omitempty"`
		Format         Format          `json:"format"`
		Variables      []Variable      `json:"variables,omitempty"`
		Model          *ModelConfig    `json:"model_config,omitempty"`
		Tools          json.RawMessage `json:"tools,omitempty"`
		ResponseFormat json.RawMessage `json:"response_format,omitempty"`
	}(c))
	if err != nil {
		panic("prompt: the hash of a content that was never checked: " + err.Error())
	}
	sum := sha256.Sum256([]byte(form))
	return hex.EncodeToString(sum[:])
}

// canonical returns v as compact JSON with sorted keys and without HTML escapes. Numbers are written as
// encoding/json writes a float64, except integers, which keep all their digits if v has them
// (json.Number).
func canonical(v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	value, err := decodeJSON(plain)
	if err != nil {
		return "", err
	}
	return mustache.Encode(mustache.PlainNumbers(value))
}

var errNotJSON = errors.New("not JSON")

// decodeJSON reads one JSON value and keeps every digit of its numbers.
func decodeJSON(text []byte) (any, error) {
	if !json.Valid(text) { // a Decoder stops after the first value
		return nil, errNotJSON
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// maxNumber is the maximum number of characters in a number: a float64 or an int64 needs less than
// half. Without a limit, 1.000… could make each step slow that handles a number.
const maxNumber = 64

const numberRule = "A number must be written with at most 64 characters."

// hasLongNumber reports whether a decoded value is, or contains, a number longer than maxNumber.
func hasLongNumber(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return len(v) > maxNumber
	case []any:
		return slices.ContainsFunc(v, hasLongNumber)
	case map[string]any:
		for _, member := range v {
			if hasLongNumber(member) {
				return true
			}
		}
	}
	return false
}
