package e2e

import (
	"github.com/atrium-hq/atrium/domain/identity"
)

// step performs one random move of a random caller.
func (w *walk) step() {
	p := one(w, w.actors)
	l := promptLadder
	if w.chance(45) {
		l = chatLadder
	}
	total := 0
	for _, m := range moves {
		total += m.weight
	}
	n := w.rand.IntN(total)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			m.make(w, p, l)
			return
		}
	}
}

// moves are the calls and their frequencies. Moves on templates use either kind.
var moves = []struct {
	weight int
	make   func(w *walk, p *actor, l *ladder)
}{
	{8, (*walk).createTemplate}, {4, (*walk).listTemplates}, {14, (*walk).readTemplate}, {12, (*walk).changeTemplate},
	{4, (*walk).deleteTemplate}, {5, (*walk).restoreTemplate}, {4, (*walk).listPeople}, {10, (*walk).addPerson},
	{6, (*walk).removePerson},
	{5, (*walk).createVersion}, {6, (*walk).readVersion}, {4, (*walk).activateVersion}, {3, (*walk).deleteVersion},
	{4, (*walk).renderVersion}, {3, (*walk).listVersions},
	{3, (*walk).createToken}, {4, (*walk).touchToken}, {2, (*walk).listTokens}, {4, (*walk).workflow},
	{2, (*walk).listConnections}, {3, (*walk).readConnection}, {1, (*walk).verifyConnection},
	{2, (*walk).revokeConnection},
	{1, (*walk).attachSource}, {3, (*walk).listSources}, {4, (*walk).readSource}, {1, (*walk).mapSource},
	{2, (*walk).detachSource}, {2, (*walk).refreshSource}, {1, (*walk).previewTable},
	{2, (*walk).readPlans}, {2, (*walk).createIntent}, {3, (*walk).confirmIntent}, {3, (*walk).listMethods},
	{3, (*walk).touchMethod}, {2, (*walk).subscribe}, {1, (*walk).unsubscribe},
	{3, (*walk).heartbeat}, {3, (*walk).listPresences}, {5, (*walk).readPresence}, {2, (*walk).deletePresence},
	{4, (*walk).readWorkspace}, {3, (*walk).readMember}, {2, (*walk).changeRole}, {2, (*walk).createKey},
	{4, (*walk).touchKey}, {1, (*walk).listKeys},
	{3, (*walk).readEvents}, {2, (*walk).invite}, {3, (*walk).touchInvitation}, {2, (*walk).wrongCredential},
}

var levelNames = map[string]level{"viewer": viewing, "editor": editing, "manager": managing}

func (w *walk) createTemplate(p *actor, l *ladder) {
	mark, open := w.mark(), w.chance(40)
	body := object{"name": mark, "description": mark,
		"visibility": map[bool]string{true: "workspace", false: "private"}[open]}
	if l == chatLadder {
		body["greeting"] = mark
	}
	if a := w.call(p, "POST", l.path, body, may.and(p.role() >= identity.Member, 403, "forbidden")); a != nil {
		w.whose(mark, w.learn(&entity{kind: l.kind, id: a.at("id"), space: p.space, owner: p.id,
			shares: map[string]level{}, open: open}))
	}
}

func (w *walk) listTemplates(p *actor, l *ladder) {
	w.lists(p, l.path, "id", w.of(l.kind, func(th *entity) bool { return th.level(p) > none }))
}

func (w *walk) readTemplate(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	w.call(p, "GET", l.path+"/"+id, nil, l.on(p, th, viewing))
}

func (w *walk) changeTemplate(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	path := l.path + "/" + id
	switch n := w.rand.IntN(10); {
	case n < 5:
		mark := w.mark()
		if w.call(p, "PATCH", path, object{"description": mark}, l.on(p, th, editing)) != nil {
			w.whose(mark, th)
		}
	case n < 8:
		open := th == nil || !th.open
		if w.call(p, "PATCH", path, object{"visibility": map[bool]string{true: "workspace", false: "private"}[open]},
			l.on(p, th, managing)) != nil {
			th.open = open
		}
	default:
		recipient := one(w, w.actors)
		if th != nil && th.owner == recipient.id {
			return // which changes nothing
		}
		want := l.on(p, th, owning).and(p.space.roles[recipient.id] != identity.NoRole, 422, "user_not_in_workspace")
		if w.call(p, "PATCH", path, object{"owner_id": recipient.id}, want) != nil {
			delete(th.shares, recipient.id)
			th.shares[th.owner] = managing // who owned it goes on as a manager
			th.owner = recipient.id
		}
	}
}

