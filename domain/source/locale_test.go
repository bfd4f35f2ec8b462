package source_test

import (
	"errors"
	"testing"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/source"
)

func TestTheLocaleOfAWorkbookIsSetByWhoManagesIt(t *testing.T) {
	sheet := source.Location{Sheet: source.SheetLocation{URL: "file:a.xlsx", Locale: "de-DE"}}
	for name, tt := range map[string]struct {
		by      identity.Actor
		at      source.Location
		to      string
		wrong   error
		changed bool
	}{
		"its owner":                 {owner, sheet, "fr-FR", nil, true},
		"an admin":                  {admin, sheet, "fr-FR", nil, true},
		"back to that of the org":   {owner, sheet, "", nil, true},
		"the locale that it has":    {owner, sheet, "de-DE", nil, false},
		"another member":            {peer, sheet, "fr-FR", source.ErrForbidden, false},
		"a table has no locale":     {owner, source.Location{Connection: "con_1"}, "fr-FR", source.ErrNoLocale, false},
		"another member of a table": {peer, source.Location{Connection: "con_1"}, "fr-FR", source.ErrForbidden, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &source.Source{ID: "src_1", Workspace: "acme", Owner: owner.User, Location: tt.at, Revision: 1}
			isChanged, err := s.SetLocale(tt.by, revision.Match{1}, tt.to)
			if !errors.Is(err, tt.wrong) || isChanged != tt.changed {
				t.Fatalf("changed %v, error %v", isChanged, err)
			}
			want := tt.at.Sheet.Locale
			if tt.changed {
				want = tt.to
			}
			isChanged, isRecorded := s.Revision == 2, len(s.Recorded()) == 1
			if s.Location.Sheet.Locale != want || isChanged != tt.changed || isRecorded != tt.changed {
				t.Errorf("locale %q, revision %d, events %v", s.Location.Sheet.Locale, s.Revision, s.Recorded())
			}
		})
	}
}
