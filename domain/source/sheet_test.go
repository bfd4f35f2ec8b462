package source_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/source"
)

func TestTabsAreFoundByIDAndTitle(t *testing.T) {
	tabs := []source.Tab{{ID: "1", Title: "Secret", Hidden: true}, {ID: "2", Title: "People"}, {ID: "3", Title: "2"},
		{ID: "4", Title: "people"}}
	for query, want := range map[string]string{"": "2", "1": "1", "2": "2", "People": "2", "people": "4",
		"PEOPLE": "2"} {
		if got, err := source.FindTab(tabs, query); err != nil || got.ID != want {
			t.Errorf("%q is tab %q, %v", query, got.ID, err)
		}
	}
	if got, err := source.FindTab(tabs[:1], ""); err != nil || got.ID != "1" {
		t.Errorf("among hidden tabs only: %q, %v", got.ID, err)
	}
	for _, empty := range [][]source.Tab{nil, tabs} {
		if _, err := source.FindTab(empty, "Foo"); err != source.ErrTabNotFound {
			t.Errorf("a tab that is not there: %v", err)
		}
	}
	if _, err := source.FindTab(nil, ""); err != source.ErrTabNotFound {
		t.Errorf("without tabs: %v", err)
	}
}
