package postgres

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// A preview's columns and sample take one round trip (ADR 13). The server composes the statement for the sample from
// its catalogue, keeps it in a setting of the transaction, and runs it. It also returns the statement. Atrium uses the
// rows only if it would have sent the same statement. Otherwise, or if the server cannot do this, it sends the
// statement in a second round trip.

// composed is the setting, which ends with the transaction.
const composed = `atrium.sample`

// maxAhead is how many sample characters are sent ahead. A longer one would take too much of the bytes that a call may
// receive, because it is escaped.
const maxAhead = 32 << 10

// aheadList, and the parts around it, are a statement that returns a sample's rows as one JSON text.
const (
	aheadBegin = `SELECT pg_catalog.json_agg(s.r) AS r FROM (SELECT ARRAY[`
	aheadEnd   = `] AS r`
)

func selectAhead(list []string, q connection.PreviewQuery) string {
	return aheadBegin + strings.Join(list, `, `) + aheadEnd + fromSample(q) + `) AS s`
}

// composeSample makes the server compose selectAhead of the first columns that the user may read, and return it.
func composeSample(q connection.PreviewQuery) statement {
	name := `'"' || replace(a.attname::text, '"', '""') || '"'`
	return statement{`SELECT set_config('` + composed + `',
			$3::text || string_agg(a.item, ', ' ORDER BY a.attnum) || $4::text, true)
		FROM (SELECT a.attnum, replace(CASE WHEN ` + isNested + ` THEN $6::text ELSE $5::text END, '?',
			` + name + `) AS item` + fromColumns + typesOf + `
			WHERE a.attnum IS NOT NULL ORDER BY a.attnum LIMIT ` + strconv.Itoa(connection.MaxColumns) + `) a`,
		[]string{q.Table.Schema, q.Table.Name, aheadBegin, aheadEnd + fromSample(q) + `) AS s`, cutForm(plainText),
			cutForm(nestedText)}}
}

// runSample runs what the server composed, by the only function that runs a text and returns its rows. It finds names
// as the role does. The table's name is there for those who look at the statements that run.
func runSample(table connection.TableRef) statement {
	return statement{sql: `SELECT pg_catalog.left(pg_catalog.query_to_xml(pg_catalog.current_setting('` + composed +
		`'), false, true, '')::pg_catalog.text, ` + strconv.Itoa(maxAhead) + `) AS ` +
		quote(`sample of `+table.Schema+`.`+table.Name)}
}

// sampleAhead returns a preview's rows, from the answers to composeSample and runSample if it can.
func (s *session) sampleAhead(
	next func() ([][][]byte, error), list []string, q connection.PreviewQuery,
) ([][]*string, error) {
	statements, err := next()
	var found [][][]byte
	if err == nil {
		found, err = next()
	}
	switch {
	case err == nil:
		if rows, ok := readAhead(found, len(list)); ok && onlyText(statements) == selectAhead(list, q) {
			return rows, nil
		}
		return s.sample(list, q)
	case errors.Is(err, connection.QueryTimeout), s.conn.IsClosed():
		return nil, err
	}
	// The server lacks a function, or cannot read the rows: then this fails too, with an error that we know.
	s.begin = slices.Concat([]string{`ROLLBACK`}, s.start)
	if found, err = s.askBeforeRows(nil, statement{sql: selectSample(list, q)})(); err != nil {
		return nil, err
	}
	return cells(found, len(list))
}

// unescape is the inverse of what query_to_xml does with a value.
var unescape = strings.NewReplacer(`&lt;`, `<`, `&gt;`, `>`, `&amp;`, `&`, `&#x0d;`, "\r")

// readAhead reads the answer to runSample: an XML element for the only row, in it one for its only value, r, if it is
// not NULL. It returns false if the answer is something else, or was cut.
func readAhead(answer [][][]byte, columns int) (rows [][]*string, ok bool) {
	text := strings.ToValidUTF8(onlyText(answer), "\uFFFD")
	head, tail, found := strings.Cut(text, `<r>`)
	if !found { // the table has no rows
		return nil, strings.HasSuffix(strings.TrimSpace(head), `</row>`)
	}
	value, _, complete := strings.Cut(tail, `</r>`)
	if !complete || json.Unmarshal([]byte(unescape.Replace(value)), &rows) != nil {
		return nil, false
	}
	for _, row := range rows {
		if len(row) != columns {
			return nil, false
		}
		for i, v := range row {
			if v != nil {
				row[i] = connection.Cell(*v)
			}
		}
	}
	return rows, true
}

// onlyText returns an answer's only value; "" if it is something else.
func onlyText(answer [][][]byte) string {
	if len(answer) != 1 || len(answer[0]) != 1 {
		return ""
	}
	return string(answer[0][0])
}
