package account_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/test/support/assert"
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
			assert.EqualSlice(t, "SearchWords", account.SearchWords(text), want)
		})
	}
}

func TestThePersonsStatus(t *testing.T) {
	for want, u := range map[account.PersonStatus]account.User{
		account.PersonActive: {}, account.PersonDisabled: {DisabledAt: now},
		account.PersonErased: {DisabledAt: now, ErasedAt: now},
	} {
		assert.Equal(t, "status", u.Status(), want)
	}
}
