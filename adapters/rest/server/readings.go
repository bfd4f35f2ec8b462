package server

import "sync"

// readingKey identifies a request at a generation of its workspace.
type readingKey struct {
	cacheKey
	generation uint64
}

// readings are the requests whose responses are being read: one of several equal requests reads, and the others wait.
// They read it themselves only if the first one could not cache it. A change starts another generation, and so another
// read.
type readings struct {
	mu  sync.Mutex
	now map[readingKey]chan struct{}
}

// begin returns a channel that is closed when the response has been read, and whether the caller has to read it.
func (s *readings) begin(key readingKey) (finished <-chan struct{}, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if finished, exists := s.now[key]; exists {
		return finished, false
	}
	if s.now == nil {
		s.now = map[readingKey]chan struct{}{}
	}
	s.now[key] = make(chan struct{})
	return nil, true
}

func (s *readings) end(key readingKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.now[key])
	delete(s.now, key)
}
