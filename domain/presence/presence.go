// Package presence says who is there: what devices and people's own claims add up to at a moment.
// Everything is a pure function of a record and a time; nothing here has a clock.
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

// The bounds of what a record holds.
const (
	MaxDevices = 20
	MinTTL     = 30 * time.Second
	DefaultTTL = 90 * time.Second
	MaxTTL     = 300 * time.Second
	MaxClaim   = 30 * 24 * time.Hour // how far ahead manual_until may lie
)

// What can go wrong with presences.
var (
	ErrNotFound    = &fault.Error{Kind: fault.NotFound, Code: "presence_not_found", Detail: "There is no such presence."}
	ErrNotOwn      = &fault.Error{Kind: fault.Forbidden, Code: "presence_not_own", Detail: "You can only report your own presence."}
	ErrDeviceLimit = &fault.Error{Kind: fault.Conflict, Code: "device_limit_reached", Detail: "A presence can have at most 20 live devices."}
)

// Status is what others are shown.
type Status string

// The statuses. Idle devices alone make away.
const (
	Online  Status = "online"
	Away    Status = "away"
	DND     Status = "dnd"
	Offline Status = "offline"
)

// Manual is a status that a person claims.
type Manual string

// What can be claimed; the zero Manual leaves the status to the devices.
const (
	Auto            Manual = ""
	ManualOnline    Manual = "online"
	ManualAway      Manual = "away"
	ManualDND       Manual = "dnd"
	ManualInvisible Manual = "invisible"
)

// Claim is what a person says of themselves.
type Claim struct {
	Status Manual
	Text   string // at most 140 characters
	Emoji  string
}

// Passing is a claim that ends by itself.
type Passing struct {
	Claim
	Until time.Time
}

// Kind is what a device is.
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

// Device is one of a person's, as its last heartbeat left it.
type Device struct {
	ID     string
	Kind   Kind
	Idle   bool
	SeenAt time.Time     // of its last heartbeat
	TTL    time.Duration // how long that counts
}

// ExpiresAt is when the device is gone unless it is heard of again.
func (d Device) ExpiresAt() time.Time { return d.SeenAt.Add(d.TTL) }

// Record is the presence of one user in an org. Shown and Due are what Settle made of the rest.
type Record struct {
	event.Log
	ID      ID
	Org     identity.OrgID
	User    identity.UserID
	Lasting Claim     // what holds without an end
	Passing *Passing  // what holds before Lasting does again; nil for nothing. It is never changed in place: copies share it
	Since   time.Time // when the status that is claimed was claimed; of a deleted record, when it was deleted
	Devices []Device  // by id

	ActiveAt time.Time // the latest heartbeat of a device in use
	SeenAt   time.Time // the latest heartbeat at all

	Shown Status    // to others, when it was settled
	Due   time.Time // when that may change by itself; zero for never

	Seq     int64 // rises with each change that anybody can see, over all records of the org
	Life    int64 // rises when a deleted record begins anew: what is known of another life counts no more
	Deleted bool
}

// Filter narrows a list of presences; empty fields do not.
type Filter struct {
	Status   Status
	User     identity.UserID
	SinceSeq int64 // only records with a higher one
}

// Page is one page of records.
type Page = page.Of[Record]

// Owed is when a user's record is due.
type Owed struct {
	User identity.UserID
	Due  time.Time
}

// Counts says how many people are shown with each status.
type Counts map[Status]int

// New returns the record of a user of whom nothing has been heard yet. It is deleted: its first
// heartbeat begins its life.
func New(org identity.OrgID, user identity.UserID, id ID) *Record {
	return &Record{ID: id, Org: org, User: user, Shown: Offline, Deleted: true}
}

// Claim is what holds at a time.
func (r *Record) Claim(now time.Time) Claim {
	if now.Before(r.Until()) {
		return r.Passing.Claim
	}
	return r.Lasting
}

// Until is when what passes ends; zero if nothing does.
func (r *Record) Until() time.Time {
	if r.Passing == nil {
		return time.Time{}
	}
	return r.Passing.Until
}

