package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
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
	decoded, err := decodeJSON(plain)
	if err != nil {
		return "", err
	}
	return encode(withPlainNumbers(decoded))
}

// encode is canonical for a value whose numbers are plain already.
func encode(v any) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
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

// withPlainNumbers returns a decoded value with all numbers in the notation of formatNumber.
func withPlainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(formatNumber(v))
	case []any:
		plain := make([]any, len(v))
		for i := range v {
			plain[i] = withPlainNumbers(v[i])
		}
		return plain
	case map[string]any:
		plain := make(map[string]any, len(v))
		for k := range v {
			plain[k] = withPlainNumbers(v[k])
		}
		return plain
	}
	return v
}

// maxNumber is how many characters a number can be written with: a float64 or an int64 needs less than
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

// formatNumber writes 1.0, 1.00 and 1e0 as 1, as they come back from a float64. Integers, and numbers
// that no float64 can hold, keep their digits.
func formatNumber(n json.Number) string {
	if !strings.ContainsAny(string(n), ".eE") {
		return string(n)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return string(n)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return string(n)
	}
	return string(text)
}
