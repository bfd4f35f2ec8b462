package embeds

import "github.com/atrium-hq/atrium/adapters/rest/server"

// handlers serve chats on pages of other sites.
type handlers struct {
	*server.API
	visitors  *visitLimits
	answering answerGates
}

func newHandlers(api *server.API) *handlers {
	return &handlers{api, newVisitLimits(), newAnswerGates()}
}
