package events

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/ports"
)

const (
	noteTimeout  = 2 * time.Second // the longest time that a request waits for its note
	noteAgain    = time.Minute     // after a failure
	maxNotesKept = 20_000          // in memory, about 100 bytes each
)

// Notes writes notes into the audit trail.
type Notes struct {
	db     *db.DB
	report func(error)

	mu    sync.Mutex
	known map[[sha256.Size]byte]time.Time // notes that are not to be written before a time
}

var _ ports.Notes = (*Notes)(nil)

// NewNotes returns the notes of a database. Failures are discarded without Report.
func NewNotes(d *db.DB) *Notes {
	return &Notes{db: d, report: func(error) {}, known: map[[sha256.Size]byte]time.Time{}}
}

// Report sets the function that gets failures. It must be called before Note.
func (s *Notes) Report(report func(error)) { s.report = report }

// Note implements ports.Notes.
func (s *Notes) Note(ctx context.Context, n event.Note) {
	if !n.IsRecordable() {
		return
	}
	key := n.Key()
	if !s.claim(key, n.By.At, n.Until) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if err := s.write(ctx, key, &n); err != nil {
		s.postpone(key, n.By.At.Add(noteAgain))
		s.report(fmt.Errorf("%s in the audit trail: %w", n.Type, err))
	}
}

// claim reports whether a note is to be written, and remembers until when no equal one is.
func (s *Notes) claim(key [sha256.Size]byte, now, expiry time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.known[key]) {
		return false
	}
	if len(s.known) >= maxNotesKept {
		clear(s.known) // the database still has them
	}
	s.known[key] = expiry
	return true
}

func (s *Notes) postpone(key [sha256.Size]byte, expiry time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = expiry
}

func (s *Notes) write(ctx context.Context, key [sha256.Size]byte, n *event.Note) error {
	return s.db.InTx(ctx, func(tx *db.DB) error {
		count, err := tx.Exec(ctx, `
			INSERT INTO event_marks (mark, until) VALUES (?, ?)
			ON CONFLICT (mark) DO UPDATE SET until = excluded.until WHERE event_marks.until < excluded.until`,
			key[:], db.Micros(n.Until))
		if err != nil || count == 0 {
			return err
		}
		return tx.Record(ctx, n.Events())
	})
}
