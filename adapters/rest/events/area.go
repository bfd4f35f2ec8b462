// Package events serves the audit trail: lists, the feed and its stream.
package events

import "github.com/atrium-hq/atrium/adapters/rest/server"

// Area returns the area of events.
func Area() server.Area { return server.Area{Name: "events", Operations: eventOperations()} }

func eventOperations() []server.Operation {
	return []server.Operation{
		server.Get("/api/events", server.CachedQuery(listEvents)),
		server.Get("/api/events/verification", server.Query(verifyEvents)),
		server.Get("/api/event-types", server.Query(listEventTypes)),
		server.Get(StreamPath, streamEvents),
	}
}
