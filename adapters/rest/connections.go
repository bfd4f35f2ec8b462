package rest

import (
	"net/http"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/connection"
)

func (a *API) connectionOperations() []operation {
	const one = "/api/connections/{connection_id}"
	return []operation{
		{http.MethodGet, "/api/connections", cachedQuery(a.listConnections)},
		{http.MethodPost, "/api/connections", probing{dryRunnable{a.createConnection, a.testConnection}}},
		{http.MethodPost, "/api/connections/consents", query(a.requestConsent)},
		{http.MethodGet, one, cachedQuery(a.getConnection)},
		{http.MethodPatch, one, command(a.updateConnection)},
		{http.MethodDelete, one, command(a.revokeConnection)},
		{http.MethodPost, one + "/confirm", command(a.confirmConnection)},
		{http.MethodPost, one + "/erase", command(a.eraseConnection)},
		{http.MethodPost, one + "/verify", probing{outbound(a.verifyConnection)}},
	}
}

func connectionID(r *request) connection.ID {
	return pathID[connection.ID](r, "connection_id", connection.Prefix)
}

// listConnections returns all connections in one page: a workspace has few.
func (a *API) listConnections(r *request) (reply, error) {
	all, err := r.Connections.List(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	sources := mapSlice(all.Sources, toConnectionSource)
	toItem := func(c *connection.Connection) openapi.Connection {
		from, to := 0, 0 // where the sources of c are
		for i := range all.Sources {
			if all.Sources[i].Connection == c.ID {
				if to == 0 {
					from = i
				}
				to = i + 1
			}
		}
		return toConnection(c, sources[from:to:to])
	}
	return ok(openapi.ConnectionList{
		Data:       mapSlice(all.Connections, toItem),
		NextCursor: nullable.NewNullNullable[string](),
		Kinds:      mapSlice(all.Kinds, func(d **connection.Descriptor) openapi.ConnectionKind { return r.toKind(*d) }),
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
		out := created("/api/connections/"+string(c.ID), toConnection(c, nil)).withRevision(c.Revision)
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
		Checks:   mapSlice(trial.Report.Checks, toCheck),
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
	d := connection.Draft{Kind: connection.Kind(in.Kind), Name: in.Name, Entry: entry(in.Credential, in.Consent)}
	if d.Consent != nil && r.query.Get("dry_run") == "true" {
		return connection.Trial{}, errConsentDryRun
	}
	return r.Connections.Probe(r.Context(), r.by, d, r.watch)
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
	trial, err := r.Connections.Reprobe(r.Context(), r.by, connectionID(r), entry(in.Credential, in.Consent), r.watch)
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
		Connection:    toConnection(out.Connection, mapSlice(out.Paused, toConnectionSource)),
		PausedSources: mapSlice(out.Paused, toConnectionSource),
		CancelledJobs: out.CancelledJobs, ConsentWithdrawn: orNullPtr(out.Withdrawn),
	}).withRevision(out.Connection.Revision), nil
}

func (a *API) confirmConnection(r *request) (reply, error) {
	return r.connection(r.Connections.Confirm(r.Context(), r.by, connectionID(r), r.match))
}

func (a *API) updateConnection(r *request) (reply, error) {
	in, err := decode[openapi.ConnectionPatch](r)
	if err != nil {
		return reply{}, err
	}
	return r.connection(r.Connections.Rename(r.Context(), r.by, connectionID(r), r.match, in.Name))
}

func (a *API) eraseConnection(r *request) (reply, error) {
	return r.connection(r.Connections.Erase(r.Context(), r.by, connectionID(r)))
}

// connection returns a connection with the sources that read through it.
func (r *request) connection(c *connection.Connection, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	sources, err := r.Sources.ListThrough(r.Context(), r.by, c.ID)
	return ok(toConnection(c, mapSlice(sources, toConnectionSource))).withRevision(c.Revision), err
}
