package redis

import "time"

// WaitFor gives each announcement of s as long as d.
func WaitFor(s *Signals, d time.Duration) { s.patience = d }
