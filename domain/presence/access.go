package presence

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Access is how much a caller sees in a presence. Each level includes those below it.
type Access int

// The access levels, lowest first.
const (
	None   Access = iota
	Public        // status, text, emoji and last activity: for users who share a workspace
	Whole         // devices and times too: for operators
	Own           // also while invisible
)

// Access returns what by sees of r. together reports whether they share a workspace.
func (r *Record) Access(by identity.Actor, shareWorkspace bool) Access {
	switch {
	case by.Org != r.Org || by.User == "":
		return None
	case by.User == r.User:
		return Own
	case by.Operator:
		return Whole
	case shareWorkspace:
		return Public
	}
	return None
}

// Together returns the users among users who share a workspace with by; if by uses an API key, the key's
// workspace. in holds the workspaces of each of them and of by.
func Together(by identity.Actor, users []identity.UserID,
	in map[identity.UserID][]identity.WorkspaceID) []identity.UserID {
	memberships := map[identity.WorkspaceID]bool{}
	for _, ws := range in[by.User] {
		memberships[ws] = by.Key == "" || ws == by.Workspace
	}
	var out []identity.UserID
	for _, user := range users {
		if slices.ContainsFunc(in[user], func(ws identity.WorkspaceID) bool { return memberships[ws] }) {
			out = append(out, user)
		}
	}
	return out
}

// View is a presence as one caller sees it at a moment.
type View struct {
	Access    Access
	ID        ID
	User      identity.UserID
	Status    Status
	Manual    bool // the status is set by the person
	Claim     Claim
	Until     time.Time // zero: no end
	ActiveAt  time.Time // zero: never
	SeenAt    time.Time
	ExpiresAt time.Time // when the user becomes offline without another heartbeat; zero while offline
	Seq       int64
	Devices   []Device
}

// View returns r as a caller with access a sees it. To everyone except its owner, an invisible user
// looks offline since the moment they became invisible, with the text of that moment (Mask).
func (r *Record) View(a Access, now time.Time) View {
	claim := r.Claim(now)
	v := View{
		Access: a, ID: r.ID, User: r.User, Claim: claim, Until: r.TemporaryUntil(),
		ActiveAt: r.ActiveAt, SeenAt: r.SeenAt,
		Seq: r.Seq, Devices: r.live(now),
	}
	if !now.Before(v.Until) {
		v.Until = time.Time{}
	}
	v.Status, v.Manual = r.Actual(now)
	if claim.Status == ManualInvisible && a != Own {
		m := r.mask(now)
		v.Status, v.Manual, v.Devices, v.Until = Offline, false, nil, time.Time{}
		v.Claim.Text, v.Claim.Emoji, v.ActiveAt, v.SeenAt = m.Text, m.Emoji, m.ActiveAt, m.SeenAt
		v.Seq = r.SeqFor(a, now)
	}
	if a != Own {
		v.Claim.Status = Auto // others see the resulting status, not the claim
	}
	for _, d := range v.Devices {
		v.ExpiresAt = later(v.ExpiresAt, d.ExpiresAt())
	}
	return v
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Delete deletes r for by: its owner, or an operator of the org, which records an event. The user keeps
// the id. Other callers get the same error as for a presence that does not exist.
func (r *Record) Delete(by identity.Actor, now time.Time) error {
	switch a := r.Access(by, false); {
	case r.Deleted || a < Whole:
		return ErrNotFound
	case by.ReadOnly():
		return identity.ErrForbidden
	case a == Whole:
		r.Record(by, "presence.deleted", string(r.ID), map[string]any{"user_id": string(r.User)})
	}
	r.Clear(now)
	return nil
}

// Clear deletes r with everything that the user has set, for a caller whose right was checked.
func (r *Record) Clear(now time.Time) {
	r.Default, r.Temporary, r.Since, r.Devices, r.ActiveAt, r.SeenAt = Claim{}, nil, now, nil, time.Time{}, time.Time{}
	r.Deleted = true
	r.Settle(now)
}
