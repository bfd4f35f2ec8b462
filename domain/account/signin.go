package account

import (
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Person is a signed-in user with all memberships, oldest first.
type Person struct {
	User        User
	Memberships []Membership
	IssuedAt    time.Time // of the newest token that was settled for this sign-in; zero: unknown

	// LastSettled holds claims that were settled a moment ago without changing anything, although they ask for
	// more: for example a role in a workspace that does not exist, or an address that another user has.
	LastSettled *Claims
}

// Refusals of people whose token is genuine.
var (
	ErrSignUpClosed = &fault.Error{
		Kind: fault.Forbidden, Code: "sign_up_closed",
		Detail: "You have no account in this organisation, and your sign-in does not create one. " +
			"Ask an administrator to invite your e-mail address.",
	}
	ErrClaimMissing = &fault.Error{
		Kind: fault.Forbidden, Code: "required_claim_missing",
		Detail: "Your token lacks a claim that this organisation requires. Ask the administrators of your sign-in " +
			"for it.",
	}
)

// SignIn holds a token's claims, the stored data that they refer to, and the result.
type SignIn struct {
	Claims Claims
	Org    *identity.Org

	Linked      *User                                      // the account of this issuer and subject, if there is one
	ByEmail     *User                                      // has the address of Claims (Email); nil if not found
	IssuedAt    time.Time                                  // of the newest token that was settled for Linked
	ErasedAt    time.Time                                  // when this issuer's person was erased; zero: never
	HasSubject  bool                                       // ByEmail signs in here as another subject
	Invitations []Pending                                  // to the address of Claims (Email), if Linked is nil
	Workspaces  map[string]*Workspace                      // by slug: named by rules, or of roles by rules
	MemberOf    map[identity.UserID][]identity.WorkspaceID // the workspaces that Linked and ByEmail are members of
	Groups      []*Group                                   // those that Claims may change, with People

	User              *User      // the account that Settle found or created
	PersonalWorkspace *Workspace // a workspace made for a new user
	IsNew             bool       // User is new
	Link              bool       // User is to be linked to issuer and subject
	NotJoined         *User      // ByEmail, if User was created separately although its address is verified too
	Yielding          *User      // ByEmail, if its address, which was not confirmed, now belongs to User
	HasMoved          bool       // Linked had another address
}

// Email returns the address that the claims prove to the org, or "".
func (s *SignIn) Email() string { return s.Claims.EmailFor(s.Org) }

// Settle finds or creates the account of the claims, and updates it from them. by is the system. Every
// workspace that the person is in afterwards records the changes.
//
// ErrClaimMissing if the claims lack what the org requires in the issuer's tokens. ErrSignUpClosed if
// there is no account, and these claims may not create one.
//
// identity.ErrUnauthenticated if the account is disabled, or was erased after the token was issued.
//
// A token that is older than one that was settled only identifies the person: the newer one has the
// current claims.
func (s *SignIn) Settle(by identity.Actor) error {
	if len(s.Claims.Missing(s.Org)) > 0 {
		return ErrClaimMissing
	}
	if s.Linked != nil && s.Linked.Enabled() && s.Claims.IssuedAt.Before(s.IssuedAt) {
		s.User = s.Linked
		return nil
	}
	if s.Linked == nil && !s.ErasedAt.IsZero() && !s.Claims.IssuedAt.After(s.ErasedAt) {
		return identity.ErrUnauthenticated
	}
	if err := s.choose(by); err != nil {
		return err
	}
	if !s.User.Enabled() {
		return identity.ErrUnauthenticated
	}
	s.IssuedAt = s.Claims.IssuedAt
	email := s.User.Email
	changes := s.User.updateFrom(s.Claims, s.Org)
	if s.ByEmail != nil && s.ByEmail.ID != s.User.ID && s.ByEmail.Unconfirmed() {
		s.ByEmail.yieldAddress(by, s.MemberOf[s.ByEmail.ID])
		s.Yielding, s.NotJoined, s.ByEmail = s.ByEmail, nil, nil
	}
	if s.ByEmail == nil || s.ByEmail.ID == s.User.ID { // an account never loses a confirmed address to another
		s.User.setEmailFrom(s.Claims, s.Org, changes)
	}
	s.HasMoved = s.Linked != nil && email != "" && email != s.User.Email
	s.grant(by, changes)
	if err := s.followGroups(by); err != nil {
		return err
	}
	if s.IsNew && s.Org.OwnSpaces {
		personal, err := newPersonalWorkspace(by, s.User)
		if err != nil {
			return err
		}
		s.PersonalWorkspace = personal
	}
	in, data := s.workspaceIDs(), map[string]any{"issuer": s.Claims.Issuer}
	if s.IsNew {
		data["operator"] = s.User.Operator
		s.User.recordInWorkspaces(by, in, "user.created", data)
		return nil
	}
	if s.Link {
		s.User.recordInWorkspaces(by, in, "user.linked", data)
	}
	s.User.update(by, in, changes)
	return nil
}

// choose finds the account or creates one. It joins an existing account only if both sides verified its
// address and the org trusts both for it. Otherwise an issuer could take over accounts of another
// issuer's people, or create an account with their address before they arrive. A second subject of the
// same issuer does not join the account either: it is another person, because a provider may reassign
// an address.
func (s *SignIn) choose(by identity.Actor) error {
	joins := s.Email() != "" && s.ByEmail != nil && s.ByEmail.EmailVerified
	switch {
	case s.Linked != nil:
		s.User = s.Linked
		return nil
	case joins && !s.HasSubject && !s.ByEmail.emailUnvouched(s.Org):
		s.User, s.Link = s.ByEmail, true
		return nil
	case !s.maySignUp(by.At):
		return ErrSignUpClosed
	case joins || s.HasSubject:
		s.NotJoined = s.ByEmail
	}
	s.User = &User{
		ID: identity.UserID(id.New(identity.UserPrefix)), Org: by.Org, CreatedAt: by.At, UpdatedAt: by.At, Revision: 1,
	}
	s.IsNew, s.Link = true, true
	return nil
}

// maySignUp reports whether the claims may create an account.
func (s *SignIn) maySignUp(now time.Time) bool {
	switch s.Org.SignUp {
	case identity.SignUpOpen:
		return true
	case identity.SignUpClaims:
		if !s.Claims.Grants(s.Org.ClaimRules).None() || len(s.Org.CapturesOf(s.Email())) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(s.Invitations, func(p Pending) bool { return p.admits(now) })
}

// workspaceIDs returns the workspaces that User is a member of after the sign-in.
func (s *SignIn) workspaceIDs() []identity.WorkspaceID {
	in := map[identity.WorkspaceID]bool{}
	for _, ws := range s.MemberOf[s.User.ID] {
		in[ws] = true
	}
	for _, w := range s.Workspaces {
		in[w.ID] = w.Members[s.User.ID].Role != identity.NoRole
	}
	if s.PersonalWorkspace != nil {
		in[s.PersonalWorkspace.ID] = true
	}
	maps.DeleteFunc(in, func(_ identity.WorkspaceID, isMember bool) bool { return !isMember })
	return slices.Sorted(maps.Keys(in))
}

// emailUnvouched reports whether no verifier that the org trusts has verified u's address. An issuer that was
// removed from the configuration still counts: it was trusted at the time.
func (u *User) emailUnvouched(org *identity.Org) bool {
	issuer, isConfigured := org.Issuer(u.EmailVerifiedBy)
	return u.EmailVerifiedBy == "" || u.EmailVerifiedBy == VerifiedByInvitation || (isConfigured &&
		!issuer.VouchesFor(u.Email))
}

// updateFrom copies the token's data about the person, except the address, and returns what that changed. It removes an
// address that the issuer verified if the issuer may no longer vouch for it.
func (u *User) updateFrom(c Claims, org *identity.Org) map[string]any {
	changes := map[string]any{}
	if name := clip(c.Name, 120); name != "" && name != u.Name {
		u.Name = name
		changes["name"] = true
	}
	if u.EmailVerifiedBy == c.Issuer && u.emailUnvouched(org) {
		u.Email, u.EmailVerified, u.EmailVerifiedBy = "", false, ""
		changes["email"] = true
	}
	return changes
}

// setEmailFrom copies the address that the token proves, and adds the change to changed.
func (u *User) setEmailFrom(c Claims, org *identity.Org, changes map[string]any) {
	email := c.EmailFor(org)
	switch {
	case email == "":
	case email != u.Email || !u.EmailVerified:
		u.Email, u.EmailVerified = email, true
		changes["email"] = true
	case !u.emailUnvouched(org):
		return
	}
	if email != "" {
		u.EmailVerifiedBy = c.Issuer
		changes["email_verified_by"] = c.Issuer
	}
}

// grant gives the rights that the rules grant and removes the rights that they no longer grant, even if the
// rule itself was removed. It keeps rights that were granted by hand or by the rules of other issuers.
// It adds changes of the user to changed.
func (s *SignIn) grant(by identity.Actor, changes map[string]any) {
	c, rules, u := s.Claims, s.Org.ClaimRules, s.User
	g := c.Grants(rules)
	makers := u.operatorBy(c.Issuer, g.Operator, rules)
	if operator := u.OperatorByHand || len(makers) > 0; operator != u.Operator {
		changes["operator"] = event.Change{From: u.Operator, To: operator}
		u.Operator = operator
	}
	if !slices.Equal(makers, u.OperatorBy) {
		u.OperatorBy = makers
		changes["operator_by"] = makers
	}
	for _, slug := range slices.Sorted(maps.Keys(s.Workspaces)) {
		s.Workspaces[slug].SettleGranted(by, u.ID, c.Issuer, g.Roles[slug], rules)
	}
}

// Settled reports whether the claims would change nothing for a person who has signed in before, so
// that nothing needs to be written. A newer token time does not count as a change.
func (p *Person) Settled(c Claims, org *identity.Org) bool {
	if c.IssuedAt.Before(p.IssuedAt) {
		return true
	}
	if m := p.LastSettled; m != nil && m.IssuedAt.Equal(c.IssuedAt) && m.ExpiresAt.Equal(c.ExpiresAt) &&
		m.Email == c.Email && m.Name == c.Name {
		return true
	}
	if c.IssuedAt.After(p.IssuedAt) {
		return false
	}
	u := p.User // p is shared and must not be changed
	changes := u.updateFrom(c, org)
	if u.setEmailFrom(c, org, changes); len(changes) > 0 {
		return false
	}
	g := c.Grants(org.ClaimRules)
	makers := u.operatorBy(c.Issuer, g.Operator, org.ClaimRules)
	if u.Operator != (u.OperatorByHand || len(makers) > 0) || !slices.Equal(makers, u.OperatorBy) {
		return false
	}
	for _, m := range p.Memberships {
		slug := m.Workspace.Slug
		next := m.Granted.settled(c.Issuer, g.Roles[slug], m.ByHand, m.Role, slug, org.ClaimRules)
		if m.Role != next.highest(m.ByHand) || !maps.Equal(m.Granted, next) {
			return false
		}
		delete(g.Roles, slug)
	}
	return len(g.Roles) == 0
}

// Select returns the workspace of a request whose credential is not bound to one: the one that the
// header names, by id or slug; the caller's only one; for a safe request, the stored default.
// identity.ErrWorkspaceNotFound if the caller is not in the named one. identity.ErrWorkspaceRequired if
// none of these applies.
func (p *Person) Select(id string, safe bool) (Membership, error) {
	for _, m := range p.Memberships {
		if id != "" && (id == string(m.Workspace.ID) || id == m.Workspace.Slug) {
			return m, nil
		}
	}
	switch {
	case id != "":
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

// personalName is a personal workspace's name if its owner has none.
const personalName = "My workspace"

// newPersonalWorkspace creates a workspace that a new user owns, under a slug that no other workspace has.
func newPersonalWorkspace(by identity.Actor, u *User) (*Workspace, error) {
	by.User = u.ID
	suffix := string(u.ID)[len(u.ID)-12:]
	name := personalName
	if u.Name != "" {
		name = clip(u.Name, 100)
	}
	return NewWorkspace(by, nil, "u-"+suffix, name)
}

// clip cuts a name that others chose to n characters, and strips what naming refuses.
func clip(s string, n int) string {
	runes := []rune(naming.Strip(s))
	return naming.Strip(string(runes[:min(len(runes), n)])) // the cut may have parted what joins emoji
}
