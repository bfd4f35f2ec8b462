package account

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/atrium-hq/atrium/domain/page"
)

// PersonStatus reports whether a person's account can be used.
type PersonStatus string

// The values of PersonStatus.
const (
	PersonActive   PersonStatus = "active"
	PersonDisabled PersonStatus = "disabled"
	PersonErased   PersonStatus = "erased" // for good
)

// Status returns the status of u's account.
func (u *User) Status() PersonStatus {
	switch {
	case u.Erased():
		return PersonErased
	case !u.Enabled():
		return PersonDisabled
	}
	return PersonActive
}

// PeopleFilter narrows a list of people. Empty fields match every person.
type PeopleFilter struct {
	Words  []string // as SearchWords returns them: each begins a word of the name or the e-mail address
	Status PersonStatus
}

// PersonSummary is a person as operators see them.
type PersonSummary struct {
	User       User
	LastSeenAt time.Time // the latest use of a session, an API key or a token, exact to a minute; zero: never
	Workspaces int       // without deleted ones
	Sessions   int       // live ones
	Keys       int       // live ones that authenticate the person
}

// PersonPage is one page of people.
type PersonPage = page.Of[PersonSummary]

// maxWords is the maximum number of words that are used to find a person: a name has at most 120 characters.
const maxWords = 64

// SearchWords returns the words of texts, folded so that accents and case do not matter, without repetitions.
func SearchWords(texts ...string) []string {
	var words []string
	for _, text := range texts {
		letters := strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Mn, r) { // what an accent became
				return -1
			}
			return unicode.ToLower(r)
		}, norm.NFKD.String(text))
		words = append(words, strings.FieldsFunc(letters, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})...)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return words[:min(len(words), maxWords)]
}
