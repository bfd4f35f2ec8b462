// Package presences serves who is online: heartbeats, lists and streams.
package presences

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Limits of the heartbeats from all user devices: enough for twenty of them at the shortest interval that the server
// asks for.
const (
	beatsPerMinute = 120
	beatsAtOnce    = 30
)

// Area returns the area of presences.
func Area() server.Area {
	return areaWith(server.NewLimiter(beatsPerMinute, beatsAtOnce))
}

func areaWith(heartbeats *server.Limiter) server.Area {
	a := &handlers{heartbeats}
	return server.Area{Name: "presences", Operations: a.presenceOperations()}
}

func (a *handlers) presenceOperations() []server.Operation {
	const one = "/api/presence/{presence_id}"
	return []server.Operation{
		server.Post("/api/presence", server.Command(a.sendHeartbeat)), // first, so that the router finds it soonest
		server.Get("/api/presence", server.Query(listPresences)),
		server.Get(StreamPath, streamPresences),
		server.Post("/api/presence/stream-tickets", server.Command(issueStreamTicket)),
		server.Get(one, server.Query(getPresence)),
		server.Delete(one, server.Command(deletePresence)),
	}
}
