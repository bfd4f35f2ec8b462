package rest

// embedsArea is chats on pages of other sites.
type embedsArea struct {
	*API
	visitors  *visitLimits
	answering answerGates
}

func newEmbeds(api *API) *embedsArea { return &embedsArea{api, newVisitLimits(), newAnswerGates()} }

func embedsAreaOf(api *API) area {
	a := newEmbeds(api)
	return area{
		name:       "embeds",
		operations: a.embedTokenOperations(),
		public:     a.visitRoutes(),
		cors:       &cors{visitPaths, a.visitCORS},
	}
}
