package main

import (
	"slices"
	"strings"
)

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func isSeparator(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == ' ' || r == ':' || r == '/'
}

// words returns the parts of a name in any notation, in lower case.
func words(name string) []string {
	var all []string
	for _, part := range strings.FieldsFunc(name, isSeparator) {
		start := 0
		for i := 1; i < len(part); i++ {
			if isUpper(part[i]) && (!isUpper(part[i-1]) || (i+1 < len(part) && !isUpper(part[i+1]))) {
				all, start = append(all, strings.ToLower(part[start:i])), i
			}
		}
		all = append(all, strings.ToLower(part[start:]))
	}
	return all
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// initialisms are the words that Go writes in capitals.
var initialisms = strings.Fields("api http https id ip json pdf sql sso tls ttl ui uri url utc vat csv html")

// goName returns an exported name: APIKeys of apiKeys.
func goName(name string) string {
	var out strings.Builder
	for _, w := range words(name) {
		switch {
		case w == "etag":
			out.WriteString("ETag")
		case slices.Contains(initialisms, w):
			out.WriteString(strings.ToUpper(w))
		default:
			out.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return out.String()
}

// goVariable returns a local name: apiKeyID of api_key_id.
func goVariable(name string) string {
	parts := words(name)
	first := parts[0]
	if len(parts) == 1 {
		return first
	}
	return first + goName(strings.Join(parts[1:], "_"))
}

// pascal returns a name of a type: PromptTemplatesVersions of promptTemplates.versions.
func pascal(name string) string {
	var out strings.Builder
	for _, w := range words(name) {
		out.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	return out.String()
}

// camel returns promptTemplateId of prompt_template_id.
func camel(name string) string {
	p := pascal(name)
	return strings.ToLower(p[:1]) + p[1:]
}

// snake returns prompt_templates of promptTemplates.
func snake(name string) string {
	s := strings.Join(words(name), "_")
	if slices.Contains(pythonWords, s) {
		return s + "_"
	}
	return s
}

// pythonWords cannot be names in Python.
var pythonWords = strings.Fields(`and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// wrapped breaks a text into lines of at most width, and keeps its paragraphs and lists.
func wrapped(text string, width int) []string {
	var lines []string
	isOpen := false // the last line takes more words
	for source := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		source = strings.TrimSpace(source)
		if source == "" {
			lines = append(lines, "")
		}
		isOpen = isOpen && source != "" && !strings.HasPrefix(source, "- ")
		for _, w := range strings.Fields(source) {
			if last := len(lines) - 1; isOpen && len(lines[last])+1+len(w) <= width {
				lines[last] += " " + w
				continue
			}
			lines, isOpen = append(lines, w), true
		}
	}
	return lines
}

// documentation is what a method's comment says: the operation's text, and its errors.
func (c *call) documentation() string {
	text := c.text
	if len(c.codes) > 0 {
		text += "\n\nErrors: " + strings.Join(c.codes, ", ") + "; and those that every call can have."
	} else {
		text += "\n\nErrors: those that every call can have."
	}
	return text
}
