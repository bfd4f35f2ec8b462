package rest

import "slices"

func promptsArea() area { return area{name: "prompts", operations: promptOperations()} }

func chatsArea() area {
	return area{
		name:       "chats",
		operations: slices.Concat(chatExportOperations(), chatOperations(), chatVersionOperations()),
	}
}

func connectionsArea() area { return area{name: "connections", operations: connectionOperations()} }

func sourcesArea() area { return area{name: "sources", operations: sourceOperations()} }

func rowsArea() area { return area{name: "rows", operations: rowOperations()} }

func webhooksArea() area { return area{name: "webhooks", operations: endpointOperations()} }

func eventsArea() area { return area{name: "events", operations: eventOperations()} }
func presencesAreaOf() area {
	return presencesAreaWith(newLimiter(beatsPerMinute, beatsAtOnce))
}

func presencesAreaWith(heartbeats *limiter) area {
	a := &presencesArea{heartbeats}
	return area{name: "presences", operations: a.presenceOperations()}
}

// presencesArea is who is online.
type presencesArea struct {
	heartbeats *limiter // by user
}
