package account

import (
	"slices"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// maxSignInEvents is in how many of a person's workspaces a sign-in is written to the trail.
const maxSignInEvents = 20

// SignedIn returns the note of a sign-in of p through an issuer: one for each person, issuer and UTC day, in
// the workspaces that p joined last. by is the system, in the request of the sign-in.
func (p *Person) SignedIn(by identity.Actor, issuer string) event.Note {
	by.User = p.User.ID
	return event.Note{
		By: by, Type: "user.signed_in", Subject: string(p.User.ID), Data: map[string]any{"issuer": issuer},
		Workspaces: p.LatestWorkspaces(), Scope: []string{issuer}, Until: event.EndOfDay(by.At),
	}
}

// SignInRefused returns the note that someone proved to be p, whose account is disabled, and was refused: one for each
// person, source and hour, in the workspaces that p joined last. source is what would have opened the session. by is
// the system, in the request of the sign-in.
func (p *Person) SignInRefused(by identity.Actor, source string) event.Note {
	by.User = p.User.ID
	return event.Note{
		By: by, Type: "user.sign_in_refused", Subject: string(p.User.ID),
		Data:       map[string]any{"source": source, "reason": string(KeyUserDisabled)},
		Workspaces: p.LatestWorkspaces(), Scope: []string{source}, Until: event.EndOfHour(by.At),
	}
}

// IsIn reports whether p is a workspace member.
func (p *Person) IsIn(ws identity.WorkspaceID) bool {
	return slices.ContainsFunc(p.Memberships, func(m Membership) bool { return m.Workspace.ID == ws })
}

// RoleIn returns p's role in a workspace; NoRole if p is no member.
func (p *Person) RoleIn(ws identity.WorkspaceID) identity.Role {
	for i := range p.Memberships {
		if p.Memberships[i].Workspace.ID == ws {
			return p.Memberships[i].Role
		}
	}
	return identity.NoRole
}

// LatestWorkspaces returns at most maxSignInEvents workspaces of p, the one that p joined last first.
func (p *Person) LatestWorkspaces() (in []identity.WorkspaceID) {
	for i := len(p.Memberships) - 1; i >= 0 && len(in) < maxSignInEvents; i-- {
		if w := &p.Memberships[i].Workspace; w.DeletedAt.IsZero() {
			in = append(in, w.ID)
		}
	}
	return in
}
