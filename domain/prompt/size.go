package prompt

import "strings"

// Size is how many bytes c takes as JSON, but for the names of its own fields.
func (c Content) Size() int {
	size := quotedSize(c.Text) + sizeOf(c.Variables) + sizeOf(c.Model) + len(c.Tools) + len(c.ResponseFormat)
	for _, m := range c.Messages {
		size += len(m.Role) + quotedSize(m.Content) + len(m.Placeholder)
	}
	return size
}

// Size returns about how many bytes t takes without its versions.
func (t *Template) Size() int {
	size := len(t.Name) + len(t.Description) + len(t.Metadata)
	for _, tag := range t.Tags {
		size += len(tag) + len(`,""`)
	}
	return size
}

// Size returns about how many bytes v takes; 0 for nil.
func (v *Version) Size() int {
	if v == nil {
		return 0
	}
	return v.Content.Size() + len(v.CommitMessage)
}

// sizeOf is how many bytes v takes as JSON. What is no JSON takes none: that is found where it is
// checked, or stored.
func sizeOf(v any) int {
	text, err := encode(v)
	if err != nil {
		return 0
	}
	return len(text)
}

// quotedSize is how many bytes encode makes of a text, without doing so.
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
