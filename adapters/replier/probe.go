package replier

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// noTables implements the part of ports.Warehouse that endpoints do not have.
type noTables struct{}

// Tables is ports.Warehouse's. There are none.
func (noTables) Tables(context.Context, ports.Target, connection.TableQuery) ([]connection.Table, error) {
	return nil, nil
}

// Preview is ports.Warehouse's. There are no tables to look at.
func (noTables) Preview(context.Context, ports.Target, connection.PreviewQuery) (connection.Preview, error) {
	return connection.Preview{RowEstimate: -1}, connection.TableNotFound
}

// Rows is ports.Warehouse's.
func (noTables) Rows(context.Context, ports.Target, connection.RowsQuery, func(column.Batch) error) error {
	return connection.RowsUnsupported
}

// probe sends a request, and describes the server by its response.
func (g Guard) probe(
	ctx context.Context, target ports.Target, request func(context.Context) (*http.Request, error),
	describe func(body []byte) (connection.Server, error),
) connection.Report {
	start := time.Now()
	end := start.Add(target.Limits.Total)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	server, r, err := g.ask(ctx, target, end, request, describe)
	if err != nil {
		code := codeOf(err)
		return connection.FailedAt(stepOf(code), code)
	}
	took := time.Since(start)
	report := connection.Report{Server: server}
	for _, step := range connection.Steps() {
		check := connection.Check{Step: step, Result: connection.OK}
		switch {
		case step == connection.Authenticate:
			check.Took = took
		case step == connection.TLS && r.URL.Scheme == "http",
			slices.Contains([]connection.Step{connection.Database, connection.Privileges}, step):
			check.Result = connection.Skipped
		}
		report.Checks = append(report.Checks, check)
	}
	return report
}

// ask sends one request and lets describe read the response. The request that it returns has the headers that were
// sent.
func (g Guard) ask(
	ctx context.Context, target ports.Target, end time.Time, request func(context.Context) (*http.Request, error),
	describe func(body []byte) (connection.Server, error),
) (connection.Server, *http.Request, error) {
	client, err := g.client(target, end, target.Limits.Bytes)
	if err != nil {
		return connection.Server{}, nil, err
	}
	r, err := request(ctx)
	if err != nil {
		return connection.Server{}, nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return connection.Server{}, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	if code := codeOfStatus(response.StatusCode); code != "" {
		return connection.Server{}, nil, code
	}
	body, err := io.ReadAll(response.Body) // limited by the network
	if err != nil {
		return connection.Server{}, nil, err
	}
	server, err := describe(body)
	return server, r, err
}
