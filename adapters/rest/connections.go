package rest

import (
	"math"
	"net/http"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

func (a *API) connectionOperations() []operation {
	const one = "/api/connections/{connection_id}"
	return []operation{
		{http.MethodGet, "/api/connections", query(a.listConnections)},
		{http.MethodPost, "/api/connections", dryRunnable{a.createConnection, a.testConnection}},
		{http.MethodGet, one, query(a.getConnection)},
		{http.MethodDelete, one, command(a.revokeConnection)},
		{http.MethodPost, one + "/verify", outbound(a.verifyConnection)},
	}
}

func connectionID(r *request) connection.ID {
	return pathID[connection.ID](r, "connection_id", connection.Prefix)
}

// listConnections returns all connections in one page: a workspace has few.
func (a *API) listConnections(r *request) (reply, error) {
	all, kinds, err := r.Connections.List(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	sources, err := r.Sources.Through(r.Context(), r.by, "")
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ConnectionList{
		Data: each(all, func(c *connection.Connection) openapi.Connection { return toConnection(c, sources) }), NextCursor: nullable.NewNullNullable[string](),
		Kinds: each(kinds, func(d **connection.Descriptor) openapi.ConnectionKind { return toKind(*d) }),
	}), nil
}

// createConnection probes the credential, and returns the command that stores the connection.
func (a *API) createConnection(r *request) (command, error) {
	trial, err := r.probe()
	if err != nil {
		return nil, err
	}
	return func(r *request) (reply, error) {
		c, err := r.Connections.Create(r.Context(), r.by, trial)
		if err != nil {
			return reply{}, err
		}
		out := created("/api/connections/"+string(c.ID), toConnection(c, nil)).at(c.Revision)
		out.brought = string(c.ID)
		return out, nil
	}, nil
}

// testConnection is createConnection as a dry run.
func (a *API) testConnection(r *request) (reply, error) {
	trial, err := r.probe()
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ProbeReport{
		Checks:   each(trial.Report.Checks, toCheck),
		Server:   toServer(trial.Report.Server),
		Warnings: toCodes(trial.Report.Warnings()),
	}), nil
}

// probe tries the credential of a new connection.
func (r *request) probe() (connection.Trial, error) {
	in, err := decode[openapi.ConnectionCreate](r)
	if err != nil {
		return connection.Trial{}, err
	}
	d := connection.Draft{Kind: connection.Kind(in.Kind), Name: in.Name, Credential: in.Credential}
	return r.Connections.Probe(r.Context(), r.by, d)
}

func (a *API) getConnection(r *request) (reply, error) {
	c, err := r.Connections.Get(r.Context(), r.by, connectionID(r))
	return r.connection(c, err)
}

// verifyConnection probes the credential, and returns the command that stores the result.
func (a *API) verifyConnection(r *request) (command, error) {
	in, err := decode[openapi.ConnectionVerify](r)
	if err != nil {
		return nil, err
	}
	trial, err := r.Connections.Reprobe(r.Context(), r.by, connectionID(r), in.Credential)
	if err != nil {
		return nil, err
	}
	return func(r *request) (reply, error) {
		c, err := r.Connections.Verify(r.Context(), r.by, trial)
		out, err := r.connection(c, err)
		if trial.New != nil && err == nil {
			out.brought = string(c.ID)
		}
		return out, err
	}, nil
}

func (a *API) revokeConnection(r *request) (reply, error) {
	out, err := r.Connections.Revoke(r.Context(), r.by, connectionID(r), r.match)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ConnectionRevocation{
		Connection: toConnection(out.Connection, out.Paused), PausedSources: each(out.Paused, toConnectionSource), CancelledJobs: out.CancelledJobs,
	}).at(out.Connection.Revision), nil
}

// connection returns a connection with the sources that read through it.
func (r *request) connection(c *connection.Connection, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	sources, err := r.Sources.Through(r.Context(), r.by, c.ID)
	return ok(toConnection(c, sources)).at(c.Revision), err
}

// toConnection returns c with those of sources that read through it.
func toConnection(c *connection.Connection, sources []source.Source) openapi.Connection {
	out := openapi.Connection{
		ID: string(c.ID), Kind: string(c.Kind), Name: c.Name, Status: openapi.ConnectionStatus(c.Status), Config: c.Config,
		Secret: openapi.ConnectionSecret{Set: list(c.Secrets), Fingerprint: openapi.OrNull(c.Fingerprint), UpdatedAt: openapi.Time(c.SecretUpdatedAt)},
		Server: toServer(c.Server), Checks: each(c.Checks, toCheck), Failure: nullable.NewNullNullable[openapi.ConnectionFailure](),
		Warnings: toCodes(connection.Report{Checks: c.Checks}.Warnings()), ConsecutiveFailures: c.Failures, LastVerifiedAt: openapi.OrNull(openapi.Time(c.LastVerifiedAt)),
		Sources: []openapi.ConnectionSource{}, CreatedBy: openapi.OrNull(string(c.CreatedBy)), RevokedAt: openapi.OrNull(openapi.Time(c.RevokedAt)),
		Revision: c.Revision, CreatedAt: openapi.Time(c.CreatedAt), UpdatedAt: openapi.Time(c.UpdatedAt),
	}
	for i := range sources {
		if sources[i].Location.Connection == c.ID {
			out.Sources = append(out.Sources, toConnectionSource(&sources[i]))
		}
	}
	if f := c.Failure(); f != nil {
		out.Failure = nullable.NewNullableWithValue(toFailure(f))
	}
	return out
}

func toConnectionSource(s *source.Source) openapi.ConnectionSource {
	return openapi.ConnectionSource{ID: string(s.ID), Name: s.Name, Status: string(s.Status())}
}

func toServer(s connection.Server) openapi.ConnectionServer {
	return openapi.ConnectionServer{Product: s.Product, Version: s.Version, CanWrite: s.CanWrite}
}

func toCheck(c *connection.Check) openapi.ProbeCheck {
	return openapi.ProbeCheck{
		Step: openapi.ProbeStep(c.Step), Result: openapi.ProbeResult(c.Result), Code: openapi.OrNull(string(c.Code)),
		Ms: math.Round(float64(c.Took)/float64(time.Millisecond)*10) / 10,
	}
}

func toFailure(f *connection.Failure) openapi.ConnectionFailure {
	return openapi.ConnectionFailure{
		Code: string(f.Code), Category: openapi.FailureCategory(f.Category), Fields: list(f.Fields), Retryable: f.Retryable, Hint: f.Hint, At: openapi.Time(f.At),
	}
}

func toCodes(codes []connection.Code) []string {
	return each(codes, func(c *connection.Code) string { return string(*c) })
}

func toKind(d *connection.Descriptor) openapi.ConnectionKind {
	return openapi.ConnectionKind{
		Kind: string(d.Kind), Title: d.Title, DocsURL: d.DocsURL, Capabilities: list(d.Capabilities), Grants: d.Grants, CredentialSchema: d.Schema,
		Ports: each(d.Ports, func(p *uint16) int { return int(*p) }),
	}
}