// live answers the devices that count at a time.
func (r *Record) live(now time.Time) []Device {
	var out []Device
	for _, d := range r.Devices {
		if now.Before(d.ExpiresAt()) {
			out = append(out, d)
		}
	}
	return out
}

// Actual is the status at a time, as its owner sees it: nobody is there without a live device; then
// a claim counts, then the devices. Being invisible changes it for others alone.
func (r *Record) Actual(now time.Time) (s Status, manual bool) {
	live := r.live(now)
	if r.Deleted || len(live) == 0 {
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
	if slices.ContainsFunc(live, func(d Device) bool { return !d.Idle }) {
		return Online, manual
	}
	return Away, manual
}

// Public is the status at a time, as others see it.
func (r *Record) Public(now time.Time) Status {
	if r.Claim(now).Status == ManualInvisible {
		return Offline
	}
	s, _ := r.Actual(now)
	return s
}

// Settle drops what has ended, and notes what others are shown and until when at least.
func (r *Record) Settle(now time.Time) {
	if r.Passing != nil && !now.Before(r.Passing.Until) {
		if r.Passing.Status != r.Lasting.Status {
			r.Since = r.Passing.Until
		}
		r.Passing = nil
	}
	r.Devices = r.live(now)
	r.Shown, r.Due = r.Public(now), r.Next()
}

// Next is when the first thing ends; zero for never.
func (r *Record) Next() time.Time {
	next := r.Until()
	for _, d := range r.Devices {
		if at := d.ExpiresAt(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Same reports whether anybody could tell r from what it was by more than how fresh it is. A device that
// ends sooner than it did is not the same: who misses that would take it for live.
func (r *Record) Same(was *Record) bool {
	return r.Life == was.Life && r.Deleted == was.Deleted && r.Lasting == was.Lasting && r.Passing.same(was.Passing) &&
		slices.EqualFunc(r.Devices, was.Devices, func(a, b Device) bool {
			return a.ID == b.ID && a.Kind == b.Kind && a.Idle == b.Idle && !a.ExpiresAt().Before(b.ExpiresAt())
		})
}

func (p *Passing) same(was *Passing) bool {
	if p == nil || was == nil {
		return p == was
	}
	return p.Claim == was.Claim && p.Until.Equal(was.Until)
}

// As reports whether r is was in everything: there is nothing to store.
func (r *Record) As(was *Record) bool {
	return r.Same(was) && r.ActiveAt.Equal(was.ActiveAt) && r.SeenAt.Equal(was.SeenAt) && r.Shown == was.Shown && r.Due.Equal(was.Due) &&
		slices.EqualFunc(r.Devices, was.Devices, func(a, b Device) bool { return a.SeenAt.Equal(b.SeenAt) && a.TTL == b.TTL })
}

// Copy returns a record that shares nothing with r that changes.
func (r *Record) Copy() *Record {
	c := *r
	c.Devices = slices.Clone(r.Devices)
	c.Log = event.Log{}
	return &c
}

// Outlive answers what goes on of r after a deletion that r had not heard of: the next life, of the devices
// that were heard of after it; nil if none was.
func (r *Record) Outlive(deleted *Record, now time.Time) *Record {
	if !deleted.Deleted || r.Deleted || r.Life != deleted.Life || deleted.Since.IsZero() {
		return nil
	}
	next := deleted.anew()
	for _, d := range r.live(now) {
		if d.SeenAt.After(deleted.Since) {
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

// anew is the beginning of the life that follows r's.
func (r *Record) anew() *Record {
	return &Record{ID: r.ID, Org: r.Org, User: r.User, Seq: r.Seq, Life: r.Life + 1}
}

// Freshen takes over what other knows of devices that r has not heard from since. Of a deleted
// record, or one of another life, nothing counts, but of the life that has outlived r's deletion.
func (r *Record) Freshen(other *Record) {
	if other != nil && r.Deleted && !other.Deleted && other.Life == r.Life+1 {
		*r = *r.anew()
	}
	if other == nil || r.Deleted || other.Deleted || r.Life != other.Life {
		return
	}
	for _, d := range other.Devices {
		i, known := r.find(d.ID)
		switch {
		case !known:
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

func (r *Record) find(device string) (i int, known bool) {
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
