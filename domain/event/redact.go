package event

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Erased replaces texts in events that named an erased person.
const Erased = "[erased]"

// Redactor removes an erased person from events: the texts that name the person, and the network addresses of the
// person's requests. Ids stay: they are the pseudonym under which the trail is kept.
type Redactor struct {
	user       identity.UserID
	everywhere []*regexp.Regexp // names of several words, and addresses
	own        []*regexp.Regexp // names of one word, which can be any word: only in events by or about the person
}

// NewRedactor returns the redactor of the user that the texts in terms name.
func NewRedactor(user identity.UserID, terms []string) *Redactor {
	r := &Redactor{user: user}
	for _, term := range terms {
		if term = strings.TrimSpace(term); term == "" {
			continue
		}
		pattern := regexp.MustCompile(`(?i)` + regexp.QuoteMeta(term))
		if strings.ContainsFunc(term, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			r.everywhere = append(r.everywhere, pattern)
		} else {
			r.own = append(r.own, pattern)
		}
	}
	return r
}

// Redact removes the person from e, whose Data is stored as data, and returns what to store instead. changed is false
// if neither named the person.
func (r *Redactor) Redact(e *Event, data []byte) (result []byte, isChanged bool, err error) {
	patterns := r.everywhere
	if e.Actor == r.user || e.Subject == string(r.user) || (r.user != "" && bytes.Contains(data, []byte(r.user))) {
		patterns = append(patterns[:len(patterns):len(patterns)], r.own...)
	}
	if e.Actor == r.user && e.Request.Address != "" {
		e.Request.Address, isChanged = "", true
	}
	if id := replaceAll(e.Request.ID, patterns); id != e.Request.ID {
		e.Request.ID, isChanged = id, true
	}
	var value any
	decode := json.NewDecoder(bytes.NewReader(data))
	decode.UseNumber()
	if err := decode.Decode(&value); err != nil {
		return nil, false, err
	}
	inData := false
	value = redactValue(value, patterns, &inData)
	if !inData {
		return data, isChanged, nil
	}
	result, err = json.Marshal(value)
	return result, true, err
}

// Names reports whether a text names the person, wherever it is.
func (r *Redactor) Names(text string) bool { return replaceAll(text, r.everywhere) != text }

// redactValue replaces what patterns match in all strings within value, and sets isChanged if there was any.
func redactValue(value any, patterns []*regexp.Regexp, isChanged *bool) any {
	switch v := value.(type) {
	case string:
		next := replaceAll(v, patterns)
		*isChanged = *isChanged || next != v
		return next
	case []any:
		for i := range v {
			v[i] = redactValue(v[i], patterns, isChanged)
		}
	case map[string]any:
		for key := range v {
			v[key] = redactValue(v[key], patterns, isChanged)
		}
	}
	return value
}

// replaceAll replaces what the patterns match, unless it is a part of a longer word.
func replaceAll(text string, patterns []*regexp.Regexp) string {
	for _, p := range patterns {
		var out strings.Builder
		last := 0
		for _, match := range p.FindAllStringIndex(text, -1) {
			previous, _ := utf8.DecodeLastRuneInString(text[:match[0]])
			next, _ := utf8.DecodeRuneInString(text[match[1]:])
			if inWord(previous) || inWord(next) {
				continue
			}
			out.WriteString(text[last:match[0]] + Erased)
			last = match[1]
		}
		text = out.String() + text[last:]
	}
	return text
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// SignRedaction returns a redacted event's signature: e and data are as they are stored now, first is the signature
// from before, which stays in the chain. So only those who have the key can redact.
func SignRedaction(d Digest, e *Event, data, first []byte) []byte {
	sum := d("event redaction", first, Sign(d, e, data))
	return sum[:]
}
