package source

import (
	"maps"
	"slices"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
)

// LocaleDate is how a place writes a date and a time in numbers, in the letters of Excel's number formats.
type LocaleDate struct {
	Date string
	Time string // without seconds, of 24 hours
}

// localeDates are the short dates of Windows' regional settings, by which Excel shows the built-in formats 14 and 22
// (ECMA-376 part 1, 18.8.30), and whether they write hours with two digits.
var localeDates = map[string]LocaleDate{
	"cs-CZ": {"dd.mm.yyyy", "h:mm"},
	"da-DK": {"dd-mm-yyyy", "hh:mm"},
	"de-AT": {"dd.mm.yyyy", "hh:mm"},
	"de-CH": {"dd.mm.yyyy", "hh:mm"},
	"de-DE": {"dd.mm.yyyy", "hh:mm"},
	"en-AU": {"d/mm/yyyy", "h:mm"},
	"en-CA": {"yyyy-mm-dd", "h:mm"},
	"en-GB": {"dd/mm/yyyy", "hh:mm"},
	"en-IE": {"dd/mm/yyyy", "hh:mm"},
	"en-IN": {"dd-mm-yyyy", "hh:mm"},
	"en-NZ": {"d/mm/yyyy", "h:mm"},
	"en-US": {"m/d/yyyy", "h:mm"},
	"en-ZA": {"yyyy/mm/dd", "hh:mm"},
	"es-ES": {"dd/mm/yyyy", "h:mm"},
	"es-MX": {"dd/mm/yyyy", "hh:mm"},
	"fi-FI": {"d.m.yyyy", "h:mm"},
	"fr-CA": {"yyyy-mm-dd", "hh:mm"},
	"fr-CH": {"dd.mm.yyyy", "hh:mm"},
	"fr-FR": {"dd/mm/yyyy", "hh:mm"},
	"it-CH": {"dd.mm.yyyy", "hh:mm"},
	"it-IT": {"dd/mm/yyyy", "hh:mm"},
	"ja-JP": {"yyyy/mm/dd", "h:mm"},
	"ko-KR": {"yyyy-mm-dd", "h:mm"},
	"nb-NO": {"dd.mm.yyyy", "hh:mm"},
	"nl-BE": {"d/mm/yyyy", "hh:mm"},
	"nl-NL": {"d-m-yyyy", "hh:mm"},
	"pl-PL": {"dd.mm.yyyy", "hh:mm"},
	"pt-BR": {"dd/mm/yyyy", "hh:mm"},
	"pt-PT": {"dd/mm/yyyy", "hh:mm"},
	"ro-RO": {"dd.mm.yyyy", "hh:mm"},
	"ru-RU": {"dd.mm.yyyy", "hh:mm"},
	"sk-SK": {"dd.mm.yyyy", "h:mm"},
	"sv-SE": {"yyyy-mm-dd", "hh:mm"},
	"tr-TR": {"d.mm.yyyy", "hh:mm"},
	"uk-UA": {"dd.mm.yyyy", "h:mm"},
	"zh-CN": {"yyyy/m/d", "h:mm"},
	"zh-TW": {"yyyy/m/d", "hh:mm"},
}

// DefaultLocale is the locale of sheets where neither the caller nor the org names one.
const DefaultLocale = "en-US"

// Locales returns the names of the locales that sheets can be read in (BCP 47), sorted.
func Locales() []string { return slices.Sorted(maps.Keys(localeDates)) }

// DateOf returns how a locale writes dates; DefaultLocale decides if it is empty or unknown.
func DateOf(locale string) LocaleDate {
	if found, ok := localeDates[locale]; ok {
		return found
	}
	return localeDates[DefaultLocale]
}

// ErrNoLocale is returned for a table locale.
var ErrNoLocale = fault.InField("/locale", "not_allowed_value",
	"Must not be set for a table. Only workbooks have dates that depend on the reader's system.")

// SetLocale sets the locale in which a workbook's dates are shown (SheetLocation.Locale); empty for the org's. It
// reports whether s must be read again. Requires the admin role, unless by owns s. ErrNoLocale for a table.
func (s *Source) SetLocale(by identity.Actor, match revision.Match, locale string) (isChanged bool, err error) {
	switch err := s.allow(by, Manage, match); {
	case err != nil:
		return false, err
	case s.Location.Backend() != SheetBackend:
		return false, ErrNoLocale
	case locale == s.Location.Sheet.Locale:
		return false, nil
	}
	s.Record(by, "source.locale_changed", string(s.ID),
		map[string]any{"locale": event.Change{From: s.Location.Sheet.Locale, To: locale}})
	s.Location.Sheet.Locale = locale
	s.touch(by)
	return true, nil
}
