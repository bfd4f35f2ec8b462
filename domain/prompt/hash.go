package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// Hash is the hex SHA-256 of c in a canonical form: equal contents have equal hashes, whatever the
// order of keys and however their numbers are written. Every field counts, the descriptions of
// variables too. It panics if Tools, ResponseFormat or a default is no JSON, which no version holds.
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

// canonical is v as compact JSON with sorted keys and nothing escaped for HTML. Numbers are
// written as encoding/json writes a float64, but for integers, whose digits all stay if v has
// them (json.Number).
func canonical(v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	decoded, err := decodeJSON(plain)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(withPlainNumbers(decoded)); err != nil {
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

// withPlainNumbers writes the numbers of a decoded value all in one way, in place.
func withPlainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return json.Number(formatNumber(v))
	case []any:
		for i := range v {
			v[i] = withPlainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withPlainNumbers(v[k])
		}
	}
	return v
}

// formatNumber writes 1.0, 1.00 and 1e0 as 1, as they come back from a float64. Integers keep
// their digits, and so does what no float64 can hold.
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
