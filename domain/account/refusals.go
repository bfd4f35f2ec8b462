package account

import (
	"strconv"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

const statusNotFound = 404

// RefusedSignIn returns the note that someone with a genuine token of issuer was refused for a reason, the code of
// ErrSignUpClosed or ErrClaimMissing: one for each workspace, issuer, reason and hour. It names no person, who has no
// account. by is the system.
func RefusedSignIn(by identity.Actor, ws identity.WorkspaceID, issuer, reason string) event.Note {
	return refusedIn(by, ws, "sign_in.refused", map[string]any{"issuer": issuer, "reason": reason}, issuer, reason)
}

// Refused returns the note that r was refused: one for each workspace, kind of resource, reason and hour. by is the
// system. It leads to no event if r was not refused, or asked for what does not exist: directories ask that before they
// create something.
func (r *DirectoryRequest) Refused(by identity.Actor, ws identity.WorkspaceID) event.Note {
	if r.Outcome != DirectoryRefused || r.Status == statusNotFound {
		return event.Note{}
	}
	reason := r.Code
	if reason == "" {
		reason = strconv.Itoa(r.Status)
	}
	data := map[string]any{"resource": string(r.Resource), "reason": reason}
	return refusedIn(by, ws, "directory.refused", data, string(r.Resource), reason)
}

// refusedIn returns a note about a workspace: one for each scope and hour.
func refusedIn(
	by identity.Actor, ws identity.WorkspaceID, kind string, data map[string]any, scope ...string,
) event.Note {
	return event.Note{
		By: by, BySystem: true, Type: kind, Subject: string(ws), Data: data, Workspaces: []identity.WorkspaceID{ws},
		Scope: append(scope, string(ws)), Until: event.EndOfHour(by.At),
	}
}
