package connection

import (
	_ "embed"
	"encoding/json"
	"time"
)

// fieldStatementSeconds is the field with a connection's own time limit, which every kind with tables has.
const fieldStatementSeconds = "statement_seconds"

//go:embed statement.json
var statementProperties []byte

// StatementLimit returns how long a statement may take: at most limit, which is the organisation's.
func (c Credential) StatementLimit(limit time.Duration) time.Duration {
	n, _ := c.config[fieldStatementSeconds].(json.Number)
	if seconds, err := n.Int64(); err == nil && seconds > 0 {
		return min(limit, time.Duration(seconds)*time.Second)
	}
	return limit
}

// Timeouts bound a call to a warehouse: a preview's reading, a page of tables, a probe or a refresh.
type Timeouts struct {
	Connect   time.Duration // until the server has accepted the connection and its first bytes have identified it
	Statement time.Duration // for each statement
	Total     time.Duration // for the whole call
}

// Sampled returns a preview whose rows were read with err. If they took too long or were too large, it has only
// columns, and SampleError explains why. It returns any other error, and all errors if there are no columns either.
func (p Preview) Sampled(err error) (Preview, error) {
	code, ok := err.(Code) //nolint:errorlint // kinds return these as they are
	if !ok || len(p.Columns) == 0 || (code != QueryTimeout && code != ResponseTooLarge) {
		return p, err
	}
	p.Rows, p.SampleError = nil, code
	return p, nil
}
