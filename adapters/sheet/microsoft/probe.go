package microsoft

import (
	"context"
	"net/http"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// Accounts implements ports.Warehouse for applications. They have no tables. A probe signs in as the application; which
// files it may read shows only when one is read.
type Accounts struct {
	config Config
	client *http.Client
}

// NewAccounts returns an Accounts that connects through client.
func NewAccounts(c Config, client *http.Client) *Accounts {
	strict := *client
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Accounts{config: c, client: &strict}
}

// Probe is ports.Warehouse's.
func (a *Accounts) Probe(ctx context.Context, target ports.Target) connection.Report {
	ctx, cancel := context.WithTimeout(ctx, target.Limits.Total)
	defer cancel()
	start := time.Now()
	if _, err := a.config.token(ctx, a.client, target.Credential); err != nil {
		return connection.FailedAt(connection.Authenticate, failure(err))
	}
	return connection.SignedIn(connection.Server{Product: "Microsoft 365"}, time.Since(start))
}

// Rows is ports.Warehouse's.
func (*Accounts) Rows(context.Context, ports.Target, connection.RowsQuery, func(column.Batch) error) error {
	return connection.RowsUnsupported
}

// Tables is ports.Warehouse's. There are none.
func (*Accounts) Tables(context.Context, ports.Target, connection.TableQuery) ([]connection.Table, error) {
	return nil, nil
}

// Preview is ports.Warehouse's. There are no tables.
func (*Accounts) Preview(context.Context, ports.Target, connection.PreviewQuery) (connection.Preview, error) {
	return connection.Preview{RowEstimate: -1}, connection.TableNotFound
}
