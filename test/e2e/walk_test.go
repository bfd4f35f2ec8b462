package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// walk is a random walk through all areas, by callers who know every id in any response to any of them. A model
// predicts each response.
type walk struct {
	*testing.T
	rand *rand.Rand
	db   *sql.DB
	shop *shopWarehouse

	spaces   []*space
	actors   []*actor
	entities map[string]*entity // by id
	kinds    map[string][]*entity
	marks    map[string]*entity // by a text that is in nothing but the entity
	heard    []string           // every id of any answer, in order
	known    map[string]bool    // the same

	trail                            []string // the last calls
	calls, allowed, refused, foreign int
}

// TestRandomWalk makes 20,000 steps on each engine while proving, and 500 otherwise.
func TestRandomWalk(t *testing.T) {
	steps := proof.Sample(500, 20_000)
	seed := proof.Seed(t)
	onEach(t, func(t *testing.T, engine string) {
		w := newWalk(t, engine, seed)
		begin := time.Now()
		for range steps {
			w.step()
		}
		t.Logf("%d calls in %s: %d were allowed, %d refused, of which %d were about another workspace; %d ids were "+
			"known in the end",
			w.calls, time.Since(begin).Round(time.Second), w.allowed, w.refused, w.foreign, len(w.heard))
	})
}

func newWalk(t *testing.T, engine string, seed uint64) *walk {
	t.Helper()
	const org = ", egress: {allow: [127.0.0.0/8]}, registry: {workflows: [{id: hand-over}]}, "
	s := start(t, engine, configured("orgs:\n  - {slug: red, hosts: [red.example.com]"+org+onlyPayments()+
		"}\n  - {slug: blue, hosts: [blue.example.com]"+org+onlyPayments()+"}\n"), toShops, knowsWebhookKey)
	w := &walk{
		T: t, rand: rand.New(rand.NewPCG(seed, 0)), db: s.open(t), shop: newShop(t),
		entities: map[string]*entity{}, kinds: map[string][]*entity{}, marks: map[string]*entity{},
		known: map[string]bool{},
	}
	t.Cleanup(func() { _ = w.db.Close() })
	for _, namedCase := range []struct{ name, slug, org, host string }{{"A", "default", "red", onRed},
		{"B", "elsewhere", "red", onRed}, {"C", "default", "blue", onBlue}} {
		w.spaces = append(w.spaces, &space{name: namedCase.name, org: namedCase.org, host: namedCase.host,
			roles: map[string]identity.Role{}})
	}
	a, b, c := w.spaces[0], w.spaces[1], w.spaces[2]
	for _, who := range []struct {
		name  string
		space *space
		role  string
		slug  string
		more  []string
	}{
		{"Ann", a, "owner", "default", nil}, {"Bob", a, "admin", "default", nil}, {"Cat", a, "member", "default", nil},
		{"Dan", a, "viewer", "default", []string{"--operator"}}, {"Eve", b, "owner", "elsewhere", nil},
		{"Fay", c, "owner", "default", nil},
	} {
		person := s.user(t, who.role, append([]string{"--org", who.space.org, "--workspace", who.slug}, who.more...)...)
		key, _ := person.key(t, "--org", who.space.org, "--role", "owner") // so that a higher role, once given, counts
		p := &actor{name: who.name, client: key, space: who.space, operator: who.more != nil}
		who.space.id = person.workspace
		who.space.roles[p.id] = identity.ParseRole(who.role)
		w.actors = append(w.actors, p)
		w.learn(&entity{kind: "usr", id: p.id, space: who.space, owner: p.id})
		w.learn(&entity{kind: "wsp", id: who.space.id, space: who.space})
	}
	w.joins(s, w.actors[4], a)
	for _, p := range w.actors { // the keys by which they walk, and those before
		keys := p.get(t, "/api/api-keys?limit=100", p.space.host)
		for i, key := range keys.each(t, "id") {
			w.learn(&entity{kind: "key", id: key, space: p.space, owner: keys.at(fmt.Sprintf("data.%d.user_id", i)),
				root: true})
		}
	}
	for _, p := range []*actor{w.actors[0], w.actors[2], w.actors[4], w.actors[5]} {
		w.connect(p)
	}
	return w
}

