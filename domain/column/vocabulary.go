package column

import "strings"

// noise are words that name a value's owner, or say that it is the usual one, also in other languages.
var noise = setOf("contact", "customer", "client", "person", "primary", "main", "default", "your", "my", "buyer",
	"requester", "subscriber", "member", "lead", "billing", "bill", "1", "value", "eur", "usd", "gbp", "our",
	"associated", "related", "guest", "invitee", "attendee", "user", "flag", "editable", "non",
	"kunde", "kunden", "kontakt", "artikel", "produkt", "cliente", "referente", "contatto", "contacto", "contato",
	"klant", "klienta", "klient", "kontaktowy", "顧客", "会員", "担当者", "商品")

// fillers join other words, in the languages that synonyms are in.
var fillers = setOf("a", "an", "and", "or", "in", "on", "at", "for", "to", "de", "du", "des", "d", "l", "le", "la",
	"les", "del", "della", "di", "do", "da", "dos", "el", "il", "der", "die", "das", "und", "et", "y", "e", "van",
	"het", "w", "i")

// qualifiers say which of several, and generics fit any column: they count, but little.
var (
	qualifiers = setOf("home", "office", "work", "business", "private", "personal", "gross", "net", "official",
		"suggested", "current", "seller", "address", "standard", "profile", "total", "base")
	generics = setOf("name", "title", "text", "field", "code")
)

// owners are words for a person other than the one that the row is about.
var owners = []string{"owner", "assignee", "agent", "manager", "seller", "vendor", "supplier", "created", "updated",
	"by", "referrer", "sender", "cc", "employee", "staff", "support"}

// alike are pairs of words that must not count as typing errors of each other.
var alike = [][2]string{{"country", "county"}, {"state", "status"}, {"state", "stage"}, {"contact", "contract"},
	{"price", "prize"}, {"quantity", "quality"}, {"place", "plate"}, {"published", "publisher"}, {"product", "produce"}}

// heads begin compound words of languages that write them as one. They carry little information, like noise.
var heads = []string{"artikel", "produkt", "product", "kunden", "kontakt", "contact", "firmen", "waren", "klanten",
	"klant", "bedrijfs", "verkaufs", "verkoop", "lager", "担当者", "商品", "顧客", "会員", "販売", "お", "ご"}

// tails end Japanese words without changing what they are about: name, text, field, date.
var tails = []string{"名", "文", "欄", "数"}

// inVocabulary returns a word without a head or tail, if the rest is known and the word is not.
func (m *matcher) inVocabulary(word string) string {
	if _, ok := m.known[word]; ok {
		return word
	}
	for _, head := range heads {
		if rest, ok := strings.CutPrefix(word, head); ok && m.isKnown(rest) {
			return rest
		}
	}
	for _, tail := range tails {
		if rest, ok := strings.CutSuffix(word, tail); ok && m.isKnown(rest) {
			return rest
		}
	}
	return word
}

func (m *matcher) isKnown(word string) bool {
	_, ok := m.known[word]
	return ok
}

// unbracketed returns a name's words outside of brackets, and those inside. A name that is all in brackets has none.
func unbracketed(name string) (outer, inner []string) {
	var out, in strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case strings.ContainsRune("([{（［【", r):
			depth++
			r = ' '
		case strings.ContainsRune(")]}）］】", r):
			depth = max(depth-1, 0)
			r = ' '
		}
		if depth > 0 {
			in.WriteRune(r)
			out.WriteRune(' ')
		} else {
			out.WriteRune(r)
			in.WriteRune(' ')
		}
	}
	outer, inner = words(out.String()), words(in.String())
	if len(outer) == 0 {
		return inner, nil
	}
	return outer, inner
}

// isTransposed reports whether two texts differ only in two neighbouring Latin letters.
func isTransposed(a, b string) bool {
	if len(a) != len(b) || len(a) < 4 {
		return false
	}
	offset := 0
	for offset < len(a) && a[offset] == b[offset] {
		offset++
	}
	return offset+1 < len(a) && a[offset] == b[offset+1] && a[offset+1] == b[offset] && a[offset+2:] == b[offset+2:]
}
