package rest

import "github.com/atrium-hq/atrium/adapters/rest/server"

// embedsArea is chats on pages of other sites.
type embedsArea struct {
	*server.API
	visitors  *visitLimits
	answering answerGates
}

func newEmbeds(api *server.API) *embedsArea {
	return &embedsArea{api, newVisitLimits(), newAnswerGates()}
}

func embedsAreaOf(api *server.API) server.Area {
	a := newEmbeds(api)
	return server.Area{
		Name:       "embeds",
		Operations: a.embedTokenOperations(),
		Public:     a.visitRoutes(),
		CORS:       &server.CORS{Prefix: visitPaths, Handle: a.visitCORS},
	}
}
