package e2e

import (
	"github.com/atrium-hq/atrium/domain/identity"
	"slices"
)

// connect makes a connection of a caller's, before the walk begins.
func (w *walk) connect(p *actor) {
	w.Helper()
	mark := w.mark()
	body := w.shop.connection("secret")
	body["name"] = mark
	a := p.do(w.T, "POST", connections, body, p.space.host).is(w.T, 201)
	w.whose(mark, w.learn(&entity{kind: "con", id: a.at("id"), space: p.space, owner: p.id}))
}

func (w *walk) listConnections(p *actor, _ *ladder) {
	w.lists(p, connections, "id", w.of("con", func(th *entity) bool { return th.space == p.space }))
}

func (w *walk) readConnection(p *actor, _ *ladder) {
	id, th := w.pick(p, "con")
	w.call(p, "GET", connections+"/"+id, nil, in(p, th, "con", "connection"))
}

func (w *walk) verifyConnection(p *actor, _ *ladder) {
	id, th := w.pick(p, "con")
	want := in(p, th, "con", "connection")
	if want.allows() {
		want = want.and(th.owner == p.id || p.role() >= identity.Member, 403, "connection_forbidden")
	}
	if w.chance(50) {
		if want.allows() {
			want = want.and(!th.gone, 409, "connection_revoked")
		}
		w.call(p, "POST", connections+"/"+id+"/verify", nil, want)
		return
	}
	if want.allows() {
		want = want.and(th.owner == p.id || p.role() >= identity.Admin, 403, "connection_forbidden")
	}
	if w.call(p, "POST", connections+"/"+id+"/verify", object{"credential": w.shop.credential("another")},
		want) != nil {
		th.gone = false // a credential that works brings a revoked one back
	}
}

func (w *walk) revokeConnection(p *actor, _ *ladder) {
	id, th := w.pick(p, "con")
	want := in(p, th, "con", "connection")
	if want.allows() {
		want = want.and(th.owner == p.id || p.role() >= identity.Admin, 403, "connection_forbidden")
	}
	if want.allows() && p.role() < identity.Admin && w.chance(50) {
		return // so that some stay
	}
	if w.call(p, "DELETE", connections+"/"+id, nil, want) != nil {
		th.gone = true
	}
}

func (w *walk) attachSource(p *actor, _ *ladder) {
	id, th := w.pick(p, "con")
	want := may.and(p.role() >= identity.Member, 403, "source_forbidden")
	if want.allows() {
		if want = in(p, th, "con", "connection"); want.allows() {
			want = want.and(!th.gone, 409, "connection_revoked")
		}
	}
	mark := w.mark()
	body := w.shop.people(w.T, id)
	body["name"] = mark
	if a := w.call(p, "POST", sources, body, want); a != nil {
		w.whose(mark, w.learn(&entity{kind: "src", id: a.at("id"), space: p.space, owner: p.id, of: th}))
	}
}

func (w *walk) listSources(p *actor, _ *ladder) {
	w.lists(p, sources, "id", w.of("src", func(th *entity) bool { return th.space == p.space && !th.gone }))
}

// onSource is the verdict on a data source that every member of its workspace sees, until it is detached.
func onSource(p *actor, th *entity) verdict {
	if th != nil && th.gone {
		th = nil
	}
	return in(p, th, "src", "source")
}

func (w *walk) readSource(p *actor, _ *ladder) {
	id, th := w.pick(p, "src")
	path := sources + "/" + id
	if w.chance(30) {
		path += "/jobs"
	}
	w.call(p, "GET", path, nil, onSource(p, th))
}

func (w *walk) mapSource(p *actor, _ *ladder) {
	id, th := w.pick(p, "src")
	want := onSource(p, th)
	if want.allows() {
		want = want.and(th.owner == p.id || p.role() >= identity.Admin, 403, "source_forbidden")
	}
	if want.allows() {
		want = unless(verdict{status: 409, code: "source_paused"}, verdict{status: 409, code: "connection_revoked"})
	}
	w.call(p, "PUT", sources+"/"+id, object{"mapping": []object{{"field": "email", "column": "email"}}}, want)
}

func (w *walk) detachSource(p *actor, _ *ladder) {
	id, th := w.pick(p, "src")
	want := onSource(p, th)
	if want.allows() {
		want = want.and(th.owner == p.id || p.role() == identity.Owner, 403, "not_source_owner")
	}
	if w.call(p, "DELETE", sources+"/"+id, nil, want) != nil {
		th.gone = true
	}
}

func (w *walk) refreshSource(p *actor, _ *ladder) {
	id, th := w.pick(p, "src")
	want := onSource(p, th)
	if want.allows() { // the owner may have become a viewer since
		want = want.and(th.owner == p.id || p.role() >= identity.Member, 403, "source_forbidden")
	}
	if want.allows() {
		want = unless(verdict{status: 409, code: "source_paused"})
	}
	w.call(p, "POST", sources+"/"+id+"/refresh", nil, want)
}

func (w *walk) previewTable(p *actor, _ *ladder) {
	id, th := w.pick(p, "con")
	want := may.and(p.role() >= identity.Member, 403, "source_forbidden")
	if want.allows() {
		if want = in(p, th, "con", "connection"); want.allows() {
			want = want.and(!th.gone, 409, "connection_revoked")
		}
	}
	w.call(p, "GET", sources+"/warehouse-preview?connection_id="+id, nil, want)
}

// pays is the verdict on a payment operation that requires the admin role.
func pays(p *actor) verdict {
	return may.and(p.role() >= identity.Admin, 403, "billing_role_required")
}

