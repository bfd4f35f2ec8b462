package server

import (
	"net/http"
	"time"
)

// What streams of server-sent events have in common.
const (
	EventStream   = "text/event-stream"
	RetryStream   = "retry: 1000\n\n" // EventSource reconnects after a second
	StreamComment = 15 * time.Second  // between comments, which keep proxies from closing the stream
)

// EventsWanted is the media for a streaming operation whose stream has server-sent events.
func EventsWanted(r *http.Request) string {
	return Preferred(r.Header.Get("Accept"), func(media string) bool { return media == EventStream })
}
