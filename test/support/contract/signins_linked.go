package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// linkedStep is what one of many people's claims are first, and then in the sign-in that is compared.
type linkedStep struct {
	name          string
	before, after []any // groups; nil: does not sign in first
	needsSignIn   bool
}

var linkedSteps = []linkedStep{
	{name: "owner", before: []any{}, after: []any{}},
	{name: "admin", before: []any{}, after: []any{"chiefs"}, needsSignIn: true}, // responsible for a service key
	{name: "member", before: []any{}, after: []any{"dev"}},
	{name: "peer", before: []any{}, after: []any{"dev"}}, // disabled
	{name: "viewer", before: []any{"dev"}, after: []any{"ops"}},
	{name: "gone", before: []any{"dev"}, after: []any{}}, // with a personal key and a share
	{name: "joining", before: []any{}, after: []any{"dev"}},
	{name: "author", before: []any{"dev"}, after: []any{"dev", "authors"}, needsSignIn: true},
	{name: "moving", before: []any{}, after: []any{"dev"}, needsSignIn: true}, // with another address
	{name: "new", after: []any{"dev"}, needsSignIn: true},
}

// linked is a team whose people sign in, each for the second time.
type linked struct {
	*fixture.Team
	org      *identity.Org
	all      []account.SignIn
	personal *account.Key // of the one who is removed
	template prompt.ID    // which is shared with that person
}

// signsInTogether compares SignInLinked with SignIn, for a team each.
func signsInTogether(t *testing.T, a Adapter) {
	outcome := map[bool]string{}
	for _, isTogether := range []bool{false, true} {
		l := newLinked(t, a)
		by := identity.System(l.Org, "", "sign-in", fixture.At.Add(2*time.Hour))
		settle := func(in *account.SignIn) error { return in.Settle(by) }
		others := l.all
		if isTogether {
			var err error
			others, err = a.LinkedSignIns.SignInLinked(t.Context(), l.Org, l.all, settle)
			must(t, err)
			same(t, "those who need SignIn", namesOf(others), linkedNames())
		}
		for _, in := range others {
			_, err := a.Users.SignIn(t.Context(), l.Org, in, settle)
			if in.Claims.Name == "peer 2" {
				wantErr(t, err, identity.ErrUnauthenticated)
				continue
			}
			must(t, err)
		}
		outcome[isTogether] = l.outcome(t, a)
	}
	same(t, "people, keys, shares and events", outcome[true], outcome[false])
	for _, part := range []string{
		"gone 2: operator false by [], roles [elsewhere member/member]", "viewer 2: operator true by [" + issuer + "], " +
			"roles [viewer/viewer]", "peer: operator false", "joining 2: operator false by [], roles [admin/none]",
		"member 2: operator false by [], roles [admin/member]", "keys [false], shares 0", "member.removed:1",
		"api_key.revoked:1",
	} {
		if !strings.Contains(outcome[true], part) {
			t.Errorf("%s is missing in\n%s", part, outcome[true])
		}
	}
	t.Run("more people than one statement writes", func(t *testing.T) { manySignInTogether(t, a, 100) })
	t.Run("an error undoes everything", func(t *testing.T) {
		l := newLinked(t, a)
		before, count := l.outcome(t, a), 0
		_, err := a.LinkedSignIns.SignInLinked(t.Context(), l.Org, l.all, func(in *account.SignIn) error {
			if count++; count == 5 {
				return errBoom
			}
			return in.Settle(identity.System(l.Org, "", "sign-in", fixture.At.Add(2*time.Hour)))
		})
		wantErr(t, err, errBoom)
		same(t, "everything", l.outcome(t, a), before)
	})
}

// manySignInTogether gives many people a role by a rule, and takes it from them.
func manySignInTogether(t *testing.T, a Adapter, count int) {
	t.Helper()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	org := anyoneOf(identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: "dev", Workspace: team.Workspace.Slug,
		Role: identity.Member})
	signIns := func(hour int, groups ...any) (all []account.SignIn) {
		for i := range count {
			c := claimsOf(team, fmt.Sprint("person", i))
			c.IssuedAt, c.Raw = fixture.At.Add(time.Duration(hour)*time.Hour), map[string]any{"groups": groups}
			all = append(all, account.SignIn{Claims: c, Org: org})
		}
		return all
	}
	must(t, a.Atomic.Atomically(t.Context(), func(tx ports.Stores) error {
		for _, in := range signIns(1) {
			if _, err := trySignIn(t, tx, team.Org, in); err != nil {
				return err
			}
		}
		return nil
	}))
	by := identity.System(team.Org, "", "sign-in", fixture.At.Add(2*time.Hour))
	members := func(all []account.SignIn) (number int) {
		t.Helper()
		others, err := a.LinkedSignIns.SignInLinked(t.Context(), team.Org, all, func(in *account.SignIn) error {
			return in.Settle(by)
		})
		must(t, err)
		assert.Equal(t, "those who need SignIn", len(others), 0)
		for _, m := range fixture.Pages(t, 100, func(q page.Query) (account.MemberPage, error) {
			return a.Workspaces.Members(t.Context(), team.Org, team.Workspace.ID, q)
		}) {
			if m.ByHand == identity.NoRole {
				number++
			}
		}
		return number
	}
	assert.Equal(t, "members by the rule", members(signIns(2, "dev")), count)
	assert.Equal(t, "members without it", members(signIns(3)), 0)
	for _, kind := range []string{"member.added", "member.removed"} {
		events := fixture.Events(t, a.Stores, team.Workspace.ID, event.Filter{Type: kind}, 2*count)
		assert.Equal(t, kind, len(events), count)
	}
}

