package idempotency

import "time"

// RenewingEvery returns s, which renews the reservations of running requests at another interval.
func RenewingEvery(s *Store, interval time.Duration) *Store { return &Store{s.db, s.stores, interval} }
