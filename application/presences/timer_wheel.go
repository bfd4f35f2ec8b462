package presences

import "time"

// slots is the number of seconds that one wheel turn takes: more than a device's lifetime, so that hardly any entry is
// passed twice.
const slots = 512

// timerWheel is a hashed timing wheel (Varghese and Lauck, 1987) with a slot per second. Moving an entry, which every
// heartbeat does, takes constant time.
type timerWheel struct {
	at    int64 // the second up to which it was turned
	slots [slots]*entry
}

// put places e for the time at which it is due, and removes it from its old place.
func (w *timerWheel) put(e *entry, now time.Time) {
	second := now.Unix()
	if now.Nanosecond() > 0 {
		second++ // never early
	}
	second = max(second, w.at+1)
	if int64(e.second) == second {
		return
	}
	w.remove(e)
	e.second = uint32(second) //nolint:gosec // until 2106
	if e.next = w.slots[second%slots]; e.next != nil {
		e.next.previous = e
	}
	w.slots[second%slots] = e
}

func (w *timerWheel) remove(e *entry) {
	if e.second == 0 {
		return
	}
	if e.next != nil {
		e.next.previous = e.previous
	}
	if e.previous != nil {
		e.previous.next = e.next
	} else {
		w.slots[e.second%slots] = e.next
	}
	e.second, e.previous, e.next = 0, nil, nil
}

// advance removes and returns the entries that are due at now.
func (w *timerWheel) advance(now time.Time) (due []*entry) {
	target := now.Unix()
	w.at = max(w.at, target-slots) // after a long pause each slot is visited once
	for w.at < target {
		w.at++
		for e := w.slots[w.at%slots]; e != nil; {
			next := e.next
			if int64(e.second) <= target {
				w.remove(e)
				due = append(due, e)
			}
			e = next
		}
	}
	return due
}
