package contract

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// folders are paths that a prefix could be mistaken in: letter case beyond ASCII, characters with a meaning in LIKE,
// and names that begin alike.
var folders = []string{"Ärger", "ärger/ÖL", "a_b", "axb", "a", "a%", "a)", "it's", "deep", "deep/er", "deep/er/est"}

// folderWorld shares folders and moves templates at random, and knows what everyone should see.
type folderWorld struct {
	*testing.T
	a      Adapter
	team   *fixture.Team
	random *rand.Rand
	groups map[identity.UserID][]identity.UserID // by user

	shares    []prompt.FolderShare
	templates []*prompt.Template
}

func folderWalk(t *testing.T, a Adapter) {
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	one, two := addGroup(t, a, team, team.Member.User), addGroup(t, a, team, team.Member.User, team.Peer.User)
	w := &folderWorld{T: t, a: a, team: team, random: rand.New(rand.NewPCG(proof.Seed(t), 1)),
		groups: map[identity.UserID][]identity.UserID{team.Member.User: {one, two}, team.Peer.User: {two}}}
	for range 4 {
		for range proof.Sample(30, 400) {
			w.step(pick(w, []identity.UserID{team.Member.User, team.Peer.User, team.Admin.User, one, two}))
		}
		w.check()
	}
}

func pick[T any](w *folderWorld, from []T) T { return from[w.random.IntN(len(from))] }

func (w *folderWorld) name() string {
	name := fmt.Sprintf("t%d", w.random.Int())
	if w.random.IntN(5) > 0 {
		name = pick(w, folders) + "/" + name
	}
	return name
}

// step makes, moves or deletes a template, or shares a folder with someone, or ends a share.
func (w *folderWorld) step(extra identity.UserID) {
	ctx := w.Context()
	switch n := w.random.IntN(10); {
	case n < 3 || len(w.templates) == 0:
		by := pick(w, []identity.Actor{w.team.Member, w.team.Peer, w.team.Gone})
		template, err := prompt.New(by, prompt.Draft{Name: w.name(),
			Visibility: pick(w, []access.Visibility{access.Private, access.Private, access.Workspace})})
		must(w, err)
		must(w, w.a.Prompts.Add(ctx, template))
		template.OwnerLeft = by.User == w.team.Gone.User
		w.templates = append(w.templates, template)
	case n < 5:
		i, name := w.random.IntN(len(w.templates)), w.name()
		_, err := w.a.Prompts.Update(ctx, w.team.Admin, w.templates[i].ID, func(p *prompt.Template) error {
			return p.Change(w.team.Admin, nil, prompt.Changes{Name: &name}, prompt.Recipient{})
		})
		must(w, err)
		w.templates[i].Name = name
	case n < 9 || len(w.shares) == 0:
		path, g := pick(w, folders), prompt.Grant{User: extra, Role: access.Role(1 + w.random.IntN(3))}
		if w.random.IntN(4) == 0 {
			path = strings.ToUpper(path)
		}
		if slices.ContainsFunc(w.shares, func(s prompt.FolderShare) bool {
			return s.User == extra && prompt.NameKey(s.Folder) == prompt.NameKey(path)
		}) {
			return
		}
		if w.random.IntN(4) == 0 { // it has just expired when it is read
			g.ExpiresAt = fixture.At.Add(time.Second)
		}
		w.shares = append(w.shares, shareFolder(w, w.a, w.team, path, g))
	default:
		i := w.random.IntN(len(w.shares))
		unshareFolder(w, w.a, w.team, w.shares[i].ID)
		w.shares = slices.Delete(w.shares, i, i+1)
	}
}

// expected returns what by may do with a template, by the shares that were made.
func (w *folderWorld) expected(by identity.Actor, p *prompt.Template) access.Role {
	r := p.Resource
	r.Grants = nil
	for _, s := range w.shares {
		if (s.User == by.User || slices.Contains(w.groups[by.User], s.User)) &&
			strings.HasPrefix(prompt.NameKey(p.Name), prompt.NameKey(s.Folder)+"/") {
			r.Grants = append(r.Grants, access.Grant{User: by.User, Role: s.Role, ExpiresAt: s.ExpiresAt})
		}
	}
	return r.Access(by)
}

func (w *folderWorld) check() {
	for _, by := range []identity.Actor{w.team.Member, w.team.Peer, w.team.Viewer, w.team.Admin, w.team.Owner} {
		by.At = fixture.At.Add(time.Second)
		_, memberships, err := w.a.Users.Get(w.Context(), by.Org, by.User)
		must(w, err)
		for _, m := range memberships {
			if m.Workspace.ID == by.Workspace {
				by.Grouped = m.Grouped
			}
		}
		w.checkFor(by)
		by.Ceiling = identity.Viewer
		w.checkFor(by)
	}
}

func (w *folderWorld) checkFor(by identity.Actor) {
	ctx := w.Context()
	var want []string
	roles := map[prompt.ID]access.Role{}
	for _, p := range w.templates {
		if roles[p.ID] = w.expected(by, p); roles[p.ID] > access.None {
			want = append(want, fmt.Sprint(p.Name, " for a ", roles[p.ID]))
		}
		got, err := w.a.Prompts.Get(ctx, by, p.ID)
		must(w, err)
		same(w, p.Name+" for "+by.Role.String(), got.Access(by), roles[p.ID])
	}
	slices.Sort(want)
	for _, f := range []prompt.Filter{{}, {ByName: true}, {Query: "t"}} {
		for _, limit := range []int{3, 100} {
			var got []string
			for _, p := range fixture.Pages(w, limit,
				func(q page.Query) (prompt.Page, error) { return w.a.PromptLists.Visible(ctx, by, f, q) }) {
				got = append(got, fmt.Sprint(p.Name, " for a ", p.Access(by)))
				if reason := p.Reason(by); reason.By == access.ByFolder && !strings.HasPrefix(prompt.NameKey(p.Name),
					prompt.NameKey(reason.Folder)+"/") {
					w.Errorf("the folder %s is why %s is seen", reason.Folder, p.Name)
				}
			}
			slices.Sort(got)
			same(w, fmt.Sprintf("%s capped at %s, %+v, by %d", by.Role, by.Ceiling, f, limit), got, want)
		}
	}
	for _, folder := range []string{"", "ärger", "a_b", "deep"} {
		entries, err := w.a.PromptLists.Outline(ctx, by, folder, 10_000)
		must(w, err)
		n := 0
		for _, p := range w.templates {
			if roles[p.ID] > access.None && (folder == "" || strings.HasPrefix(prompt.NameKey(p.Name), folder+"/")) {
				n++
			}
		}
		same(w, "outline of "+folder, len(entries), n)
	}
}
