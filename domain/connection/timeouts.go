package connection

import "time"

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
