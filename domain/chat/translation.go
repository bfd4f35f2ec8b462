package chat

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/atrium-hq/atrium/domain/fault"
)

const maxTranslations = 20

// Translation is what visitors read in a language, in place of the greeting and the starters.
type Translation struct {
	Language string   `json:"language"`           // a tag of BCP 47, such as de or pt-BR
	Greeting string   `json:"greeting,omitempty"` // as Content.Greeting
	Starters []string `json:"starters,omitempty"` // as Content.Starters
}

// languageTag has a tag's parts in the case that BCP 47 recommends: language, script, region and variants.
var languageTag = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?(-[0-9a-z]{4,8})*$`)

func sameTranslation(a, b Translation) bool {
	return a.Language == b.Language && a.Greeting == b.Greeting && slices.Equal(a.Starters, b.Starters)
}

func checkTranslations(errs *fault.Fields, list []Translation) {
	if len(list) > maxTranslations {
		errs.Add("/translations", "too_many_items", fmt.Sprintf("Must have at most %d items.", maxTranslations))
	}
	for i, t := range list {
		pointer := fmt.Sprintf("/translations/%d", i)
		switch {
		case !languageTag.MatchString(t.Language):
			errs.Add(pointer+"/language", "invalid_format", "Must be a language tag such as de or pt-BR.")
		case slices.ContainsFunc(list[:i], func(o Translation) bool { return o.Language == t.Language }):
			errs.Add(pointer+"/language", "duplicate_item", "Is in the list already.")
		}
		checkGreeting(errs, pointer, t.Greeting, t.Starters)
	}
}

// checkGreeting checks what visitors read before they write, which is at pointer.
func checkGreeting(errs *fault.Fields, pointer, greeting string, starters []string) {
	errs.AddText(pointer+"/greeting", greeting, maxGreeting)
	pointer += "/conversation_starters"
	if len(starters) > maxStarters {
		errs.Add(pointer, "too_many_items", fmt.Sprintf("Must have at most %d items.", maxStarters))
	}
	for i, s := range starters {
		place := fmt.Sprintf("%s/%d", pointer, i)
		if s == "" {
			errs.Add(place, "too_short", "Must not be empty.")
		}
		errs.AddText(place, s, maxStarter)
	}
}