func (w *walk) deleteTemplate(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	if w.call(p, "DELETE", l.path+"/"+id, nil, l.on(p, th, owning)) != nil {
		th.gone = true
	}
}

func (w *walk) restoreTemplate(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	if goneTexts := w.of(l.kind, func(th *entity) bool { return th.gone && th.space == p.space }); len(goneTexts) > 0 &&
		w.chance(60) {
		id = one(w, goneTexts)
		th = w.entities[id]
	}
	if w.call(p, "POST", l.path+"/"+id+"/restore", nil, l.restore(p, th)) != nil {
		th.gone = false
	}
}

func (w *walk) listPeople(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	needs := viewing
	if l == promptLadder {
		needs = managing
	}
	want := l.on(p, th, needs)
	if !want.allows() {
		w.call(p, "GET", l.path+"/"+id+"/"+l.people, nil, want)
		return
	}
	var people []string
	for user := range th.shares {
		people = append(people, user)
	}
	if l == chatLadder { // whose owner is among the members
		people = append(people, th.owner)
	}
	w.lists(p, l.path+"/"+id+"/"+l.people, "user_id", people)
}

func (w *walk) addPerson(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	recipient, role := one(w, w.actors), one(w, []string{"viewer", "editor", "manager"})
	want := l.on(p, th, managing).and(p.space.roles[recipient.id] != identity.NoRole, 422, "user_not_in_workspace")
	if want.allows() && th.owner == recipient.id {
		want = l.hasOwner
	} else if want.allows() && th.shares[recipient.id] != none {
		want = l.twice
	}
	if w.call(p, "POST", l.path+"/"+id+"/"+l.people, object{"user_id": recipient.id, "role": role}, want) != nil {
		th.shares[recipient.id] = levelNames[role]
	}
}

func (w *walk) removePerson(p *actor, l *ladder) {
	id, th := w.pick(p, l.kind)
	recipient := one(w, w.actors)
	want := l.on(p, th, managing)
	if isOwn := th != nil && th.level(p) != none && p.id == recipient.id && th.shares[p.id] != none; isOwn {
		want = may // everybody may leave
	}
	missing := verdict{status: 404, code: l.missing}
	switch {
	case !want.allows():
	case th.owner == recipient.id && l == chatLadder:
		want = verdict{status: 409, code: "owner_stays"}
	case th.shares[recipient.id] == none:
		want = missing
	}
	if p.id == recipient.id && want.status == 403 { // who has no share cannot leave: either is said of it
		want.or = []verdict{missing}
	}
	if w.call(p, "DELETE", l.path+"/"+id+"/"+l.people+"/"+recipient.id, nil, want) != nil {
		delete(th.shares, recipient.id)
	}
}

func (w *walk) createVersion(p *actor, _ *ladder) {
	id, th := w.pick(p, "ptpl")
	mark := w.mark()
	if a := w.call(p, "POST", templates+"/"+id+"/versions", object{"text": mark},
		promptLadder.on(p, th, editing)); a != nil {
		w.whose(mark, w.learn(&entity{kind: "pver", id: a.at("id"), space: p.space, of: th, draft: true}))
	}
}

// version picks a version, most often of its own template.
func (w *walk) version(p *actor) (path string, template, version *entity) {
	id, v := w.pick(p, "pver")
	if v == nil || w.chance(10) {
		tid, th := w.pick(p, "ptpl")
		return templates + "/" + tid + "/versions/" + id, th, v
	}
	return templates + "/" + v.of.id + "/versions/" + id, v.of, v
}

var noVersion = verdict{status: 404, code: "prompt_version_not_found"}

// onVersion is the verdict on an operation that needs a version and a level of access to its template.
func onVersion(p *actor, th, v *entity, needs level) verdict {
	want := promptLadder.on(p, th, needs)
	hidden := v == nil || v.kind != "pver" || v.of != th || v.gone || (th != nil && v.draft && th.level(p) < editing)
	if want.status != 404 && hidden {
		// it may say first what the caller is, or what there is; but the same of all that is hidden
		if want.status == 403 {
			return verdict{status: 403, code: want.code, or: []verdict{noVersion}}
		}
		return noVersion
	}
	return want
}

