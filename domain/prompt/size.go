package prompt

import (
	"strings"

	"github.com/atrium-hq/atrium/domain/mustache"
)

// Size returns the size of c as JSON in bytes, without the names of its own fields.
func (c Content) Size() int {
	size := quotedSize(c.Text) + sizeOf(c.Variables) + sizeOf(c.Model) + len(c.Tools) + len(c.ResponseFormat)
	for _, m := range c.Messages {
		if size += len(m.Role) + quotedSize(m.Content) + len(m.Placeholder); !m.isPlain() {
			m.Content = ""
			size += sizeOf(m)
		}
	}
	return size
}

// Size returns the approximate size of t in bytes, without its versions.
func (t *Template) Size() int {
	size := len(t.Name) + len(t.Description) + len(t.Metadata)
	for _, tag := range t.Tags {
		size += len(tag) + len(`,""`)
	}
	return size
}

// Size returns the approximate size of v in bytes; 0 for nil.
func (v *Version) Size() int {
	if v == nil {
		return 0
	}
	return v.Content.Size() + len(v.CommitMessage)
}

// sizeOf returns the size of v as JSON in bytes. For invalid JSON, which is reported elsewhere, it
// returns 0.
func sizeOf(v any) int {
	text, err := mustache.Encode(v)
	if err != nil {
		return 0
	}
	return len(text)
}

// quotedSize returns how many bytes encode makes from a text, without encoding it.
func quotedSize(s string) int {
	size := len(s) + len(`""`) + 3*(strings.Count(s, "\u2028")+strings.Count(s, "\u2029"))
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', '\b' <= c && c <= '\r' && c != '\v':
			size++
		case c < ' ':
			size += len(`u0000`)
		}
	}
	return size
}
