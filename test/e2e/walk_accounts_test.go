package e2e

import (
	"fmt"
	"strings"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// workspace picks one, and says what its members are answered.
func (w *walk) workspace(p *actor, needs identity.Role) (path string, want verdict) {
	id, th := w.pick(p, "wsp")
	return "/api/workspaces/" + id, in(p, th, "wsp", "workspace").and(p.role() >= needs, 403, "forbidden")
}

func (w *walk) readWorkspace(p *actor, _ *ladder) {
	switch w.rand.IntN(4) {
	case 0:
		w.lists(p, "/api/workspaces", "id", []string{p.space.id})
	case 1:
		path, want := w.workspace(p, identity.Admin)
		w.call(p, "PATCH", path, object{"name": w.mark()}, want)
	case 2:
		path, want := w.workspace(p, identity.Viewer)
		if !want.allows() {
			w.call(p, "GET", path+"/members", nil, want)
			return
		}
		var people []string
		for user := range p.space.roles {
			people = append(people, user)
		}
		w.lists(p, path+"/members", "user_id", people)
	default:
		path, want := w.workspace(p, identity.Viewer)
		w.call(p, "GET", path, nil, want)
	}
}

func (w *walk) readMember(p *actor, _ *ladder) {
	path, want := w.workspace(p, identity.Viewer)
	id, th := w.pick(p, "usr")
	if want.allows() && (th == nil || p.space.roles[id] == identity.NoRole) {
		want = verdict{status: 404, code: "member_not_found"}
	}
	w.call(p, "GET", path+"/members/"+id, nil, want)
}

func (w *walk) changeRole(p *actor, _ *ladder) {
	path, want := w.workspace(p, identity.Admin)
	id, th := w.pick(p, "usr")
	name := one(w, []string{"viewer", "member", "admin", "owner"})
	role, existing := identity.ParseRole(name), p.space.roles[id]
	if (existing == identity.Owner && p.id == id) ||
		(want.allows() && role == identity.Owner && p.role() == identity.Owner) {
		return // owners stay as they are
	}
	if want.allows() && (th == nil || existing == identity.NoRole) {
		want = verdict{status: 404, code: "member_not_found"}
	}
	if want.allows() {
		want = want.and(existing <= p.role() && role <= p.role(), 403, "role_ceiling")
	}
	if w.call(p, "PATCH", path+"/members/"+id, object{"role": name}, want) != nil {
		p.space.roles[id] = role
	}
}

func (w *walk) createKey(p *actor, _ *ladder) {
	mark := w.mark()
	if a := w.call(p, "POST", "/api/api-keys", object{"name": mark},
		unless(verdict{status: 409, code: "quota_exceeded"})); a != nil {
		w.whose(mark, w.learn(&entity{kind: "key", id: a.at("id"), space: p.space, owner: p.id,
			ceiling: max(p.role(), identity.Member)}))
	}
}

func (w *walk) touchKey(p *actor, _ *ladder) {
	id, th := w.pick(p, "key")
	want := in(p, th, "key", "api_key")
	if want.allows() && th.owner != p.id && p.role() < identity.Admin {
		want = verdict{status: 404, code: "api_key_not_found"}
	}
	path := "/api/api-keys/" + id
	switch n := w.rand.IntN(4); {
	case n < 2 && want.allows() && th.root: // else nobody walks on
	case n == 0:
		if want.allows() && !th.gone {
			current := min(th.ceiling, th.space.roles[th.owner]) // what the key allows
			want = want.and(current <= p.role(), 403, "role_ceiling")
		}
		if w.call(p, "DELETE", path, nil, want) != nil {
			th.gone = true
		}
	case n == 1:
		if want.allows() {
			want = want.and(th.owner == p.id, 403, "forbidden")
		}
		ceiling := verdict{status: 403, code: "role_ceiling"}
		isAbove := th != nil && th.ceiling > max(p.role(), identity.Member) // made when they were more
		switch {
		case !want.allows():
		case th.gone:
			want = verdict{status: 409, code: "api_key_inactive"}
			if isAbove {
				want.or = []verdict{ceiling}
			}
		case isAbove:
			want = ceiling
		default:
			want = unless(verdict{status: 409, code: "quota_exceeded"})
		}
		if a := w.call(p, "POST", path+"/rotate", nil, want); a != nil {
			th.gone = true
			w.learn(&entity{kind: "key", id: a.at("id"), space: p.space, owner: p.id, ceiling: th.ceiling})
		}
	default:
		w.call(p, "GET", path, nil, want)
	}
}

func (w *walk) listKeys(p *actor, _ *ladder) {
	w.call(p, "GET", "/api/api-keys?limit=100", nil, may)
}

func (w *walk) readEvents(p *actor, _ *ladder) {
	w.call(p, "GET", "/api/events?limit=50", nil, may)
}

func (w *walk) invite(p *actor, _ *ladder) {
	path, want := w.workspace(p, identity.Admin)
	if want.allows() {
		want = unless(verdict{status: 409, code: "quota_exceeded"})
	}
	email := fmt.Sprintf("%s@example.com", w.mark())
	if a := w.call(p, "POST", path+"/invitations", object{"email": email, "role": "viewer"}, want); a != nil {
		mark, _, _ := strings.Cut(email, "@")
		w.whose(mark, w.learn(&entity{kind: "inv", id: a.at("id"), space: p.space, owner: p.id}))
	}
}

func (w *walk) touchInvitation(p *actor, _ *ladder) {
	path, want := w.workspace(p, identity.Admin)
	if w.chance(25) {
		if want.allows() {
			w.lists(p, path+"/invitations", "id",
				w.of("inv", func(th *entity) bool { return th.space == p.space && !th.gone }))
			return
		}
		w.call(p, "GET", path+"/invitations", nil, want)
		return
	}
	id, th := w.pick(p, "inv")
	if want.allows() && (th == nil || th.space != p.space || th.gone) {
		want = verdict{status: 404, code: "invitation_not_found"}
	}
	if w.chance(50) {
		w.call(p, "GET", path+"/invitations/"+id, nil, want)
		return
	}
	if w.call(p, "DELETE", path+"/invitations/"+id, nil, want) != nil {
		th.gone = true
	}
}

// wrongCredential calls on another org's host, with another workspace's header, or with an unknown key.
func (w *walk) wrongCredential(p *actor, l *ladder) {
	other := one(w, w.spaces)
	_, th := w.pick(p, l.kind)
	path := l.path
	if th != nil {
		path += "/" + th.id
	}
	previous := w.written()
	check := func(a *answer, status int, code string) {
		w.calls, w.refused = w.calls+1, w.refused+1
		if a.status != status || a.at("code") != code || w.written() != previous {
			w.fail("%s of %s: %s, want %d %s", p.name, p.space.name, a, status, code)
		}
		w.leaks(p, a, path)
	}
	switch {
	case w.chance(30):
		stranger := &client{server: p.server, token: account.NewToken().Reveal()}
		check(stranger.do(w.T, "GET", path, nil, p.space.host), 401, "unauthenticated")
	case other.org != p.space.org:
		check(p.do(w.T, "GET", path, nil, other.host), 401, "unauthenticated")
	case other != p.space:
		check(p.do(w.T, "GET", path, nil, p.space.host, "Workspace-Id: "+other.id), 400, "workspace_mismatch")
	}
}
