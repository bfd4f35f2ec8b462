package rest

import (
	"net/http"
	"time"
)

const (
	eventStream   = "text/event-stream"
	retryStream   = "retry: 1000\n\n" // EventSource reconnects after a second
	streamComment = 15 * time.Second  // between comments, which keep proxies from closing the stream
)

// eventsWanted is the media of a streaming operation whose stream has server-sent events.
func eventsWanted(r *http.Request) string {
	return preferred(r.Header.Get("Accept"), func(media string) bool { return media == eventStream })
}

func setStreamHeaders(h http.Header) {
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
}

// event collects an event. Its data is in one line.
func (s *openStream) event(name string, data any) {
	s.out.WriteString("event: " + name + "\ndata: ")
	if err := encode(&s.out, data); err != nil { // texts always encode
		panic(err)
	}
	s.out.WriteString("\n")
}