// joins makes a caller a member of another workspace too, to which their key gives no access.
func (w *walk) joins(s *server, p *actor, other *space) {
	w.Helper()
	s.must(w.T, "user", "create", "--org", other.org, "--workspace", other.id, "--email", p.email, "--role", "member")
	other.roles[p.id] = identity.Member
}

// learn records a created entity.
func (w *walk) learn(th *entity) *entity {
	if w.entities[th.id] == nil {
		w.entities[th.id] = th
		w.kinds[th.kind] = append(w.kinds[th.kind], th)
		w.hear(th.id)
	}
	return w.entities[th.id]
}

func (w *walk) hear(id string) {
	if !w.known[id] {
		w.known[id] = true
		w.heard = append(w.heard, id)
	}
}

// mark is a text for what is about to be made, or changed; whose says afterwards what that was.
func (w *walk) mark() string { return fmt.Sprintf("mark%dx", w.rand.Uint64()) }

func (w *walk) whose(mark string, th *entity) *entity { w.marks[mark] = th; return th }

func one[T any](w *walk, owners []T) T { return owners[w.rand.IntN(len(owners))] }

func (w *walk) chance(percent int) bool { return w.rand.IntN(100) < percent }

// pick is the id of something to call about, and the entity if it is one of that kind: most often one of the
// caller's workspace, often another's, now and then one that was never there, or is something else.
func (w *walk) pick(p *actor, kind string) (string, *entity) {
	all := w.kinds[kind]
	switch {
	case w.chance(4):
		return "x", nil
	case w.chance(4) || len(all) == 0:
		return id.New(kind), nil
	case w.chance(4):
		other := one(w, w.heard)
		if th := w.entities[other]; th != nil && th.kind == kind {
			return other, th
		}
		return other, nil
	}
	th := one(w, all)
	for range 4 { // towards one's own, and what is new
		if (th.space != p.space && w.chance(60)) || (th.gone && w.chance(60)) {
			th = one(w, all)
		}
	}
	return th.id, th
}

var (
	anyID   = regexp.MustCompile(`\b(?:(?:usr|wsp|inv|key|ptpl|pver|ctpl|etok|src|con|prs)_[0-9a-z]{26}|(?:pm|seti)_[0-9A-Za-z]+)`)
	anyMark = regexp.MustCompile(`mark[0-9]+x`)
)

// call makes a call and checks the response against its verdict. It returns nil if the call was refused.
func (w *walk) call(p *actor, method, path string, body any, want verdict) *answer {
	w.Helper()
	previous := ""
	if !want.allows() {
		previous = w.written()
	}
	a := p.do(w.T, method, path, body, p.space.host, "Request-Id: same")
	w.calls++
	w.trail = append(w.trail, fmt.Sprintf("%s (%s of %s) %v → %d %.200s", p.name, p.role(), p.space.name, body,
		a.status, a))
	if !want.fits(a) {
		w.fail("want %+v", want)
	}
	w.leaks(p, a, path)
	w.holdRevisions(a, method, path)
	if a.status < 300 {
		w.allowed++
		return a
	}
	w.refused++
	if want.allows() {
		return nil // for the state of things
	}
	if (a.status == 401 || a.status == 403 || a.status == 404) && w.written() != previous {
		w.fail("who was refused wrote something")
	}
	if a.status == 404 {
		w.twins(p, method, path, body, a)
	}
	return nil
}

var ids = regexp.MustCompile(`\b([a-z]+)_[0-9a-z]{26}\b`)