func (w *walk) readVersion(p *actor, _ *ladder) {
	path, th, v := w.version(p)
	w.call(p, "GET", path, nil, onVersion(p, th, v, viewing))
}

func (w *walk) activateVersion(p *actor, _ *ladder) {
	path, th, v := w.version(p)
	if w.call(p, "POST", path+"/activate", nil, onVersion(p, th, v, editing)) != nil {
		th.active, v.draft = v, false
	}
}

func (w *walk) deleteVersion(p *actor, _ *ladder) {
	path, th, v := w.version(p)
	needs := managing
	if v != nil && v.draft {
		needs = editing
	}
	want := onVersion(p, th, v, needs)
	if th != nil && v != nil && th.active == v {
		active := verdict{status: 409, code: "version_active"}
		if want.allows() {
			want = active
		} else if want.status == 403 {
			want.or = append(want.or, active)
		}
	}
	if w.call(p, "DELETE", path, nil, want) != nil {
		v.gone = true
	}
}

func (w *walk) renderVersion(p *actor, _ *ladder) {
	_, th, v := w.version(p)
	if th == nil || v == nil {
		return
	}
	w.call(p, "POST", templates+"/"+th.id+"/render", object{"ref": v.id}, onVersion(p, th, v, viewing))
}

func (w *walk) listVersions(p *actor, _ *ladder) {
	id, th := w.pick(p, "ptpl")
	if want := promptLadder.on(p, th, viewing); !want.allows() {
		w.call(p, "GET", templates+"/"+id+"/versions", nil, want)
		return
	}
	w.lists(p, templates+"/"+id+"/versions", "id",
		w.of("pver", func(v *entity) bool { return onVersion(p, th, v, viewing).allows() }))
}

func (w *walk) createToken(p *actor, _ *ladder) {
	id, th := w.pick(p, "ctpl")
	mark := w.mark()
	want := chatLadder.on(p, th, managing)
	if want.allows() {
		want = unless(verdict{status: 409, code: "quota_exceeded"})
	}
	if a := w.call(p, "POST", chats+"/"+id+"/embed-tokens", object{"name": mark, "allowed_origins": []string{shop}},
		want); a != nil {
		w.whose(mark, w.learn(&entity{kind: "etok", id: a.at("id"), space: p.space, of: th}))
	}
}

func (w *walk) touchToken(p *actor, _ *ladder) {
	id, e := w.pick(p, "etok")
	tid, th := w.pick(p, "ctpl")
	if e != nil && w.chance(90) {
		tid, th = e.of.id, e.of
	}
	want := chatLadder.on(p, th, managing)
	if want.allows() && (e == nil || e.of != th || e.gone) {
		want = verdict{status: 404, code: "embed_token_not_found"}
	}
	path := chats + "/" + tid + "/embed-tokens/" + id
	switch w.rand.IntN(4) {
	case 0:
		w.call(p, "PATCH", path, object{"enabled": w.chance(50)}, want)
	case 1:
		w.call(p, "POST", path+"/rotate", nil, want)
	case 2:
		if w.call(p, "DELETE", path, nil, want) != nil {
			e.gone = true
		}
	default:
		w.call(p, "GET", path, nil, want)
	}
}

func (w *walk) listTokens(p *actor, _ *ladder) {
	id, th := w.pick(p, "ctpl")
	if want := chatLadder.on(p, th, managing); !want.allows() {
		w.call(p, "GET", chats+"/"+id+"/embed-tokens", nil, want)
		return
	}
	w.lists(p, chats+"/"+id+"/embed-tokens", "id", w.of("etok", func(e *entity) bool { return e.of == th && !e.gone }))
}

func (w *walk) workflow(p *actor, _ *ladder) {
	id, th := w.pick(p, "ctpl")
	want := chatLadder.on(p, th, editing)
	path := chats + "/" + id + "/workflows"
	if w.chance(50) {
		if w.call(p, "POST", path+"/hand-over", nil, want) != nil {
			th.attached = true
		}
		return
	}
	if want.allows() && !th.attached {
		want = verdict{status: 404, code: "workflow_not_attached"}
	}
	if w.call(p, "DELETE", path+"/hand-over", nil, want) != nil {
		th.attached = false
	}
}
