package openapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atrium-hq/atrium/domain/source"
)

func TestLocalesOfSheetsAreThoseOfTheDomain(t *testing.T) {
	schemas := document(t)["components"].(object)["schemas"].(object)
	var got []string
	for _, name := range list(schemas["SheetLocale"].(object)["enum"]) {
		got = append(got, name.(string))
	}
	if diff := cmp.Diff(source.Locales(), got); diff != "" {
		t.Error(diff)
	}
}
