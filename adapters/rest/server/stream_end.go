package server

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/ports"
)

// Explainer is a StreamBody that can tell within the response why it ends early.
type Explainer interface {
	// Explain collects the reason in Stream.Out, so that the response is complete. isLost is true if the reader has
	// lost the access, and may receive nothing else.
	Explain(reason *fault.Error, isLost bool)
}

// ErrorTrailer is the trailer with the code for which a response is incomplete (RFC 9110, section 6.5). An Explainer
// announces it in the header.
const ErrorTrailer = "Atrium-Error"

// lastWrite is how long a reader may take to receive what is being written when the stream is ended, and then the reason.
const lastWrite = 250 * time.Millisecond

// explain ends the response with the reason for which it is incomplete. It returns false if the body cannot tell it, or
// if the reader receives nothing: net/http repeats the error of an earlier write.
func (s *Stream) explain(err error) bool {
	body, ok := s.Body.(Explainer)
	if !ok {
		return false
	}
	isLost := s.EndedBy() != nil
	if isLost {
		s.Out.Reset()
	}
	reason := PublicError(err)
	if errors.Is(err, context.Canceled) {
		reason = ports.ErrUnavailable // the server stops
	}
	body.Explain(reason, isLost)
	s.Observation.Code = reason.Code
	s.ReplyHeader.Set(ErrorTrailer, reason.Code)
	if s.controller.SetWriteDeadline(time.Now().Add(lastWrite)) != nil {
		return false
	}
	if _, err := s.writer.Write(s.Out.Bytes()); err != nil {
		return false
	}
	return s.controller.Flush() == nil
}