// twins repeats a call with an id that never existed, and expects an indistinguishable response.
func (w *walk) twins(p *actor, method, path string, body any, a *answer) {
	w.Helper()
	if th := w.entities[ids.FindString(path)]; th != nil && th.space != p.space {
		w.foreign++
	}
	part := strings.Split(path, "/")
	index := 3 // /api/{things}/{id}
	switch code := strings.TrimSuffix(a.at("code"), "_not_found"); {
	case strings.HasSuffix(path, "/render") && code == "prompt_version", code == "workflow_not_attached",
		code == "no_active_subscription", strings.Contains(path, "?"), strings.HasSuffix(path, "/"+p.id):
		return // what is not there is named elsewhere, or one's own
	case strings.HasPrefix(path, payments+"/sandbox"):
		index = 5
	case strings.HasPrefix(path, payments):
		index = 4
	case code != "prompt_template" && code != "chat_template" && code != "workspace" && len(part) > 5:
		index = 5 // /api/{things}/{id}/{others}/{id}
	}
	if len(part) <= index {
		return
	}
	kind, _, _ := strings.Cut(part[index], "_")
	part[index] = id.New(kind)
	b := p.do(w.T, method, strings.Join(part, "/"), body, p.space.host, "Request-Id: same")
	w.calls++
	same(w.T, fmt.Sprintf("%s: what is hidden and what is not there", p.name), a, b)
	if w.Failed() {
		w.fail("they are not")
	}
}

// leaks searches a response for entities that its caller may not see. Events of what the caller did are no leak: who
// leaves a chat template still reads in the log that they left it.
func (w *walk) leaks(p *actor, a *answer, query string) {
	w.Helper()
	text := a.text
	if strings.HasPrefix(query, "/api/events?") && a.status == 200 {
		text = ""
		for _, e := range a.items(w.T) {
			if e.(object)["actor"] != p.id {
				text += fmt.Sprintln(e)
			}
		}
	}
	for _, id := range anyID.FindAllString(text, -1) {
		switch th := w.entities[id]; {
		case th == nil || strings.Contains(query, id):
			w.hear(id)
		case !p.sees(th):
			w.fail("%s of workspace %s leaked", id, th.space.name)
		}
	}
	for _, mark := range anyMark.FindAllString(text, -1) {
		if th := w.marks[mark]; th != nil && !p.sees(th) {
			w.fail("what is in %s of workspace %s leaked", th.id, th.space.name)
		}
	}
}

// holdRevisions compares the revision of a returned entity with the one before, if no permitted call has changed it
// since. It ignores entities that background jobs change.
func (w *walk) holdRevisions(a *answer, method, path string) {
	w.Helper()
	if a.status >= 300 {
		return
	}
	if method != "GET" {
		for _, id := range ids.FindAllString(path, -1) {
			if th := w.entities[id]; th != nil {
				th.revision = ""
			}
		}
	}
	th := w.entities[a.at("id")]
	if th == nil || th.kind == "src" || th.kind == "con" {
		return
	}
	if got := a.at("revision"); method == "GET" && th.revision != "" && th.revision != got {
		w.fail("the revision was %s before, and nobody who may has changed it", th.revision)
	}
	th.revision = a.at("revision")
}

// written returns the last event that a caller caused, ignoring those of background jobs.
func (w *walk) written() (last string) {
	w.Helper()
	err := w.db.QueryRowContext(w.Context(),
		`SELECT id FROM recorded_events WHERE actor_id LIKE 'usr_%' AND type <> 'access.refused'
		ORDER BY id DESC LIMIT 1`).Scan(&last)
	require.NoError(w, err)
	return last
}

// lists reads a whole list and expects exactly the entities of the model.
func (w *walk) lists(p *actor, path, member string, want []string) {
	w.Helper()
	var got []string
	for cursor := ""; ; {
		a := w.call(p, "GET", path+"?limit=100"+cursor, nil, may)
		if a == nil {
			return
		}
		got = append(got, a.each(w.T, member)...)
		next := a.at("next_cursor")
		if next == "null" || next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.fail("listed were\n%v\nwant\n%v", got, want)
	}
}

// of returns the ids of the existing entities of a kind for which a condition holds.
func (w *walk) of(kind string, holds func(th *entity) bool) (ids []string) {
	for _, th := range w.kinds[kind] {
		if holds(th) {
			ids = append(ids, th.id)
		}
	}
	return ids
}

func (w *walk) fail(format string, args ...any) {
	w.Helper()
	w.Fatalf("call %d: %s\nthe last calls:\n%s", w.calls, fmt.Sprintf(format, args...),
		strings.Join(w.trail[max(0, len(w.trail)-12):], "\n"))
}
