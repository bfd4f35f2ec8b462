package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyTrackedStreamsCanBeSentInParts(t *testing.T) {
	w := httptest.NewRecorder()
	obs := &Observation{}
	controller := http.NewResponseController(&recorder{ResponseWriter: w, obs: obs})
	if err := controller.Flush(); !errors.Is(err, errUntracked) || w.Flushed {
		t.Errorf("a response that no one tracks is flushed: %v", err)
	}
	obs.tracked = true
	if err := controller.Flush(); err != nil || !w.Flushed {
		t.Errorf("a stream is not flushed: %v", err)
	}
}

// observed returns a request of which nothing is known.
func observed(r *http.Request) *http.Request { return WithObservation(r, &Observation{}) }
