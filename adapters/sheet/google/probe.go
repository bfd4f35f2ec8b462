package google

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Accounts implements ports.Warehouse for service accounts and for people's consents. They have no tables: Google does
// not list the sheets that an account can read without a further permission. A probe gets an access token.
type Accounts struct {
	config Config
}

// NewAccounts returns an Accounts.
func NewAccounts(c Config) *Accounts { return &Accounts{config: c} }

// Probe is ports.Warehouse's.
func (a *Accounts) Probe(ctx context.Context, target ports.Target) connection.Report {
	ctx, cancel := context.WithTimeout(ctx, target.Limits.Total)
	defer cancel()
	start := time.Now()
	signedIn := make(chan error, 1)
	go func() { // a token source takes no context; its client has a timeout
		_, err := a.config.tokens(target.OAuth, target.Credential).Token()
		signedIn <- err
	}()
	var err error
	select {
	case err = <-signedIn:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return connection.FailedAt(connection.Authenticate, failure(err))
	}
	return connection.SignedIn(connection.Server{Product: "Google Sheets"}, time.Since(start))
}

// Rows is ports.Warehouse's.
func (*Accounts) Rows(context.Context, ports.Target, connection.RowsQuery, func(column.Batch) error) error {
	return connection.RowsUnsupported
}

// failure returns a sign-in error's code, only by its type, or "".
func failure(err error) connection.Code {
	if err == nil {
		return ""
	}
	if code, ok := errors.AsType[connection.Code](err); ok {
		return code
	}
	if errors.Is(err, errKeyless) {
		return connection.AuthFailed
	}
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		switch status := refusal.Response.StatusCode; {
		case status == 429:
			return connection.QuotaExceeded
		case status < 500:
			return connection.AuthFailed
		}
		return connection.HostUnreachable
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return connection.ConnectTimeout
	}
	return connection.HostUnreachable
}

// Tables is ports.Warehouse's. There are none.
func (a *Accounts) Tables(context.Context, ports.Target, connection.TableQuery) ([]connection.Table, error) {
	return nil, nil
}

// Preview is ports.Warehouse's. There are no tables.
func (a *Accounts) Preview(context.Context, ports.Target, connection.PreviewQuery) (connection.Preview, error) {
	return connection.Preview{RowEstimate: -1}, connection.TableNotFound
}
