package presence

import "time"

// MaxSkew is the maximum difference between the clocks of two nodes. A heartbeat that is later than now by more was
// recorded by a clock that was wrong.
const MaxSkew = 5 * time.Second

// Shift moves the heartbeats of live devices by d, because the clock of the node that recorded them was corrected by d.
// now is the corrected time; no heartbeat is later.
func (r *Record) Shift(d time.Duration, now time.Time) {
	earlier := now.Add(-d)
	for i := range r.Devices {
		if dev := &r.Devices[i]; earlier.Before(dev.ExpiresAt()) {
			dev.SeenAt = shift(dev.SeenAt, d, now)
		}
	}
	r.ActiveAt, r.SeenAt = shift(r.ActiveAt, d, now), shift(r.SeenAt, d, now)
	r.Due = r.Next()
}

// shift moves t by d, at most to now. If the clock was ahead, times before now were not recorded by it.
func shift(t time.Time, d time.Duration, now time.Time) time.Time {
	if t.IsZero() || (d < 0 && !t.After(now)) {
		return t
	}
	return earlier(t.Add(d), now)
}

// Rectify replaces the times of heartbeats that are later than now by more than MaxSkew: with the times of current,
// which is the same record elsewhere or nil, or else with now. Devices that a node with a wrong clock recorded would
// otherwise stay live for as long as the clock was wrong.
func (r *Record) Rectify(current *Record, now time.Time) {
	latest := now.Add(MaxSkew)
	rectify := func(t *time.Time, newest time.Time) {
		if t.After(latest) {
			*t = now
			if !newest.IsZero() && !newest.After(latest) {
				*t = newest
			}
		}
	}
	if current == nil || current.Generation != r.Generation {
		current = &Record{}
	}
	for i := range r.Devices {
		var newest time.Time
		if place, ok := current.find(r.Devices[i].ID); ok {
			newest = current.Devices[place].SeenAt
		}
		rectify(&r.Devices[i].SeenAt, newest)
	}
	rectify(&r.ActiveAt, current.ActiveAt)
	rectify(&r.SeenAt, current.SeenAt)
}
