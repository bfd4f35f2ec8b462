package presence

import (
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Mask is what others see while the user is invisible: the presence as it was when they became invisible. Nothing that
// the user does or sets while invisible changes it.
type Mask struct {
	Text, Emoji      string
	ActiveAt, SeenAt time.Time
	Seq              int64 // of the change that made the user invisible; 0 until the store has numbered it
}

// isInvisible reports whether the user is invisible at a time.
func (r *Record) isInvisible(now time.Time) bool {
	return !r.Deleted && r.Claim(now).Status == ManualInvisible
}

// mask returns what others see of r while the user is invisible. If r has no Mask yet, it is what they would see from
// now on, with the text that they see at the moment.
func (r *Record) mask(now time.Time) Mask {
	if r.Mask != nil {
		return *r.Mask
	}
	claim, start := r.Claim(now), r.Since
	if t := r.Temporary; t != nil && !now.Before(t.Until) {
		claim, start = t.Claim, t.Until // it has just ended, and r is not settled yet
	}
	return r.maskFrom(claim, start)
}

// maskFrom returns the mask of a user who becomes invisible at a time, whose claim others saw until then.
func (r *Record) maskFrom(claim Claim, start time.Time) Mask {
	return Mask{
		Text: claim.Text, Emoji: claim.Emoji, ActiveAt: earlier(r.ActiveAt, start), SeenAt: earlier(r.SeenAt, start),
	}
}

// settleMask keeps the mask m while the user is invisible, unless r has one already, and removes it afterwards.
func (r *Record) settleMask(m Mask, now time.Time) {
	switch {
	case !r.isInvisible(now):
		r.Mask = nil
	case r.Mask == nil:
		r.Mask = &m
	}
}

// SeqFor returns the Seq of the latest change of r that a caller with access a can see. It stays the same while the
// user is invisible, except for the user.
func (r *Record) SeqFor(a Access, now time.Time) int64 {
	if a != Own && r.Mask != nil && r.Mask.Seq != 0 && r.isInvisible(now) {
		return r.Mask.Seq
	}
	return r.Seq
}

// Number gives r the number after last if r is no longer EqualVisible to was, and returns the last number that is
// taken then. Stores call it after each change.
func (r *Record) Number(previous *Record, last int64) int64 {
	if !r.EqualVisible(previous) {
		last++
		r.Seq = last
	}
	if r.Mask != nil && r.Mask.Seq == 0 {
		copied := *r.Mask // others may share it
		copied.Seq = r.Seq
		r.Mask = &copied
	}
	return last
}

func (m *Mask) equal(other *Mask) bool {
	if m == nil || other == nil {
		return m == other
	}
	return m.Text == other.Text && m.Emoji == other.Emoji && m.Seq == other.Seq &&
		m.ActiveAt.Equal(other.ActiveAt) && m.SeenAt.Equal(other.SeenAt)
}

// IsNewFor reports whether r has a change that by can see, after the one with the number above.
func (r *Record) IsNewFor(by identity.Actor, newest int64, now time.Time) bool {
	return r.Deleted || r.SeqFor(r.Access(by, true), now) > newest
}