func namesOf(all []account.SignIn) (names []string) {
	for _, in := range all {
		names = append(names, strings.TrimSuffix(in.Claims.Name, " 2"))
	}
	slices.Sort(names)
	return names
}

// linkedNames returns the names of those who need SignIn.
func linkedNames() (names []string) {
	for _, step := range linkedSteps {
		if step.needsSignIn {
			names = append(names, step.name)
		}
	}
	slices.Sort(names)
	return names
}

// newLinked signs people in for the first time.
func newLinked(t *testing.T, a Adapter) *linked {
	t.Helper()
	team := fixture.NewTeam(t, a.Stores, a.Orgs[0])
	slug := team.Workspace.Slug
	l := &linked{Team: team, org: anyoneOf(
		identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: "dev", Workspace: slug, Role: identity.Admin},
		identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: "chiefs", Workspace: slug, Role: identity.Owner},
		identity.ClaimRule{Issuer: issuer, Claim: "groups", Value: "ops", Operator: true},
	)}
	l.org.GroupClaim = identity.GroupClaim{Issuer: issuer, Claim: "groups"}
	must(t, a.Groups.Add(t.Context(), l.Admin, func(w *account.Workspace, n int) (*account.Group, error) {
		return w.NewGroup(l.Admin, n, account.GroupDraft{Name: "authors", External: "authors"})
	}))
	for _, step := range linkedSteps {
		c := claimsOf(team, step.name)
		c.IssuedAt = fixture.At.Add(time.Hour)
		c.Raw = map[string]any{"groups": step.before}
		if step.before != nil {
			_, err := trySignIn(t, a.Stores, l.Org, account.SignIn{Claims: c, Org: l.org})
			must(t, err)
		}
		c.IssuedAt, c.Name = c.IssuedAt.Add(time.Hour), c.Name+" 2"
		c.Raw = map[string]any{"groups": step.after}
		if step.name == "moving" {
			c.Email = "moved@" + slug + ".example"
		}
		l.all = append(l.all, account.SignIn{Claims: c, Org: l.org})
	}
	fixture.ServiceKey(t, a.Stores, l.Admin, account.KeyDraft{Name: "robot", Ceiling: identity.Member})
	l.personal = addKey(t, a.Stores, l.Gone, account.KeyDraft{Name: "own"})
	l.template = fixture.Template(t, a.Stores, l.Owner, prompt.Draft{}).ID
	fixture.Share(t, a.Stores, l.Owner, l.template, prompt.Grant{User: l.Gone.User, Role: access.Editor})
	by := identity.System(l.Org, "", "test", fixture.At.Add(time.Hour))
	must(t, a.People.ChangeAccess(t.Context(), by, l.Peer.User, func(x *account.Access) error {
		return x.Disable(by, "", false)
	}))
	return l
}

// outcome describes what became of everyone, without ids.
func (l *linked) outcome(t *testing.T, a Adapter) string {
	t.Helper()
	var b strings.Builder
	for _, in := range l.all {
		p, err := a.Users.SignedIn(t.Context(), l.Org, issuer, in.Claims.Subject)
		if errors.Is(err, account.ErrUserNotFound) {
			continue
		}
		must(t, err)
		var roles []string
		for _, m := range p.Memberships {
			where := map[bool]string{false: "elsewhere "}[m.Workspace.ID == l.Workspace.ID]
			roles = append(roles, fmt.Sprintf("%s%s/%s", where, m.Role, cmp.Or(m.ByHand.String(), "none")))
		}
		fmt.Fprintf(&b, "%s: operator %t by %v, roles %v, token of %s, settled %t\n", p.User.Name, p.User.Operator,
			p.User.OperatorBy, roles, p.IssuedAt.Format(time.TimeOnly), p.Settled(in.Claims, l.org))
	}
	shares, err := a.PromptLists.Shares(t.Context(), l.Workspace.ID, l.template, page.Query{Limit: 10})
	must(t, err)
	fmt.Fprintf(&b, "keys %v, shares %d\n", live(t, a.Stores, l.Org, l.personal), len(shares.Items))
	counts := map[string]int{}
	for _, e := range fixture.Events(t, a.Stores, l.Workspace.ID, event.Filter{}, 100) {
		counts[e.Type]++
	}
	fmt.Fprintln(&b, counts)
	return b.String()
}
