// Package presence computes whether users are online from their devices' heartbeats and their own claims. Everything
// follows from a record and a time alone; nothing here reads a clock.
package presence

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// ID identifies a presence.
type ID string

// Prefix begins an ID.
const Prefix = "prs"

// A record's limits.
const (
	MaxDevices = 20
	DefaultTTL = 90 * time.Second
	MaxTTL     = 300 * time.Second
	MaxClaim   = 30 * 24 * time.Hour // how far in the future manual_until may be
)

// Errors about presences.
var (
	ErrNotFound = &fault.Error{Kind: fault.NotFound, Code: "presence_not_found",
		Detail: "There is no such presence."}
	ErrNotOwn = &fault.Error{Kind: fault.Forbidden, Code: "presence_not_own",
		Detail: "You can only report your own presence."}
	ErrDeviceLimit = &fault.Error{Kind: fault.Conflict, Code: "device_limit_reached",
		Detail: "A presence can have at most 20 live devices."}
)

// Status is the status that others see.
type Status string

// The statuses. Only idle devices make a user away.
const (
	Online  Status = "online"
	Away    Status = "away"
	DND     Status = "dnd"
	Offline Status = "offline"
)

// Manual is a status that a person sets.
type Manual string

// The statuses that can be set. The zero Manual derives the status from the devices.
const (
	Auto            Manual = ""
	ManualOnline    Manual = "online"
	ManualAway      Manual = "away"
	ManualDND       Manual = "dnd"
	ManualInvisible Manual = "invisible"
)

// Claim is the status that a person has set.
type Claim struct {
	Status Manual
	Text   string // at most 140 characters
	Emoji  string
}

// Temporary is a claim with an end.
type Temporary struct {
	Claim
	Until time.Time
}

// Kind is a device's kind.
type Kind string

// The kinds of devices.
const (
	Web     Kind = "web"
	Desktop Kind = "desktop"
	Mobile  Kind = "mobile"
	API     Kind = "api"
)

// DefaultDevice is the device of heartbeats that name none.
const DefaultDevice = "default"

// Device is one of a person's devices, as of its last heartbeat.
type Device struct {
	ID     string
	Kind   Kind
	Idle   bool
	SeenAt time.Time     // of its last heartbeat
	TTL    time.Duration // how long that counts
}

// ExpiresAt returns when the device counts as offline unless it sends another heartbeat.
func (d Device) ExpiresAt() time.Time { return d.SeenAt.Add(d.TTL) }

func (d *Device) isLive(now time.Time) bool { return now.Before(d.ExpiresAt()) }

// Record is the presence of one user in an org. Settle computes Mask, Shown and Due from the other fields.
type Record struct {
	event.Log
	ID        ID
	Org       identity.OrgID
	User      identity.UserID
	Default   Claim      // the claim without an end
	Temporary *Temporary // replaces Default until it ends; nil: none. Never changed in place: copies share it
	Since     time.Time  // when the claimed status was claimed; of a deleted record, when it was deleted
	Devices   []Device   // by id
	Mask      *Mask      // what others see while the user is invisible; nil: visible. Never changed in place

	ActiveAt time.Time // a device's latest heartbeat in use
	SeenAt   time.Time // the latest heartbeat

	Shown Status    // the status that others saw when the record was settled
	Due   time.Time // when that may change without a heartbeat; zero: never

	Seq        int64 // grows with each visible change, over all records of the org
	Generation int64 // grows when a deleted record is revived: an earlier generation's data no longer counts
	Deleted    bool
}

// Filter narrows a list of presences. Empty fields match every record.
type Filter struct {
	Status   Status
	User     identity.UserID
	SinceSeq int64 // only records with a higher one
}

// Page is one page of records.
type Page = page.Of[Record]

// DueEntry is the time when a user's record is due.
type DueEntry struct {
	User identity.UserID
	Due  time.Time
}

// Counts holds the number of people with each status.
type Counts map[Status]int

// New returns the record for a user who has never sent a heartbeat. It is deleted until the first heartbeat.
func New(org identity.OrgID, user identity.UserID, id ID) *Record {
	return &Record{ID: id, Org: org, User: user, Shown: Offline, Deleted: true}
}

// Claim returns the claim in effect at a time.
func (r *Record) Claim(now time.Time) Claim {
	if now.Before(r.TemporaryUntil()) {
		return r.Temporary.Claim
	}
	return r.Default
}

// TemporaryUntil returns when the temporary claim expires; zero without one.
func (r *Record) TemporaryUntil() time.Time {
	if r.Temporary == nil {
		return time.Time{}
	}
	return r.Temporary.Until
}

// live returns the devices that count at a time.
func (r *Record) live(now time.Time) []Device {
	n := 0
	for i := range r.Devices {
		if r.Devices[i].isLive(now) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]Device, 0, n)
	for i := range r.Devices {
		if r.Devices[i].isLive(now) {
			out = append(out, r.Devices[i])
		}
	}
	return out
}

// Actual returns the status at a time, as its owner sees it: offline without a live device, else the
// claimed status, else the devices' status. Being invisible changes the status only for others.
func (r *Record) Actual(now time.Time) (s Status, manual bool) {
	isOnline, isActive := false, false
	for i := range r.Devices {
		if d := &r.Devices[i]; d.isLive(now) {
			isOnline, isActive = true, isActive || !d.Idle
		}
	}
	if r.Deleted || !isOnline {
		return Offline, false
	}
	manual = true
	switch r.Claim(now).Status {
	case ManualOnline:
		return Online, manual
	case ManualAway:
		return Away, manual
	case ManualDND:
		return DND, manual
	case Auto:
		manual = false
	case ManualInvisible:
	}
	if isActive {
		return Online, manual
	}
	return Away, manual
}

