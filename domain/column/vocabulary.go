package column

import (
	"slices"
	"strings"
)

// noise are words that name a value's owner, or say that it is the usual one, also in other languages.
var noise = setOf("contact", "customer", "client", "person", "primary", "main", "default", "your", "my", "buyer",
	"requester", "subscriber", "member", "lead", "billing", "bill", "1", "value", "eur", "usd", "gbp", "our",
	"associated", "related", "guest", "invitee", "attendee", "user", "flag", "editable", "non",
	"kunde", "kunden", "kontakt", "artikel", "produkt", "cliente", "referente", "contatto", "contacto", "contato",
	"klant", "klienta", "klient", "kontaktowy", "顧客", "会員", "担当者", "商品")

// parties are words of noise that name people. They are noise only in a schema about people.
var parties = setOf("contact", "customer", "client", "person", "buyer", "requester", "subscriber", "member", "lead",
	"guest", "invitee", "attendee", "user", "kunde", "kunden", "kontakt", "cliente", "referente", "contatto",
	"contacto", "contato", "klant", "klienta", "klient", "kontaktowy", "顧客", "会員", "担当者")

// fillers join other words, in the languages that synonyms are in.
var fillers = setOf("a", "an", "and", "or", "in", "on", "at", "for", "to", "de", "du", "des", "d", "l", "le", "la",
	"les", "del", "della", "di", "do", "da", "dos", "el", "il", "der", "die", "das", "und", "et", "y", "e", "van",
	"het", "w", "i", "kg", "g", "lb", "oz", "cm", "mm", "кг", "г", "utc", "gmt")

// qualifiers say which of several, and generics fit any column: they count, but little.
var (
	qualifiers = setOf("home", "office", "work", "business", "private", "personal", "gross", "net", "official",
		"suggested", "current", "seller", "address", "standard", "profile", "total", "base", "original", "regular")
	generics = setOf("name", "title", "text", "field", "code", "file")
	vague    = setOf("number", "date", "id", "name", "title", "text", "field", "code", "file")
)

// others are words for somebody whom the row is not about, and personal are words of fields for which that matters.
var (
	others = setOf("owner", "assignee", "agent", "manager", "seller", "supplier", "referrer", "cc", "bcc", "employee",
		"staff", "support", "assistant", "salesperson", "rep", "organizer", "host", "approver", "spouse", "emergency",
		"parent", "user", "shop", "store", "merchant", "reply", "fax", "alternate", "reading", "second", "secondary",
		"former", "previous", "vendor", "created", "updated", "maiden")
	personal = setOf("email", "firstname", "lastname", "fullname", "phone", "mobile", "street", "city", "region",
		"postcode", "country", "company", "jobtitle", "birthday", "customer", "website")
	person = setOf("firstname", "lastname", "fullname", "phone", "birthday")
)

// tailWords end the names of columns that are about a property of what the words before them name.
var tailWords = setOf("address", "code", "unit", "number", "id", "type", "group", "class", "status", "method", "rate")

// withoutNumber returns a name's words without a number at its end.
func withoutNumber(words []string) string {
	if n := len(words); n > 1 && words[n-1] == "1" {
		words = words[:n-1]
	}
	return strings.Join(words, " ")
}

// alike are pairs of words that must not count as typing errors of each other.
var alike = [][2]string{{"country", "county"}, {"state", "status"}, {"state", "stage"}, {"contact", "contract"},
	{"price", "prize"}, {"quantity", "quality"}, {"place", "plate"}, {"published", "publisher"}, {"product", "produce"},
	{"titel", "title"}}

// heads begin compound words of languages that write them as one. They carry little information, like noise.
var heads = []string{"artikel", "produkt", "product", "waren", "verkaufs", "verkoop", "lager", "商品", "販売", "お", "ご"}

// partyHeads are heads that name people and companies. They carry little information only in a schema about people.
var partyHeads = []string{"kunden", "kontakt", "contact", "firmen", "klanten", "klant", "bedrijfs", "担当者", "顧客", "会員"}

// tails end Japanese words without changing what they are about: name, text, field, date.
var tails = []string{"名", "文", "欄", "数"}

// inVocabulary returns a word without a head or tail, if the rest is known and the word is not.
func (m *matcher) inVocabulary(word string) string {
	if _, ok := m.known[word]; ok {
		return word
	}
	all := heads
	if m.isAboutPeople {
		all = slices.Concat(heads, partyHeads)
	}
	for _, head := range all {
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
	outerText, innerText := bracketed(name)
	return words(outerText), words(innerText)
}

// bracketed returns a name's text outside of brackets, and the text inside. If all of it is in brackets, it is
// outside.
func bracketed(name string) (outer, inner string) {
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
	if len(split(out.String())) == 0 {
		return in.String(), ""
	}
	return out.String(), in.String()
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