func (w *walk) readPlans(p *actor, _ *ladder) {
	if w.chance(50) {
		w.call(p, "GET", payments+"/plans", nil, may)
		return
	}
	w.call(p, "GET", mine, nil, may.and(p.space.subscribed, 404, "no_active_subscription"))
}

func (w *walk) createIntent(p *actor, _ *ladder) {
	if a := w.call(p, "POST", payments+"/setup-intent", object{}, pays(p)); a != nil {
		w.learn(&entity{kind: "seti", id: a.at("id"), space: p.space, secret: a.at("client_secret")})
	}
}

func (w *walk) confirmIntent(p *actor, _ *ladder) {
	id, th := w.pick(p, "seti")
	secret := "seti_none_secret_none"
	if th != nil {
		secret = th.secret // to know it is not enough
	}
	want := pays(p)
	if want.allows() {
		want = in(p, th, "seti", "intent")
	}
	if want.allows() && th.done {
		want = verdict{status: 409, code: "intent_state"}
	}
	if w.call(p, "POST", confirm(id), object{"client_secret": secret, "card": testCard(cardNumber)}, want) != nil {
		th.done = true
		methods := p.get(w.T, payments+"/methods", p.space.host).each(w.T, "id")
		for _, earlier := range w.kinds["pm"] { // the same card again is one method
			earlier.gone = earlier.gone || (earlier.space == p.space && !slices.Contains(methods, earlier.id))
		}
		for _, method := range methods {
			w.learn(&entity{kind: "pm", id: method, space: p.space})
		}
	}
}

func (w *walk) listMethods(p *actor, _ *ladder) {
	if w.chance(30) {
		w.call(p, "GET", payments+"/invoices", nil, pays(p))
		return
	}
	if want := pays(p); !want.allows() {
		w.call(p, "GET", payments+"/methods", nil, want)
		return
	}
	w.lists(p, payments+"/methods", "id", w.of("pm", func(th *entity) bool { return th.space == p.space && !th.gone }))
}

func (w *walk) touchMethod(p *actor, _ *ladder) {
	id, th := w.pick(p, "pm")
	want := pays(p)
	if want.allows() {
		if th != nil && th.gone {
			th = nil
		}
		want = in(p, th, "pm", "payment_method")
	}
	if w.chance(50) {
		w.call(p, "POST", payments+"/methods/"+id+"/default", nil, want)
		return
	}
	rest := w.of("pm", func(th *entity) bool { return th.space == p.space && !th.gone })
	if want.allows() && p.space.subscribed && len(rest) == 1 {
		want = verdict{status: 409, code: "payment_method_in_use"}
	}
	if w.call(p, "DELETE", payments+"/methods/"+id, nil, want) != nil {
		th.gone = true
	}
}

func (w *walk) subscribe(p *actor, _ *ladder) {
	want := pays(p)
	switch methods := w.of("pm", func(th *entity) bool { return th.space == p.space && !th.gone }); {
	case !want.allows():
	case p.space.subscribed:
		want = verdict{status: 409, code: "subscription_exists"}
	case len(methods) == 0:
		want = verdict{status: 402, code: "payment_method_required"}
	}
	if w.call(p, "POST", payments+"/subscriptions", object{"plan_id": "basic"}, want) != nil {
		p.space.subscribed = true
	}
}

func (w *walk) unsubscribe(p *actor, _ *ladder) {
	want := pays(p)
	if want.allows() {
		want = want.and(p.space.subscribed, 404, "no_active_subscription")
	}
	if w.call(p, "DELETE", mine, nil, want) != nil {
		p.space.subscribed = false
	}
}

func (w *walk) heartbeat(p *actor, _ *ladder) {
	mark := w.mark()
	if w.chance(10) {
		if other := one(w, w.actors); other != p {
			w.call(p, "POST", presences, object{"user_id": other.id}, verdict{status: 403, code: "presence_not_own"})
		}
		return
	}
	a := w.call(p, "POST", presences, object{"text": mark}, unless(verdict{status: 429, code: "rate_limited"}))
	if a != nil {
		p.presence, p.hasPresence = a.at("id"), true
		w.whose(mark, w.learn(&entity{kind: "prs", id: p.presence, space: p.space, owner: p.id}))
	}
}

// present is the one whose presence it is, if it was not deleted.
func (w *walk) present(th *entity) *actor {
	for _, p := range w.actors {
		if th != nil && p.presence == th.id && p.hasPresence {
			return p
		}
	}
	return nil
}

func (w *walk) listPresences(p *actor, _ *ladder) {
	var users []string
	for _, other := range w.actors {
		if other.hasPresence && (other == p || (p.operator && other.space.org == p.space.org)) {
			users = append(users, other.id)
		}
	}
	w.lists(p, presences, "user_id", users)
}

func (w *walk) readPresence(p *actor, _ *ladder) {
	id, th := w.pick(p, "prs")
	owner := w.present(th)
	want := verdict{status: 404, code: "presence_not_found"}
	if owner != nil && p.sees(th) {
		want = may
	}
	a := w.call(p, "GET", presences+"/"+id, nil, want)
	if isComplete := a != nil && a.at("devices") != ""; a != nil && isComplete != (owner == p || p.operator) {
		w.fail("%s sees of %s's presence what is not for them, or not what is", p.name, owner.name)
	}
}

func (w *walk) deletePresence(p *actor, _ *ladder) {
	id, th := w.pick(p, "prs")
	owner := w.present(th)
	want := verdict{status: 404, code: "presence_not_found"}
	if owner != nil && (owner == p || (p.operator && owner.space.org == p.space.org)) {
		want = may
	}
	if w.call(p, "DELETE", presences+"/"+id, nil, want) != nil {
		owner.hasPresence = false
	}
}
