package accounts

import (
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// failingWebhooks counts the endpoints of the workspace that need attention. Actions of people in the workspace change
// the number at once, and a change of endpoints within a second.
func (a *handlers) failingWebhooks(r *server.Call) (int, error) {
	generation, isSettled := r.API.Changes.Generation(r.By.Workspace)
	read := time.Now()
	if n, isKnown := a.failing.get(r.By.Workspace, generation, read); isKnown && isSettled && !r.MustRead() {
		return n, nil
	}
	n, err := r.Webhooks.Failing(r.Context(), r.By)
	if err == nil && isSettled {
		a.failing.put(r.By.Workspace, count{n, generation, read})
	}
	return n, err
}
