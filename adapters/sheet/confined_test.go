package sheet_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAFileIsReadOnItsWorkspacesShareOfChildren(t *testing.T) {
	var askedWorkspace identity.WorkspaceID
	sheets := sheet.NewConfined(func(_ context.Context, tenant identity.WorkspaceID, _ string, _ time.Duration, _,
		_ any) error {
		askedWorkspace = tenant
		return ports.ErrJobTimeout
	}, nil, time.Second)
	_, err := sheets.Preview(t.Context(), "wsp_1",
		ports.SheetTarget{Location: source.SheetLocation{URL: "https://sheets.example/a.csv"}})
	if askedWorkspace != "wsp_1" || !errors.Is(err, source.ErrSheetTimeout) {
		t.Errorf("the call is %q's: %v", askedWorkspace, err)
	}
}

func TestAReadThatWasRefusedIsNoFailureOfTheSheet(t *testing.T) {
	sheets := sheet.NewConfined(func(context.Context, identity.WorkspaceID, string, time.Duration, any, any) error {
		return ports.ErrJobRefused
	}, nil, time.Second)
	_, err := sheets.Preview(t.Context(), "wsp_1",
		ports.SheetTarget{Location: source.SheetLocation{URL: "https://sheets.example/a.csv"}})
	assert.ErrorIs(t, err, connection.ErrTooManyReads)
}

func TestAFileIsReadInTheLocaleOfItsLocationOrItsOrg(t *testing.T) {
	for locale, want := range map[string]string{"": `"Locale":"fr-FR"`, "de-DE": `"Locale":"de-DE"`} {
		sheets := sheet.NewConfined(func(_ context.Context, _ identity.WorkspaceID, _ string, _ time.Duration, in,
			_ any) error {
			text, err := json.Marshal(in)
			if err == nil && !strings.Contains(string(text), want) {
				t.Errorf("%q is read as %s", locale, text)
			}
			return err
		}, nil, time.Second)
		if _, err := sheets.Preview(t.Context(), "wsp_1", ports.SheetTarget{
			Location: source.SheetLocation{URL: "https://sheets.example/a.xlsx", Locale: locale},
			Offer:    ports.SheetOffer{Locale: "fr-FR"}}); err != nil {
			t.Error(err)
		}
	}
}
