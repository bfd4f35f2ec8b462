package event

import (
	"errors"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
)

// refusals are the codes of refusals that the trail records, and whether only for operations that delete something. The
// others are routine, for pages that offer more than their user may do.
var refusals = map[string]bool{
	"role_ceiling":              false,
	"personal_keys_forbidden":   false,
	"scope_required":            false,
	"address_not_allowed":       false,
	"not_source_owner":          false,
	"billing_role_required":     false,
	"invitation_role_required":  false,
	"forbidden":                 true,
	"connection_forbidden":      true,
	"source_forbidden":          true,
	"prompt_template_forbidden": true,
	"chat_template_forbidden":   true,
}

// Refused returns the note about an operation that by asked for in its workspace and that err refused, by its
// operationId: one for each actor, workspace, code and hour. It is not recordable if err is none of refusals.
func Refused(by identity.Actor, operation string, deletes bool, err error) Note {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.Forbidden {
		return Note{}
	}
	onlyDeletes, isKnown := refusals[f.Code]
	if !isKnown || (onlyDeletes && !deletes) || by.Workspace == "" {
		return Note{}
	}
	return Note{
		By: by, Type: "access.refused", Subject: string(by.User),
		Data:       map[string]any{"code": f.Code, "operation": operation},
		Workspaces: []identity.WorkspaceID{by.Workspace},
		Scope:      []string{string(by.Workspace), f.Code}, Until: EndOfHour(by.At),
	}
}
