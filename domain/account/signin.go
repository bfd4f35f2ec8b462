package account

import (
	"maps"
	"slices"
	"time"
	"unicode"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Person is who signed in, with all memberships, oldest first.
type Person struct {
	User        User
	Memberships []Membership
	IssuedAt    time.Time // of the newest token that was settled by this sign-in; zero: none that says

	// Met are claims that were settled a moment ago without changing anything, though they ask for
	// more: for a role in a workspace that is not there, say, or an address that another has.
	Met *Claims
}

// SignIn is what a token's claims meet in the store, and what becomes of it.
type SignIn struct {
	Claims   Claims
	Rules    []identity.ClaimRule
	OwnSpace bool // a new user gets a workspace

	Linked     *User                                      // the account of this issuer and subject, if there is one
	ByEmail    *User                                      // the account that has the address of Claims, if there is one
	IssuedAt   time.Time                                  // of the newest token that was settled for Linked
	Known      bool                                       // ByEmail signs in at this issuer already, as another subject
	Workspaces map[string]*Workspace                      // those that Rules name, and those in which rules gave either a role, by slug
	In         map[identity.UserID][]identity.WorkspaceID // of which Linked and ByEmail are members

	User  *User      // the account that Settle settled on
	Own   *Workspace // a workspace made for a new user
	Fresh bool       // User is new
	Link  bool       // User is to be linked to issuer and subject
	Apart *User      // ByEmail, if User was made beside it since two subjects of an issuer are two people
}

// Settle finds or makes the account of the claims, and brings it in line with them. by is the
// system. An account that somebody else made is joined only if its address is verified on both
// sides: otherwise whoever can register an address with some issuer would take the account over. It
// is not joined either by a second subject of an issuer, which is another person there, though it
// has the address now: a provider may give one on. What became of it is told to every workspace
// that the person is in then.
//
// A token that is older than one that was settled proves who somebody is, and no more: the newer one
// has told what became of that person since.
func (s *SignIn) Settle(by identity.Actor) error {
	c, email := s.Claims, s.Claims.VerifiedEmail()
	if s.Linked != nil && c.IssuedAt.Before(s.IssuedAt) {
		s.User = s.Linked
		return nil
	}
	s.IssuedAt = c.IssuedAt
	switch {
	case s.Linked != nil:
		s.User = s.Linked
	case email != "" && s.ByEmail != nil && s.ByEmail.EmailVerified && !s.Known:
		s.User, s.Link = s.ByEmail, true
	default:
		if s.Known {
			s.Apart = s.ByEmail
		}
		s.User, s.Fresh, s.Link = &User{ID: identity.UserID(id.New(identity.UserPrefix)), Org: by.Org, CreatedAt: by.At, UpdatedAt: by.At, Revision: 1}, true, true
	}
	taken := s.ByEmail != nil && s.ByEmail.ID != s.User.ID // an address is never taken away from an account
	changed := s.User.follow(c, email, taken)
	s.grant(by, changed)
	if s.Fresh && s.OwnSpace {
		own, err := newOwnSpace(by, s.User)
		if err != nil {
			return err
		}
		s.Own = own
	}
	in := s.in()
	if s.Fresh {
		s.User.tell(by, in, "user.created", map[string]any{"issuer": c.Issuer, "operator": s.User.Operator})
		return nil
	}
	if s.Link {
		s.User.tell(by, in, "user.linked", map[string]any{"issuer": c.Issuer})
	}
	s.User.update(by, in, changed)
	return nil
}

// in is where User is a member after all that.
func (s *SignIn) in() []identity.WorkspaceID {
	in := map[identity.WorkspaceID]bool{}
	for _, ws := range s.In[s.User.ID] {
		in[ws] = true
	}
	for _, w := range s.Workspaces {
		in[w.ID] = w.Members[s.User.ID].Role != identity.NoRole
	}
	if s.Own != nil {
		in[s.Own.ID] = true
	}
	maps.DeleteFunc(in, func(_ identity.WorkspaceID, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(in))
}

// follow takes over what the token says of the person, and answers what that changed.
func (u *User) follow(c Claims, email string, taken bool) map[string]any {
	changed := map[string]any{}
	if name := clip(c.Name, 120); name != "" && name != u.Name {
		u.Name = name
		changed["name"] = true
	}
	if email != "" && !taken && (email != u.Email || !u.EmailVerified) {
		u.Email, u.EmailVerified = email, true
		changed["email"] = true
	}
	return changed
}

// grant gives what the rules say and takes what they say no longer, also where no rule is left to
// speak of it, and leaves what was given by hand. What it changes of the user it adds to changed.
func (s *SignIn) grant(by identity.Actor, changed map[string]any) {
	g := s.Claims.Grants(s.Rules)
	if operator := s.User.OperatorByHand || g.Operator; operator != s.User.Operator {
		s.User.Operator = operator
		changed["operator"] = event.Change{From: !operator, To: operator}
	}
	for _, slug := range slices.Sorted(maps.Keys(s.Workspaces)) {
		s.Workspaces[slug].Keep(by, s.User.ID, g.Roles[slug])
	}
}

// Settled reports whether the claims would change nothing for a person who signed in before, so
// that there is nothing to write: not even that they are newer than those that were settled last.
func (p *Person) Settled(c Claims, rules []identity.ClaimRule) bool {
	if c.IssuedAt.Before(p.IssuedAt) {
		return true
	}
	if m := p.Met; m != nil && m.IssuedAt.Equal(c.IssuedAt) && m.ExpiresAt.Equal(c.ExpiresAt) && m.Email == c.Email && m.Name == c.Name {
		return true
	}
	if c.IssuedAt.After(p.IssuedAt) {
		return false
	}
	if name := clip(c.Name, 120); name != "" && name != p.User.Name {
		return false
	}
	if email := c.VerifiedEmail(); email != "" && (email != p.User.Email || !p.User.EmailVerified) {
		return false
	}
	g := c.Grants(rules)
	if p.User.Operator != (p.User.OperatorByHand || g.Operator) {
		return false
	}
	for _, m := range p.Memberships {
		if m.Role != max(m.ByHand, g.Roles[m.Workspace.Slug]) {
			return false
		}
		delete(g.Roles, m.Workspace.Slug)
	}
	return len(g.Roles) == 0
}

// Select answers the workspace of a request in which the caller's credential names none: the one
// that the header names, by id or slug; the caller's only one; for a safe request the stored
// default. identity.ErrWorkspaceNotFound if the caller is not in the one that is named,
// identity.ErrWorkspaceRequired if nothing tells.
func (p *Person) Select(named string, safe bool) (Membership, error) {
	for _, m := range p.Memberships {
		if named != "" && (named == string(m.Workspace.ID) || named == m.Workspace.Slug) {
			return m, nil
		}
	}
	switch {
	case named != "":
		return Membership{}, identity.ErrWorkspaceNotFound
	case len(p.Memberships) == 1:
		return p.Memberships[0], nil
	case safe && p.User.DefaultWorkspace != "":
		for _, m := range p.Memberships {
			if m.Workspace.ID == p.User.DefaultWorkspace {
				return m, nil
			}
		}
	}
	return Membership{}, identity.ErrWorkspaceRequired
}

// newOwnSpace makes a workspace that a new user owns, under a slug that nobody else has.
func newOwnSpace(by identity.Actor, u *User) (*Workspace, error) {
	by.User = u.ID
	suffix := string(u.ID)[len(u.ID)-12:]
	name := "My workspace"
	if u.Name != "" {
		name = clip(u.Name, 100)
	}
	return NewWorkspace(by, nil, "u-"+suffix, name)
}

// clip cuts a text of others to n characters, and takes control characters out.
func clip(s string, n int) string {
	out := make([]rune, 0, min(len(s), n))
	for _, r := range s {
		if len(out) == n {
			break
		}
		if !unicode.IsControl(r) {
			out = append(out, r)
		}
	}
	return string(out)
}
