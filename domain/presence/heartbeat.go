package presence

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Heartbeat is what a device reports, and what its user claims with it. A nil field keeps the current
// claim.
type Heartbeat struct {
	User   identity.UserID // the user that the caller means; empty: the caller
	Device string
	Kind   Kind
	Idle   bool
	TTL    time.Duration

	// KeepActivity means that the device's activity is unknown: a known device keeps its state.
	KeepActivity bool

	Status *Manual
	Text   *string
	Emoji  *string
	Until  *time.Time // when the claim ends
}

// Claims reports whether h changes a claim.
func (h *Heartbeat) Claims() bool {
	return h.Status != nil || h.Text != nil || h.Emoji != nil || h.Until != nil
}

// Every returns how often a device should report: two heartbeats may be lost before it counts as offline.
func (h *Heartbeat) Every() time.Duration { return h.TTL / 3 }

// Check returns an error if by may not send h.
func (h *Heartbeat) Check(by identity.Actor, now time.Time) error {
	switch {
	case h.User != "" && h.User != by.User:
		return ErrNotOwn
	case by.ReadOnly():
		return identity.ErrForbidden
	}
	var errs fault.Fields
	for pointer, text := range map[string]*string{"/text": h.Text, "/emoji": h.Emoji} {
		if text != nil {
			naming.CheckText(&errs, pointer, *text)
		}
	}
	switch {
	case len(errs) > 0:
		return errs.Err()
	case h.Until == nil:
		return nil
	case !h.Until.After(now):
		return fault.InField("/manual_until", "in_the_past", "Must be in the future.")
	case h.Until.After(now.Add(MaxClaim)):
		return fault.InField("/manual_until", "too_late", "Must be within 30 days.")
	}
	return nil
}

// Refresh applies a heartbeat of by that changes nothing visible, as most heartbeats do, and reports
// whether h is one. If not, it changes nothing, and the caller must use Beat.
func (r *Record) Refresh(by identity.Actor, h *Heartbeat, now time.Time) bool {
	i, isKnown := r.find(h.Device)
	if !isKnown || h.Claims() || r.Deleted || r.User != by.User || r.Org != by.Org || h.Check(by, now) != nil ||
		!now.Before(r.Next()) {
		return false
	}
	d := &r.Devices[i]
	if h.KeepActivity {
		h.copyActivity(d)
	}
	if d.Kind != h.Kind || d.Idle != h.Idle || now.Add(h.TTL).Before(d.ExpiresAt()) {
		return false
	}
	if !d.SeenAt.After(now) {
		d.SeenAt, d.TTL = now, h.TTL
	}
	r.recordActivity(h, now)
	r.Due = r.Next()
	return true
}

func (h *Heartbeat) copyActivity(d *Device) { h.Kind, h.Idle = d.Kind, d.Idle }

func (r *Record) recordActivity(h *Heartbeat, now time.Time) {
	r.SeenAt = later(r.SeenAt, now)
	if !h.Idle {
		r.ActiveAt = later(r.ActiveAt, now)
	}
}

// Beat applies a heartbeat of by. It revives a deleted record.
func (r *Record) Beat(by identity.Actor, h Heartbeat, now time.Time) error {
	if err := h.Check(by, now); err != nil {
		return err
	}
	if r.User != by.User || r.Org != by.Org {
		return ErrNotOwn
	}
	if r.Deleted {
		*r = *r.nextGeneration()
	}
	r.Settle(now)
	if i, isKnown := r.find(h.Device); isKnown && h.KeepActivity {
		h.copyActivity(&r.Devices[i])
	}
	d := Device{ID: h.Device, Kind: h.Kind, Idle: h.Idle, SeenAt: now, TTL: h.TTL}
	switch i, isKnown := r.find(h.Device); {
	case isKnown && r.Devices[i].SeenAt.After(now): // a later heartbeat arrived first
	case isKnown:
		r.Devices[i] = d
	case len(r.Devices) == MaxDevices:
		return ErrDeviceLimit
	default:
		r.Devices = slices.Insert(r.Devices, i, d)
	}
	r.recordActivity(&h, now)
	if h.Claims() {
		r.claim(&h, now)
	}
	r.Settle(now)
	return nil
}

// claim updates the claims: until a time if h names one, or permanently if it names a status. A new
// text or emoji without a status changes the current claim and ends with it.
func (r *Record) claim(h *Heartbeat, now time.Time) {
	previous := r.Claim(now)
	switch {
	case h.Until != nil:
		r.Temporary = &Temporary{h.mergeInto(r.Claim(now)), h.Until.Truncate(time.Microsecond)}
	case h.Status == nil && now.Before(r.TemporaryUntil()):
		r.Temporary = &Temporary{h.mergeInto(r.Temporary.Claim), r.Temporary.Until}
	default:
		r.Default, r.Temporary = h.mergeInto(r.Default), nil
	}
	if r.Claim(now).Status != previous.Status {
		r.Since = now
	}
	r.settleMask(r.maskFrom(previous, r.Since), now)
}

// mergeInto returns claim c with the fields that h sets.
func (h *Heartbeat) mergeInto(c Claim) Claim {
	if h.Status != nil {
		c.Status = *h.Status
	}
	if h.Text != nil {
		c.Text = *h.Text
	}
	if h.Emoji != nil {
		c.Emoji = *h.Emoji
	}
	return c
}
