package clickhouse

import (
	"encoding/json"
	"io"
	"regexp"

	"github.com/atrium-hq/atrium/domain/connection"
)

const (
	maxRow       = 16 << 20 // bytes of one row, and of everything else in an answer
	maxException = 64 << 10 // bytes of an answer that are searched for an error
)

// answer is a response in the format JSONCompact, while it arrives. An error can follow the rows, since the server
// sends the status before it has computed them all: as text after the last row (ClickHouse's documentation, "HTTP
// response codes caveats"), or as the member exception (its setting http_write_exception_in_output_format). Rows are
// JSON, so that no text in them can be taken for it.
type answer struct {
	in      *json.Decoder
	limited *io.LimitedReader // what may be read at once
	do      func([]*string) error
}

// readRows passes an answer's rows to do. It returns connection.OutOfMemory for a row of more than maxRow bytes, and
// connection.NotThisDatabase if this is no such answer, or only a part of one.
func readRows(body io.Reader, handle func([]*string) error) error {
	limit := &io.LimitedReader{R: body}
	a := answer{in: json.NewDecoder(limit), limited: limit, do: handle}
	found := false
	if !a.begins('{') {
		return a.failure()
	}
	for a.more() {
		name, err := a.in.Token()
		if err != nil {
			return a.failure()
		}
		switch name {
		case "data":
			if err := a.rows(); err != nil {
				return err
			}
			found = true
		case "exception":
			var text string
			if a.in.Decode(&text) != nil {
				return a.failure()
			}
			return exception([]byte(text))
		default:
			if a.in.Decode(new(json.RawMessage)) != nil {
				return a.failure()
			}
		}
	}
	if !a.begins('}') {
		return a.failure()
	}
	if _, err := a.in.Token(); err != io.EOF || !found {
		return a.failure()
	}
	return nil
}

// rows passes all rows to do. A failure can be within the answer.
func (a *answer) rows() error {
	if !a.begins('[') {
		return a.failure()
	}
	for a.more() {
		var row []*string
		if a.in.Decode(&row) != nil {
			return a.failure()
		}
		if err := a.do(row); err != nil {
			return err
		}
	}
	if !a.begins(']') {
		return a.failure()
	}
	return nil
}

// begins reports whether the next token is a bracket.
func (a *answer) begins(delim json.Delim) bool {
	a.limited.N = maxRow
	token, err := a.in.Token()
	return err == nil && token == delim
}

// more reports whether the array or object goes on. It allows one more value to be read.
func (a *answer) more() bool {
	a.limited.N = maxRow
	return a.in.More()
}

// failure returns why an answer cannot be read on.
func (a *answer) failure() error {
	if a.limited.N <= 0 {
		return connection.OutOfMemory
	}
	// An error of reading is the connection's, which takes precedence.
	rest, _ := io.ReadAll(io.LimitReader(io.MultiReader(a.in.Buffered(), a.limited), maxException))
	return exception(rest)
}

var exceptionCode = regexp.MustCompile(`Code: (\d{1,9})\b`)

// exception returns the error in a text.
func exception(text []byte) connection.Code {
	if match := exceptionCode.FindSubmatch(text); match != nil {
		return codeOf(string(match[1]))
	}
	return connection.NotThisDatabase
}
