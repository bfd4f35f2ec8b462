package e2e

import (
	"cmp"

	"github.com/atrium-hq/atrium/domain/identity"
)

// The model of the random walk: who may see and do what, according to the API documentation. From the program it uses
// only the names and the order of workspace roles.

// space is a workspace of the walk.
type space struct {
	name, id   string
	org, host  string
	roles      map[string]identity.Role // by user id
	subscribed bool
}

// actor is a caller of the walk, with a key of one workspace.
type actor struct {
	name string
	*client
	space       *space
	operator    bool   // of the org
	presence    string // id, once there was a heartbeat
	hasPresence bool   // it was not deleted since
}

func (p *actor) role() identity.Role { return p.space.roles[p.id] }

// entity is something that one of the callers created.
type entity struct {
	kind, id string // the id's prefix, or pm and seti of the gateway
	space    *space
	owner    string           // user id
	shares   map[string]level // of a template, by user id
	open     bool             // to every member of the workspace
	gone     bool             // deleted, revoked or detached
	of       *entity          // the template of a version or a token, the connection of a source
	draft    bool
	active   *entity       // version
	attached bool          // a workflow
	secret   string        // that confirms an intent
	done     bool          // an intent is
	root     bool          // a key by which somebody walks
	ceiling  identity.Role // of a key
	revision string        // of the last answer that told it, unless something may have changed since
}

// level is a caller's access to a template: the highest of ownership, share, workspace role and visibility. There is no
// access to another workspace, even with a share there.
func (th *entity) level(p *actor) level {
	if th.space != p.space || th.gone || p.role() == identity.NoRole {
		return none
	}
	existing := th.shares[p.id]
	if p.role() >= identity.Admin {
		existing = max(existing, managing)
	}
	if th.open {
		existing = max(existing, viewing)
	}
	if th.owner == p.id {
		existing = owning
	}
	return existing
}

// verdict is the expected result of a call: a status and the code of its problem. A status of 0 is any success.
type verdict struct {
	status int
	code   string
	or     []verdict
}

var may = verdict{}

// unless adds other results that a permitted call can have, depending on the state.
func unless(or ...verdict) verdict { return verdict{or: or} }

func (v verdict) allows() bool { return v.status == 0 }

func (v verdict) fits(a *answer) bool {
	if (v.status == 0 && a.status < 300) ||
		(v.status != 0 && a.status == v.status && cmp.Or(a.at("code"), v.code) == v.code) {
		return true
	}
	for _, other := range v.or {
		if other.fits(a) {
			return true
		}
	}
	return false
}

// ladder describes one of the two kinds of templates, which have the same permissions.
type ladder struct {
	kind, path, prefix string
	people             string // the last path segment of its shares or members
	hasOwner, twice    verdict
	missing            string
}

var (
	promptLadder = &ladder{
		kind: "ptpl", path: templates, prefix: "prompt_template", people: "shares", missing: "share_not_found",
		hasOwner: verdict{status: 409, code: "owner_share"}, twice: verdict{status: 409, code: "already_shared"},
	}
	chatLadder = &ladder{
		kind: "ctpl", path: chats, prefix: "chat_template", people: "members", missing: "chat_member_not_found",
		hasOwner: verdict{status: 409, code: "already_member"}, twice: verdict{status: 409, code: "already_member"},
	}
)

func (l *ladder) absent() verdict { return verdict{status: 404, code: l.prefix + "_not_found"} }

// on is the verdict on an operation that needs a level of access to a template. th is nil if the template does not
// exist.
func (l *ladder) on(p *actor, th *entity, needs level) verdict {
	switch {
	case th == nil || th.kind != l.kind || th.level(p) == none:
		return l.absent()
	case th.level(p) < needs:
		return verdict{status: 403, code: l.prefix + "_forbidden"}
	}
	return may
}

// restore is the verdict on restoring a template: its owner and the workspace's admins may.
func (l *ladder) restore(p *actor, th *entity) verdict {
	switch {
	case th == nil || th.kind != l.kind || th.space != p.space:
		return l.absent()
	case th.owner == p.id || p.role() >= identity.Admin:
		return may
	case th.level(p) == none:
		return l.absent()
	}
	return verdict{status: 403, code: l.prefix + "_forbidden"}
}

// in is the verdict on an entity that is visible to every member of its workspace.
func in(p *actor, th *entity, kind, code string) verdict {
	if th == nil || th.kind != kind || th.space != p.space {
		return verdict{status: 404, code: code + "_not_found"}
	}
	return may
}

// and adds a condition to a verdict: a permitted caller is refused unless it holds.
func (v verdict) and(holds bool, status int, code string) verdict {
	if v.allows() && !holds {
		return verdict{status: status, code: code}
	}
	return v
}

// sees reports whether a response to the caller may name an entity.
func (p *actor) sees(th *entity) bool {
	switch {
	case th.kind == "prs" || th.kind == "usr": // of members of the key's own workspace: a key sees no other
		return (p.operator && th.space.org == p.space.org) || p.space.roles[th.owner] != identity.NoRole
	case th.space != p.space:
		return false
	case th.kind == "ptpl" || th.kind == "ctpl":
		return th.level(p) > none || (th.gone && (th.owner == p.id || p.role() >= identity.Admin))
	case th.kind == "pver":
		return th.of.level(p) > viewing || (p.sees(th.of) && (!th.draft || th.of.gone))
	case th.kind == "etok":
		return th.of.level(p) >= managing || p.role() >= identity.Admin
	case th.kind == "key":
		return th.owner == p.id || p.role() >= identity.Admin
	case th.kind == "seti" || th.kind == "inv":
		return p.role() >= identity.Admin
	}
	return true
}
