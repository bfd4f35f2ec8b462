package rest

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/domain/connection"
)

func connectionOperations() []operation {
	const one = "/api/connections/{connection_id}"
	return []operation{
		getOf("/api/connections", cachedQuery(listConnections)),
		postOf("/api/connections", probing{dryRunnable{createConnection, testConnection}}),
		postOf("/api/connections/consents", query(requestConsent)),
		getOf(one, cachedQuery(getConnection)),
		patchOf(one, command(updateConnection)),
		deleteOf(one, command(revokeConnection)),
		postOf(one+"/confirm", command(confirmConnection)),
		postOf(one+"/erase", command(eraseConnection)),
		postOf(one+"/verify", probing{outbound(verifyConnection)}),
	}
}

func connectionID(r *request) connection.ID {
	return pathID[connection.ID](r, "connection_id", connection.Prefix)
}

// listConnections returns all connections in one page: a workspace has few.
func listConnections(r *request) (reply, error) {
	all, err := r.Connections.List(r.Context(), r.by)
	if err != nil {
		return reply{}, err
	}
	sources := convert.Slice(all.Sources, toConnectionSource)
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
		Data:       convert.Slice(all.Connections, toItem),
		NextCursor: nullable.NewNullNullable[string](),
		Kinds:      convert.Slice(all.Kinds, func(d **connection.Descriptor) openapi.ConnectionKind { return toKind(r, *d) }),
	}), nil
}

// createConnection probes the credential, and returns the command that stores the connection.
func createConnection(r *request) (command, error) {
	trial, err := tryCredential(r)
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
func testConnection(r *request) (reply, error) {
	trial, err := tryCredential(r)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ProbeReport{
		Checks:   convert.Slice(trial.Report.Checks, convert.ToCheck),
		Server:   toServer(trial.Report.Server),
		Warnings: toCodes(trial.Report.Warnings()),
	}), nil
}

// tryCredential tries the credential of a new connection.
func tryCredential(r *request) (connection.Trial, error) {
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

func getConnection(r *request) (reply, error) {
	c, err := r.Connections.Get(r.Context(), r.by, connectionID(r))
	return connectionReply(r, c, err)
}

// verifyConnection probes the credential, and returns the command that stores the result.
func verifyConnection(r *request) (command, error) {
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
		out, err := connectionReply(r, c, err)
		if trial.New != nil && err == nil {
			out.brought = string(c.ID)
		}
		return out, err
	}, nil
}

func revokeConnection(r *request) (reply, error) {
	out, err := r.Connections.Revoke(r.Context(), r.by, connectionID(r), r.match)
	if err != nil {
		return reply{}, err
	}
	return ok(openapi.ConnectionRevocation{
		Connection:    toConnection(out.Connection, convert.Slice(out.Paused, toConnectionSource)),
		PausedSources: convert.Slice(out.Paused, toConnectionSource),
		CancelledJobs: out.CancelledJobs, ConsentWithdrawn: convert.OrNullPtr(out.Withdrawn),
	}).withRevision(out.Connection.Revision), nil
}

func confirmConnection(r *request) (reply, error) {
	c, err := r.Connections.Confirm(r.Context(), r.by, connectionID(r), r.match)
	return connectionReply(r, c, err)
}

func updateConnection(r *request) (reply, error) {
	in, err := decode[openapi.ConnectionPatch](r)
	if err != nil {
		return reply{}, err
	}
	c, err := r.Connections.Rename(r.Context(), r.by, connectionID(r), r.match, in.Name)
	return connectionReply(r, c, err)
}

func eraseConnection(r *request) (reply, error) {
	c, err := r.Connections.Erase(r.Context(), r.by, connectionID(r))
	return connectionReply(r, c, err)
}

// connectionReply returns a connection with the sources that read through it.
func connectionReply(r *request, c *connection.Connection, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	sources, err := r.Sources.ListThrough(r.Context(), r.by, c.ID)
	return ok(toConnection(c, convert.Slice(sources, toConnectionSource))).withRevision(c.Revision), err
}

func connectionsArea() area { return area{name: "connections", operations: connectionOperations()} }
