package db

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

type packedPart struct {
	Name string `db:"name"`
}

type packedRow struct {
	packedPart
	Count  int    `db:"count"`
	IsGone bool   `db:"is_gone"`
	Data   []byte `db:"data"`
	Left   string `db:"left_out"`
}

func TestAPackedTextIsReadInTheOrderOfTheRows(t *testing.T) {
	p := NewPackedList[packedRow]("left_out")
	const want = `concat(octet_length(name) || ':' || name, count || ' ', is_gone || ' ', ` +
		`octet_length(data) || ':' || data)`
	if p.text() != want {
		t.Fatalf("%s, want %s", p.text(), want)
	}
	rows, err := p.Unpack("2 4:a:1 -12 x0:2:éx7 false 3:{}\n")
	if err == nil {
		t.Fatalf("a boolean that is neither true nor false: %+v", rows)
	}
	rows, err = p.Unpack("2 4:a:1 -12 1 0:0:7 false 3:{}\n")
	if err != nil || len(rows) != 2 || rows[0].Name != "a:1 " || rows[0].Count != -12 || !rows[0].IsGone ||
		len(rows[0].Data) != 0 || rows[1].Name != "" || rows[1].IsGone || string(rows[1].Data) != "{}\n" {
		t.Fatalf("%+v, %v", rows, err)
	}
	if rows, err = p.Unpack("0 "); err != nil || len(rows) != 0 {
		t.Errorf("no rows: %+v, %v", rows, err)
	}
}

func TestAPackedTextThatIsDamagedIsAnError(t *testing.T) {
	p := NewPackedList[packedRow]("left_out")
	for _, text := range []string{
		"", "x ", "-1 ", "99 ", "1 ", "1 1:a1 1 0:rest", "1 1:a 1 0:", "1 1:a1 x 0:", "1 9:a1 1 0:", "1 -1:a1 1 0:",
		"1 1:a1 1 ", "1 1:a1 1 1:",
	} {
		if rows, err := p.Unpack(text); err == nil {
			t.Errorf("%q: %+v", text, rows)
		}
	}
}

func TestAPackedRowIsReadIntoNestedFields(t *testing.T) {
	type row struct {
		Part    packedPart `db:"p"`
		Granted Granters   `db:"granted"`
		IsOn    bool       `db:"is_on"`
		Left    string     `db:"left_out"`
	}
	p := NewPackedRow[row](slices.Concat(ColumnsOf(`x.%`, `p.`, []string{"name"}),
		ColumnsOf(`COALESCE(y.%, '')`, ``, []string{"granted"}), ColumnsOf(`COALESCE(y.%, FALSE)`, ``, []string{"is_on"})))
	const (
		columns = `x.name AS "p.name", COALESCE(y.granted, '') AS "granted", COALESCE(y.is_on, FALSE) AS "is_on"`
		text    = `concat(octet_length("p.name") || ':' || "p.name", octet_length("granted") || ':' || "granted", ` +
			`"is_on" || ' ')`
	)
	if p.Columns() != columns || p.Text() != text {
		t.Errorf("%s\n%s", p.Columns(), p.Text())
	}
	var got row
	require.NoError(t, p.Unpack(`4:1:a 5:["a"]true `, &got))
	if got.Part.Name != "1:a " || len(got.Granted) != 1 || !got.IsOn {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "1:a", "1:a0:", "1:a0:1", "1:a0:x ", "1:a0:1 1", "1:a1:{1 ", "2:a0:1 "} {
		if err := p.Unpack(text, &got); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
