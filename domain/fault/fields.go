package fault

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Fields collects what is wrong with a body's fields, at most maxFields: a response must not grow to many times the
// size of its request.
type Fields []Field

const maxFields = 500

// Add adds what is wrong with the field at a JSON Pointer.
func (f *Fields) Add(pointer, code, detail string) {
	if len(*f) < maxFields {
		*f = append(*f, Field{Pointer: pointer, Code: code, Detail: detail})
	}
}

// AddCharacters adds a text with characters that PostgreSQL cannot store.
func (f *Fields) AddCharacters(pointer, text string) {
	if strings.Contains(text, "\x00") || !utf8.ValidString(text) {
		f.Add(pointer, "invalid_characters", "Must be UTF-8 without NUL.")
	}
}

// AddText adds a text of more than limit characters, or with characters that PostgreSQL cannot store.
func (f *Fields) AddText(pointer, text string, limit int) {
	if utf8.RuneCountInString(text) > limit {
		f.Add(pointer, "too_long", fmt.Sprintf("Must have at most %d characters.", limit))
	}
	f.AddCharacters(pointer, text)
}

// Err returns ErrInvalid with f, or nil if f is empty.
func (f Fields) Err() error { return InvalidFields(f) }

// InField returns ErrInvalid with one field.
func InField(pointer, code, detail string) error {
	return ErrInvalid.WithFields(Field{Pointer: pointer, Code: code, Detail: detail})
}
