package stripeapi

// Usage returns the sum of a customer's meter events, and their number. It counts those that an earlier call has seen,
// of which the account forgets the oldest.
func (s *Server) Usage(customer string) (sum int64, events int) {
	type event struct {
		ID    string
		Value int64
	}
	current := read[event](s, customer, "mev")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage[customer] == nil {
		s.usage[customer] = map[string]int64{}
	}
	for _, e := range current {
		s.usage[customer][e.ID] = e.Value
	}
	for _, value := range s.usage[customer] {
		sum += value
	}
	return sum, len(s.usage[customer])
}
