package server

import (
	"errors"
	"net/http"
)

var errDraining = errors.New("the server stops")

// Drain prepares the end of the server: from now on it is not ready, streams end, and connections close after their
// next response. All other requests are served as before.
func (a *API) Drain() {
	a.draining.Store(true)
	a.endStreams()
}

// sendAway ends the stream of a reader while the server drains, after which
// EventSource reconnects. After a response with an error it would give up.
func sendAway(w http.ResponseWriter) {
	SetStreamHeaders(w.Header())
	_, _ = w.Write([]byte(RetryStream)) // the reader may be gone
}
