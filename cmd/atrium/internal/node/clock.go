package node

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/adapters/sqlstore"
)

const (
	compareClocks = 10 * time.Second // between two comparisons
	maxOffset     = 2 * time.Second  // between the clocks of this machine and of the database; more is logged
	maxRoundTrip  = time.Second      // a slower comparison says too little
)

// clock compares the clock of this machine with the database's.
type clock struct {
	offset prometheus.Gauge
	far    bool // as the last comparison found
}

func newClock(registry prometheus.Registerer) *clock {
	c := &clock{offset: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "atrium_clock_offset_seconds",
		Help: "How far the clock of this machine is ahead of the database's. 0 on SQLite.",
	})}
	registry.MustRegister(c.offset)
	return c
}

// ClockOffset returns how far the clock of this machine is ahead of the database's. isKnown is false on SQLite, which
// has
// no clock, and if the database took too long.
func ClockOffset(ctx context.Context, db *sqlstore.Store) (offset time.Duration, isKnown bool, err error) {
	start := time.Now()
	clock, err := db.Clock(ctx)
	took := time.Since(start)
	if err != nil || clock.IsZero() || took > maxRoundTrip {
		return 0, false, err
	}
	return start.Add(took / 2).Round(0).Sub(clock), true, nil
}

// ClockIsWrong reports whether an offset is worth a warning.
func ClockIsWrong(offset time.Duration) bool { return offset.Abs() > maxOffset }

// runClock corrects the time of presences, until ctx ends: by the database's clock, which all nodes share; on SQLite by
// this machine's.
func (n *Node) runClock(ctx context.Context, c *clock) {
	ticker := time.NewTicker(compareClocks)
	defer ticker.Stop()
	for {
		n.correctClock(ctx, c)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// correctClock measures how far this machine's clock differs from the database's, logs when that begins and ends, and
// corrects presences.
func (n *Node) correctClock(ctx context.Context, c *clock) {
	offset, isKnown, err := ClockOffset(ctx, n.DB)
	if err != nil || (!isKnown && n.DB.Engine() != "sqlite") {
		return // the correction stays as it is; readiness reports the database
	}
	c.offset.Set(offset.Seconds())
	switch far := ClockIsWrong(offset); {
	case far && !c.far:
		n.Log.Warn("the clocks of this machine and of the database differ: check their NTP; "+
			"sessions and tokens follow the clock of this machine", "ahead_seconds", offset.Seconds())
		c.far = true
	case !far && c.far:
		n.Log.Info("the clocks of this machine and of the database agree again")
		c.far = false
	}
	n.Services.Presences.Correct(time.Now().Add(-offset).Sub(n.Services.Presences.Now()))
}
