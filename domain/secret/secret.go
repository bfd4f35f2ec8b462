// Package secret holds values that must never be shown: every way in which Go prints or encodes a value
// gives a placeholder instead.
package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// String is a secret string. It prints as [redacted] under every verb, in JSON, YAML, slog and text
// encodings. Only Reveal returns it, so that a search for Reveal finds every use. The zero String holds
// no secret.
type String struct{ reveal func() string }

// New wraps s. The string is in a closure, where reflection cannot reach it.
func New(s string) String {
	if s == "" {
		return String{}
	}
	return String{reveal: func() string { return s }}
}

// Reveal returns the secret itself.
func (s String) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether there is no secret.
func (s String) IsZero() bool { return s.reveal == nil }

// The encodings and printers below all return the placeholder.

func (s String) String() string                { return redacted }
func (s String) GoString() string              { return redacted }
func (s String) Format(f fmt.State, _ rune)    { _, _ = f.Write([]byte(redacted)) }
func (s String) MarshalText() ([]byte, error)  { return []byte(redacted), nil }
func (s String) MarshalJSON() ([]byte, error)  { return json.Marshal(redacted) }
func (s String) MarshalYAML() (any, error)     { return redacted, nil }
func (s String) LogValue() slog.Value          { return slog.StringValue(redacted) }
func (s *String) UnmarshalText(b []byte) error { *s = New(string(b)); return nil }
