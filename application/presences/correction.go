package presences

import (
	"time"

	"github.com/atrium-hq/atrium/domain/presence"
)

// minStep is the smallest correction that moves devices along. Smaller ones are within the precision of the wheel.
const minStep = time.Second

// Now returns the time of presences on this node.
func (s *Service) Now() time.Time { return s.now() }

func (s *Service) now() time.Time { return s.clock().Add(time.Duration(s.correction.Load())) }

// Correct moves the time of presences by d. The devices that this node has heard from keep the time that they have
// left: a correction ends no one's presence, and makes none last longer.
func (s *Service) Correct(d time.Duration) {
	d = d.Truncate(time.Microsecond)
	if d.Abs() < minStep {
		s.correction.Add(int64(d))
		return
	}
	s.registry.shift(d, func() time.Time {
		s.correction.Add(int64(d))
		return s.now()
	})
}

// shift moves the heartbeats of all entries by d. correct corrects the time, and returns it. All entries are stored
// soon.
//
// The shards are locked together: a node that saw a moved heartbeat before the time is corrected would take it for a
// wrong clock's (Rectify), and move it back.
func (g *registry) shift(d time.Duration, correct func() time.Time) {
	for i := range g.shards {
		g.shards[i].mu.Lock()
	}
	defer func() {
		for i := range g.shards {
			g.shards[i].mu.Unlock()
		}
	}()
	now := correct()
	for i := range g.shards {
		s := &g.shards[i]
		s.wheel = timerWheel{at: now.Unix()}
		for _, entries := range s.entries {
			for _, e := range entries {
				e.second, e.previous, e.next = 0, nil, nil
				e.record.Shift(d, now)
				e.dirtySince = uint32(now.Unix()) //nolint:gosec // until 2106
				s.wheel.put(e, now)
			}
		}
	}
}

// correctTimes replaces impossible times in a record that was loaded.
func (g *registry) correctTimes(r *presence.Record, now time.Time) {
	g.withEntry(key{r.Org, r.User}, func(_ *shard, e *entry) {
		if e == nil {
			r.Rectify(nil, now)
			return
		}
		r.Rectify(&e.record, now)
	})
}
