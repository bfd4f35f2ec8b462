package clickhouse

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAnErrorAmongRowsIsNoRow(t *testing.T) {
	const begin, thrown = `{"meta": [{"name": "a", "type": "String"}], "data": [["x"], [null]`, "Code: 395"
	for name, tt := range map[string]struct {
		body string
		rows int
		want error
	}{
		"an answer with all its rows":  {begin + `], "rows": 2, "statistics": {"elapsed": 0.1}}`, 2, nil},
		"rows that read like an error": {`{"data": [["Code: 241, e.displayText() = DB::Exception"]]}`, 1, nil},
		"an error after a row": {begin + thrown + ", e.displayText() = DB::Exception: c4n4ry", 2,
			connection.TableUnreadable},
		"an error after a comma": {begin + ",\n" + thrown + ". DB::Exception: c4n4ry (X)", 2,
			connection.TableUnreadable},
		"an error with its tags": {begin + ",\r\n__exception__\r\nabcdefghijklmnop\r\n" + thrown +
			". DB::Exception: c4n4ry\r\n48 abcdefghijklmnop\r\n__exception__\r\n", 2,
			connection.TableUnreadable},
		"an error as a member":             {begin + `], "rows": 2, "exception": "` + thrown + `. DB::Exception: c4n4ry"}`, 2, connection.TableUnreadable},
		"an error of memory":               {begin + "Code: 241. DB::Exception", 2, connection.QuotaExceeded},
		"an error before the first row":    {`{"meta": [], "data": [` + thrown, 0, connection.TableUnreadable},
		"an error after everything":        {begin + `], "rows": 2}` + thrown, 2, connection.TableUnreadable},
		"an error with an unknown code":    {begin + "Code: 99999. DB::Exception", 2, connection.Internal},
		"rows that end in the middle":      {begin, 2, connection.NotThisDatabase},
		"rows that end in a row":           {begin + `, ["y`, 2, connection.NotThisDatabase},
		"rows without the end of all":      {begin + `], "rows": 2`, 2, connection.NotThisDatabase},
		"no rows":                          {`{"rows": 2}`, 0, connection.NotThisDatabase},
		"a row that is no list":            {`{"data": [{"a": "x"}]}`, 0, connection.NotThisDatabase},
		"a row that is larger than a read": {begin + `, ["` + strings.Repeat("x", maxRow+1<<20) + `"]]}`, 2, connection.OutOfMemory},
	} {
		t.Run(name, func(t *testing.T) {
			rows := 0
			err := readRows(strings.NewReader(tt.body), func([]*string) error { rows++; return nil })
			if !errors.Is(err, tt.want) || rows != tt.rows {
				t.Errorf("%d rows, %v; want %d, %v", rows, err, tt.rows, tt.want)
			}
		})
	}
}

func TestRowsArePassedOnBeforeTheAnswerEnds(t *testing.T) {
	in, out := io.Pipe()
	passedTexts := make(chan string)
	endedErrs := make(chan error)
	go func() {
		endedErrs <- readRows(in, func(row []*string) error { passedTexts <- *row[0]; return nil })
	}()
	for _, part := range []string{`{"data": [["a"]`, `, ["b"]`} {
		if _, err := io.WriteString(out, part+" "); err != nil {
			t.Fatal(err)
		}
		<-passedTexts
	}
	if _, err := io.WriteString(out, "]}"); err != nil {
		t.Fatal(err)
	}
	assert.NoError(t, errors.Join(out.Close(), <-endedErrs))
}
