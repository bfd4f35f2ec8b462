package sqlstore

import "testing"

func TestAPackedRowWithAnotherNumberOfPartsIsNotRead(t *testing.T) {
	type row struct {
		ID   string `db:"id"`
		Name string `db:"name"`
	}
	p := pack[row](columnsOf(`t.%`, ``, []string{"id", "name"}))
	for text, isRow := range map[string]bool{"1\x1fAnn": true, "1\x1f": true, "1": false, "1\x1fAnn\x1fLee": false} {
		var r row
		if p.unpack(text, &r) != isRow {
			t.Errorf("%q was read: %v, as %+v", text, !isRow, r)
		}
	}
}
