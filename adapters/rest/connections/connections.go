package connections

import (
	"github.com/atrium-hq/atrium/adapters/rest/convert"
	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/connection"
)

func connectionID(r *server.Call) connection.ID {
	return server.PathID[connection.ID](r, "connection_id", connection.Prefix)
}

// listConnections returns all connections in one page: a workspace has few.
func listConnections(r *server.Call) (server.Reply, error) {
	all, err := r.Connections.List(r.Context(), r.By)
	if err != nil {
		return server.Reply{}, err
	}
	chats, err := r.Chats.ConnectionUses(r.Context(), r.By, "")
	if err != nil {
		return server.Reply{}, err
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
		return toConnection(r, c, sources[from:to:to], chats)
	}
	return server.OK(openapi.ConnectionList{
		Data:       convert.Slice(all.Connections, toItem),
		NextCursor: nullable.NewNullNullable[string](),
		Kinds: convert.Slice(
			all.Kinds, func(d **connection.Descriptor) openapi.ConnectionKind { return toKind(r, *d) },
		),
		EgressAddresses: server.Observed(r.Request).Org.Egress.AddressTexts(),
	}), nil
}

// createConnection probes the credential, and returns the command that stores the connection.
func createConnection(r *server.Call) (server.Command, error) {
	trial, err := tryCredential(r)
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		c, err := r.Connections.Create(r.Context(), r.By, trial)
		if err != nil {
			return server.Reply{}, err
		}
		out := server.Created("/api/connections/"+string(c.ID), toConnection(r, c, nil, nil)).WithRevision(c.Revision)
		out.Brought = string(c.ID)
		return out, nil
	}, nil
}

// testConnection is createConnection as a dry run.
func testConnection(r *server.Call) (server.Reply, error) {
	trial, err := tryCredential(r)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ProbeReport{
		Checks:   convert.Slice(trial.Report.Checks, convert.ToCheck),
		Server:   toServer(trial.Report.Server),
		Warnings: toCodes(trial.Report.Warnings()),
	}), nil
}

// tryCredential tries a new connection's credential.
func tryCredential(r *server.Call) (connection.Trial, error) {
	in, err := server.Decode[openapi.ConnectionCreate](r)
	if err != nil {
		return connection.Trial{}, err
	}
	d := connection.Draft{Kind: connection.Kind(in.Kind), Name: in.Name, Entry: entry(in.Credential, in.Consent)}
	if d.Consent != nil && r.Query.Get("dry_run") == "true" {
		return connection.Trial{}, errConsentDryRun
	}
	return r.Connections.Probe(r.Context(), r.By, d, r.Watch)
}

func getConnection(r *server.Call) (server.Reply, error) {
	c, err := r.Connections.Get(r.Context(), r.By, connectionID(r))
	return connectionReply(r, c, err)
}

// verifyConnection probes the credential, and returns the command that stores the result.
func verifyConnection(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.ConnectionVerify](r)
	if err != nil {
		return nil, err
	}
	trial, err := r.Connections.Reprobe(r.Context(), r.By, connectionID(r), entry(in.Credential, in.Consent), r.Watch)
	if err != nil {
		return nil, err
	}
	return func(r *server.Call) (server.Reply, error) {
		c, err := r.Connections.Verify(r.Context(), r.By, trial)
		out, err := connectionReply(r, c, err)
		if trial.New != nil && err == nil {
			out.Brought = string(c.ID)
		}
		return out, err
	}, nil
}

func revokeConnection(r *server.Call) (server.Reply, error) {
	out, err := r.Connections.Revoke(r.Context(), r.By, connectionID(r), r.Match)
	if err != nil {
		return server.Reply{}, err
	}
	chats, err := r.Chats.ConnectionUses(r.Context(), r.By, out.Connection.ID)
	if err != nil {
		return server.Reply{}, err
	}
	return server.OK(openapi.ConnectionRevocation{
		Connection:    toConnection(r, out.Connection, convert.Slice(out.Paused, toConnectionSource), chats),
		PausedSources: convert.Slice(out.Paused, toConnectionSource),
		CancelledJobs: out.CancelledJobs, ConsentWithdrawn: convert.OrNullPtr(out.Withdrawn),
	}).WithRevision(out.Connection.Revision), nil
}

func confirmConnection(r *server.Call) (server.Reply, error) {
	c, err := r.Connections.Confirm(r.Context(), r.By, connectionID(r), r.Match)
	return connectionReply(r, c, err)
}

func updateConnection(r *server.Call) (server.Reply, error) {
	in, err := server.Decode[openapi.ConnectionPatch](r)
	if err != nil {
		return server.Reply{}, err
	}
	c, err := r.Connections.Rename(r.Context(), r.By, connectionID(r), r.Match, in.Name)
	return connectionReply(r, c, err)
}

func eraseConnection(r *server.Call) (server.Reply, error) {
	c, err := r.Connections.Erase(r.Context(), r.By, connectionID(r))
	return connectionReply(r, c, err)
}

// connectionReply returns a connection with the sources and the chats that use it.
func connectionReply(r *server.Call, c *connection.Connection, err error) (server.Reply, error) {
	if err != nil {
		return server.Reply{}, err
	}
	sources, err := r.Sources.ListThrough(r.Context(), r.By, c.ID)
	if err != nil {
		return server.Reply{}, err
	}
	chats, err := r.Chats.ConnectionUses(r.Context(), r.By, c.ID)
	return server.OK(toConnection(r, c, convert.Slice(sources, toConnectionSource), chats)).WithRevision(c.Revision),
		err
}
