package sheet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

const fileID = "file_01jb4rqnx1e0g8w5t2m7k4y6zc"

// allNames asks for the column Name.
var allNames = source.RowsQuery{Columns: []string{"Name"}, Exact: []bool{false}, Limit: 1 << 20}

// content is an uploaded file in memory. Its bytes after the first broken ones cannot be read.
type content struct {
	*bytes.Reader
	broken int64
}

func (c content) Size() int64 { return c.Reader.Size() }
func (content) Close() error  { return nil }

func (c content) ReadAt(b []byte, offset int64) (int, error) {
	if c.broken > 0 && offset+int64(len(b)) > c.broken {
		return 0, errors.New("changed")
	}
	return c.Reader.ReadAt(b, offset)
}

// stored returns a target for an uploaded file.
func stored() ports.SheetTarget {
	return ports.SheetTarget{Location: source.SheetLocation{URL: "file:" + fileID, HeaderRow: 1}, Within: time.Minute,
		Stored: &ports.StoredFile{ID: fileID, Name: "People.csv", Key: []byte("key"),
			Parts: []source.FilePart{{ID: "part", Bytes: 10}}}}
}

// documents reads an uploaded file with a content.
func documents(c content, err error) *sheet.Documents {
	return sheet.NewDocuments(nil, nil, "", limits()).WithStored(func(f *ports.StoredFile) (sheet.Content, error) {
		if f.ID != fileID || string(f.Key) != "key" || !slices.Equal(f.Parts,
			[]source.FilePart{{ID: "part", Bytes: 10}}) {
			return nil, errors.New("another file")
		}
		return c, err
	})
}

func TestAnUploadedFileIsReadByItsContent(t *testing.T) {
	text := "Name;Age\nAda;36\n" + string(bytes.Repeat([]byte("Bob;40\n"), 20_000))
	d := documents(content{Reader: bytes.NewReader([]byte(text))}, nil)
	s, err := d.Preview(t.Context(), "", stored())
	require.NoError(t, err)
	if s.Title != "People" || len(s.Preview.Headers) != 2 || s.Preview.Headers[0].Name != "Name" {
		t.Errorf("%+v", s)
	}
	count := 0
	require.NoError(t, d.Rows(t.Context(), "", stored(), allNames,
		func(b column.Batch) error { count += len(b.Numbers); return nil }))
	assert.Equal(t, "rows", count, 20_001)
}

func TestAnUploadedFileThatCannotBeReadIsNotTakenForAnotherFormat(t *testing.T) {
	text := bytes.Repeat([]byte("Name;Age\nAda;36\n"), 20_000)
	for name, d := range map[string]*sheet.Documents{
		"a missing part": documents(content{}, errors.New("no such part")),
		"a changed part": documents(content{Reader: bytes.NewReader(text), broken: 100_000}, nil),
		"a changed archive": documents(content{Reader: bytes.NewReader(append([]byte("PK\x03\x04"),
			make([]byte, 5000)...)), broken: 1000}, nil),
		"a changed beginning":    documents(content{Reader: bytes.NewReader(text), broken: 1}, nil),
		"nothing can open files": sheet.NewDocuments(nil, nil, "", limits()),
	} {
		err := d.Rows(t.Context(), "", stored(), allNames,
			func(column.Batch) error { return nil })
		if !errors.Is(err, source.ErrSheetFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChildMayReadOnlyTheFolderOfItsUploadedFile(t *testing.T) {
	needs := sheet.Needs("sheets", func(f *ports.StoredFile) string { return "files/" + string(f.ID) })
	for name, tt := range map[string]struct {
		target ports.SheetTarget
		want   string
	}{
		"an uploaded file":     {stored(), "files/" + fileID},
		"the operator's files": {ports.SheetTarget{Location: source.SheetLocation{URL: "file:people.csv"}}, "sheets"},
	} {
		confined := sheet.NewConfined(func(_ context.Context, _ identity.WorkspaceID, _ string, _ time.Duration, in,
			_ any) error {
			text, err := json.Marshal(in)
			if got := needs(text); !slices.Equal(got.Folders, []string{tt.want}) || got.Network {
				t.Errorf("%s needs %+v", name, got)
			}
			return err
		}, nil, time.Second)
		if _, err := sheet.NewRouter(confined, nil).Preview(t.Context(), "wsp_1", tt.target); err != nil {
			t.Error(err)
		}
	}
}
