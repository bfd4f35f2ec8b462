package rest

import "sync"

// askedAt is a request at a generation of its workspace.
type askedAt struct {
	asked
	generation uint64
}

// readings are the requests whose answers are being read: one of several equal requests reads, and the others wait.
// They read it themselves only if the first one could not cache it. A change starts another generation, and so another
// read.
type readings struct {
	mu  sync.Mutex
	now map[askedAt]chan struct{}
}

// begin returns a channel that is closed when the answer has been read, and whether the caller has to read it.
func (s *readings) begin(key askedAt) (done <-chan struct{}, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done, there := s.now[key]; there {
		return done, false
	}
	if s.now == nil {
		s.now = map[askedAt]chan struct{}{}
	}
	s.now[key] = make(chan struct{})
	return nil, true
}

func (s *readings) end(key askedAt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.now[key])
	delete(s.now, key)
}
