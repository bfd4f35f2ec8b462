// Package connections serves connections to data sources and reply endpoints.
package connections

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of connections.
func Area() server.Area {
	return server.Area{Name: "connections", Operations: connectionOperations()}
}

func connectionOperations() []server.Operation {
	const one = "/api/connections/{connection_id}"
	return []server.Operation{
		server.Get("/api/connections", server.CachedQuery(listConnections)),
		server.Post(
			"/api/connections", server.Probing{
				Kind: server.DryRunnable{Outbound: createConnection, DryRun: testConnection},
			},
		),
		server.Post("/api/connections/consents", server.Query(requestConsent)),
		server.Get(one, server.CachedQuery(getConnection)),
		server.Patch(one, server.Command(updateConnection)),
		server.Delete(one, server.Command(revokeConnection)),
		server.Post(one+"/confirm", server.Command(confirmConnection)),
		server.Post(one+"/erase", server.Command(eraseConnection)),
		server.Post(one+"/verify", server.Probing{Kind: server.Outbound(verifyConnection)}),
	}
}
