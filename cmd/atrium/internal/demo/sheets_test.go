package demo

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheSampleWorkbooksAreSuggestedRight(t *testing.T) {
	folder := t.TempDir()
	for range 2 { // what is there stays
		require.NoError(t, makeSheets(folder))
	}
	documents := sheet.NewDocuments(node.SheetGuard, nil, folder, sheet.DefaultLimits())
	for name, want := range map[string]struct {
		headerRow int
		headers   []string
		mapping   map[string]string
	}{
		signups: {
			1, []string{"First Name", "Last Name", "E-mail Address", "Company", "Country", "Signed up", "Newsletter"},
			map[string]string{"email": "E-mail Address", "first_name": "First Name", "last_name": "Last Name",
				"company": "Company", "country": "Country", "created_at": "Signed up"},
		},
		traders: {
			3, []string{"No.", "Name", "Name (2)", "E-mail", "Phone", "City", "Country", "Q1", "Column I"},
			map[string]string{"email": "E-mail", "phone": "Phone", "city": "City", "country": "Country",
				"full_name": "Name"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := documents.Preview(t.Context(), "",
				ports.SheetTarget{Location: source.SheetLocation{URL: source.FileScheme + name},
					Offer: ports.SheetOffer{Files: true}})
			require.NoError(t, err)
			var headers []string
			for _, h := range s.Preview.Headers {
				headers = append(headers, h.Name)
			}
			if s.Preview.HeaderRow != want.headerRow || !slices.Equal(headers, want.headers) {
				t.Errorf("row %d: %q", s.Preview.HeaderRow, headers)
			}
			for _, g := range column.Suggest(source.CommonTypes()[0].Schema(), s.Preview.Headers, nil) {
				if want.mapping[g.Field] != g.Column {
					t.Errorf("%s is %q, want %q", g.Field, g.Column, want.mapping[g.Field])
				}
				delete(want.mapping, g.Field)
			}
			if len(want.mapping) > 0 {
				t.Errorf("nothing is suggested for %v", want.mapping)
			}
		})
	}
}
