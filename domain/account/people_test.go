package account_test

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
)

func TestSearchWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		" .-@ ":                 nil,
		"Ada Lovelace":          {"ada", "lovelace"},
		"ada.l+tag@example.com": {"ada", "com", "example", "l", "tag"},
		"Jürgen ŻÓŁĆ":           {"jurgen", "zołc"},
		"Ann ann ANN":           {"ann"},
		"李 小龙":                  {"小龙", "李"},
	} {
		t.Run("of "+text, func(t *testing.T) {
			if got := account.SearchWords(text); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestThePersonsStatus(t *testing.T) {
	for want, u := range map[account.PersonStatus]account.User{
		account.PersonActive: {}, account.PersonDisabled: {DisabledAt: now},
		account.PersonErased: {DisabledAt: now, ErasedAt: now},
	} {
		if got := u.Status(); got != want {
			t.Errorf("status %s, want %s", got, want)
		}
	}
}
