package server

import "errors"

var errDraining = errors.New("the server stops")

// Drain prepares the end of the server: from now on it is not ready, streams end, and connections close after their
// next response. All other requests are served as before.
func (a *API) Drain() {
	a.draining.Store(true)
	a.endStreams()
}