// Public returns the status at a time, as others see it.
func (r *Record) Public(now time.Time) Status {
	if r.Claim(now).Status == ManualInvisible {
		return Offline
	}
	s, _ := r.Actual(now)
	return s
}

// Settle drops what has ended, and sets Mask, Shown and Due.
func (r *Record) Settle(now time.Time) {
	mask := r.mask(now)
	if r.Temporary != nil && !now.Before(r.Temporary.Until) {
		if r.Temporary.Status != r.Default.Status {
			r.Since = r.Temporary.Until
		}
		r.Temporary = nil
	}
	r.Devices = r.live(now)
	r.settleMask(mask, now)
	r.Shown, r.Due = r.Public(now), r.Next()
}

// Next returns when the first device or claim ends; zero: never.
func (r *Record) Next() time.Time {
	next := r.TemporaryUntil()
	for _, d := range r.Devices {
		if expiry := d.ExpiresAt(); next.IsZero() || expiry.Before(next) {
			next = expiry
		}
	}
	return next
}

// EqualVisible reports whether r and was look the same to everyone, except for how recently devices were heard
// from. A device that ends sooner than before is a difference: a reader who missed it would consider
// the device live.
func (r *Record) EqualVisible(previous *Record) bool {
	return r.Generation == previous.Generation && r.Deleted == previous.Deleted && r.Default == previous.Default &&
		r.Temporary.equal(previous.Temporary) &&
		slices.EqualFunc(r.Devices, previous.Devices, func(a, b Device) bool {
			return a.ID == b.ID && a.Kind == b.Kind && a.Idle == b.Idle && !a.ExpiresAt().Before(b.ExpiresAt())
		})
}

func (p *Temporary) equal(other *Temporary) bool {
	if p == nil || other == nil {
		return p == other
	}
	return p.Claim == other.Claim && p.Until.Equal(other.Until)
}

// Equal reports whether r equals previous in all fields, so that there is nothing to store.
func (r *Record) Equal(previous *Record) bool {
	return r.EqualVisible(previous) && r.ActiveAt.Equal(previous.ActiveAt) && r.SeenAt.Equal(previous.SeenAt) &&
		r.Shown == previous.Shown && r.Due.Equal(previous.Due) && r.Mask.equal(previous.Mask) &&
		slices.EqualFunc(r.Devices, previous.Devices,
			func(a, b Device) bool { return a.SeenAt.Equal(b.SeenAt) && a.TTL == b.TTL })
}

// IsNewerThan reports whether r has a later visible change than was, another copy of the same user's record.
func (r *Record) IsNewerThan(previous *Record) bool {
	return r.Generation > previous.Generation || (r.Generation == previous.Generation && r.Seq > previous.Seq)
}

// Copy returns a copy of r that shares no mutable data with it.
func (r *Record) Copy() *Record {
	c := *r
	c.Devices = slices.Clone(r.Devices)
	c.Log = event.Log{}
	return &c
}

// Revive returns how r continues after a deletion that r did not know of: its next generation, with the
// devices that sent heartbeats after the deletion, or nil.
func (r *Record) Revive(tombstone *Record, now time.Time) *Record {
	if !tombstone.Deleted || r.Deleted || r.Generation != tombstone.Generation || tombstone.Since.IsZero() {
		return nil
	}
	next := tombstone.nextGeneration()
	for _, d := range r.live(now) {
		if d.SeenAt.After(tombstone.Since) {
			next.Devices, next.SeenAt = append(next.Devices, d), later(next.SeenAt, d.SeenAt)
			if !d.Idle {
				next.ActiveAt = later(next.ActiveAt, d.SeenAt)
			}
		}
	}
	if len(next.Devices) == 0 {
		return nil
	}
	next.Settle(now)
	return next
}

// nextGeneration returns the first record of r's next generation.
func (r *Record) nextGeneration() *Record {
	return &Record{ID: r.ID, Org: r.Org, User: r.User, Seq: r.Seq, Generation: r.Generation + 1}
}

// MergeDevices copies newer heartbeats of devices from other. It ignores a deleted record and one
// of another generation, except the generation that continues r's after its deletion.
func (r *Record) MergeDevices(other *Record) {
	if other != nil && r.Deleted && !other.Deleted && other.Generation == r.Generation+1 {
		*r = *r.nextGeneration()
	}
	if other == nil || r.Deleted || other.Deleted || r.Generation != other.Generation {
		return
	}
	for _, d := range other.Devices {
		i, isKnown := r.find(d.ID)
		switch {
		case !isKnown:
			r.Devices = slices.Insert(r.Devices, i, d)
		case d.SeenAt.After(r.Devices[i].SeenAt):
			r.Devices[i] = d
		}
	}
	r.ActiveAt, r.SeenAt = later(r.ActiveAt, other.ActiveAt), later(r.SeenAt, other.SeenAt)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (r *Record) find(device string) (i int, isKnown bool) {
	return slices.BinarySearchFunc(r.Devices, device, func(d Device, id string) int {
		switch {
		case d.ID < id:
			return -1
		case d.ID > id:
			return 1
		}
		return 0
	})
}
