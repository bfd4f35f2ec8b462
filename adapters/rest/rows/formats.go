package rows

import (
	"bytes"
	"encoding/json"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/sources"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/fault"
)

// errorMember is the only member of a stream's last line, or the first value of its last record, if rows are missing.
// No field can have this key.
const errorMember = "$error"

// rowsError is the reason for which rows are missing.
type rowsError struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	LastRow int    `json:"last_row"` // the number of the last row that was read; 0 for none
}

// text returns the reason as JSON.
func (e rowsError) text() []byte {
	text, _ := json.Marshal(e) //nolint:errchkjson // texts and a number
	return text
}

// invalidMember is the member or column with a row's invalid values. No field can have this key.
const invalidMember = "$invalid"

// removedMember is the only line member that says which row was removed. No field can have this key.
const removedMember = "$removed"

// linesOfJSON is the media type of the only format that can tell removed rows from others.
const linesOfJSON = "application/x-ndjson"

var errRemovedFormat = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
	Detail: "removed cannot be combined with CSV or Arrow. Accept application/json or application/x-ndjson."}

var errCountFormat = &fault.Error{Kind: fault.Malformed, Code: "invalid_parameter",
	Detail: "count cannot be combined with a stream. Accept application/json."}

// numberMember is the column with a row's number.
const numberMember = "$row"

// rowFormat writes rows in a format.
type rowFormat interface {
	begin() error
	row(row sources.Row) error
	end() error
	fail(e rowsError, isLost bool) // instead of end; isLost discards rows that are not in the buffer yet
}

// rowOptions say what a format writes.
type rowOptions struct {
	report bool // invalid values, too
	number bool // of the row, in CSV
	raw    bool // all values are texts
}

// objectWriter writes rows as JSON objects, with their members in the order of the fields.
type objectWriter struct {
	before [][]byte // of each value: {"email":
}

func newObjectWriter(fields []column.Field) objectWriter {
	var w objectWriter
	for i, f := range fields {
		begin := ","
		if i == 0 {
			begin = "{"
		}
		w.before = append(w.before, []byte(begin+`"`+f.Key+`":`)) // keys are lower snake_case
	}
	return w
}

func (w objectWriter) append(buffer []byte, values []column.Value) []byte {
	for i, v := range values {
		buffer = append(buffer, w.before[i]...)
		buffer = v.AppendJSON(buffer)
	}
	return append(buffer, '}')
}

// ndjson writes a JSON object a line.
type ndjson struct {
	to     *bytes.Buffer
	object objectWriter
}

func (f *ndjson) begin() error {
	f.to.Grow(server.RowsWrite + server.RowsWrite/8)
	return nil
}

// row writes an object on its own line. The codes of invalid fields are its last member.
func (f *ndjson) row(row sources.Row) error {
	line := f.object.append(f.to.AvailableBuffer(), row.Values)
	if len(row.Invalid) > 0 {
		codes := map[string]string{}
		for _, v := range row.Invalid {
			codes[v.Field] = string(v.Code)
		}
		text, err := json.Marshal(codes)
		if err != nil {
			return err
		}
		line = append(append(append(line[:len(line)-1], `,"`+invalidMember+`":`...), text...), '}')
	}
	f.to.Write(append(line, '\n'))
	return nil
}

func (*ndjson) end() error { return nil }

// fail writes the reason on its own line.
func (f *ndjson) fail(e rowsError, _ bool) {
	f.to.WriteString(`{"` + errorMember + `":`)
	f.to.Write(e.text())
	f.to.WriteString("}\n")
}
