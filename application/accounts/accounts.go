// Package accounts holds the use cases of users, workspaces, API keys and the audit trail.
package accounts

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// Service holds the use cases, one method each.
type Service struct {
	atomic      ports.Atomic
	users       ports.Users
	people      ports.People
	erasures    ports.Erasures
	workspaces  ports.Workspaces
	invitations ports.Invitations
	keys        ports.Keys
	deps        Deps
}

// Deps are a Service's dependencies other than the stores of its area.
type Deps struct {
	Events         ports.Events
	Notes          ports.Notes
	GatewayAccount GatewayAccountOf
	Mails          *InvitationMailer
	Quotas         ports.Quotas
	Sessions       ports.Sessions
	Passkeys       ports.Passkeys

	// OpenSession opens a session, in the transaction of tx, for a user who has just joined by an invitation. by is the
	// system, in the request of the browser, whose name is agent.
	OpenSession func(
		ctx context.Context, tx ports.Stores, by identity.Actor, user identity.UserID, agent string,
	) (session.Opened, error)

	// EndCheckouts ends the pages of the gateway on which a payer could subscribe for the workspace of by, the system.
	// It returns false if no page is open, or if a payer has subscribed.
	EndCheckouts func(ctx context.Context, by identity.Actor) (hasEnded bool, err error)
}

// GatewayAccountOf returns the payment gateway account that an org currently uses; "" if it takes no payments.
type GatewayAccountOf func(identity.OrgID) string

// NewService returns the use cases on these stores.
func NewService(atomic ports.Atomic, s ports.AccountStores, d Deps) *Service {
	return &Service{
		atomic: atomic, users: s.Users, people: s.People, erasures: s.Erasures, workspaces: s.Workspaces,
		invitations: s.Invitations, keys: s.Keys, deps: d,
	}
}

// Authenticate returns the principal of an org's token. Every problem with the token is identity.ErrUnauthenticated.
// With that error it still returns the principal of a key that is no longer accepted, such as a revoked one, so that an
// operator can find out who still uses it.
func (s *Service) Authenticate(
	ctx context.Context, org *identity.Org, token string, now time.Time,
) (*account.Principal, error) {
	t, ok := account.ParseToken(token)
	if !ok {
		return nil, identity.ErrUnauthenticated
	}
	p, err := s.keys.Principal(ctx, org.ID, t.Hash())
	if err != nil {
		return nil, err
	}
	if !p.Live(org.Keys, now) {
		return p, identity.ErrUnauthenticated
	}
	return p, nil
}

// Memberships lists the caller's memberships, newest workspaces first; with an API key, only the membership of the
// key's workspace.
func (s *Service) Memberships(ctx context.Context, by identity.Actor, q page.Query) (account.MembershipPage, error) {
	return s.people.Memberships(ctx, by, q)
}

// Find returns the person of by's org with an e-mail address. by is the system.
func (s *Service) Find(
	ctx context.Context, by identity.Actor, email string,
) (*account.User, []account.Membership, error) {
	return s.users.FindByEmail(ctx, by.Org, email)
}

// ChangeMe changes the caller's own profile. It also returns the memberships; with an API key, only the membership of
// the key's workspace.
func (s *Service) ChangeMe(
	ctx context.Context, by identity.Actor, match revision.Match, c account.UserChanges,
) (u *account.User, visible []account.Membership, err error) {
	u, err = s.users.Update(ctx, by.Org, by.User, func(u *account.User, m []account.Membership) error {
		visible = account.VisibleMemberships(by, m)
		return u.Change(by, match, m, c)
	})
	return u, visible, err
}

// Keys lists the live API keys: an admin sees the keys of the whole workspace, other callers their own keys.
func (s *Service) Keys(ctx context.Context, by identity.Actor, q page.Query) (account.KeyPage, error) {
	user := by.User
	if by.Role >= identity.Admin {
		user = ""
	}
	return s.keys.List(ctx, by.Workspace, user, by.At, q)
}

// Key returns one API key, live or revoked.
func (s *Service) Key(ctx context.Context, by identity.Actor, id identity.KeyID) (*account.Key, error) {
	k, err := s.keys.Get(ctx, by.Workspace, id)
	if err != nil {
		return nil, err
	}
	if !k.Access(by) {
		return nil, account.ErrKeyNotFound
	}
	return k, nil
}

// CreateKey creates an API key for the caller in a workspace of org. The token is shown only once.
func (s *Service) CreateKey(ctx context.Context, by identity.Actor, org *identity.Org,
	d account.KeyDraft) (*account.Key, account.Token, error) {
	return addKey(ctx, s.keys, by, org, by.User, d)
}

// addKey creates an API key for user in by's workspace.
func addKey(
	ctx context.Context, keys ports.Keys, by identity.Actor, org *identity.Org, user identity.UserID,
	d account.KeyDraft,
) (*account.Key, account.Token, error) {
	var issued issuedKey
	err := keys.Add(ctx, by, user, func(w *account.Workspace) (_ *account.User, _ *account.Key, err error) {
		issued.key, issued.token, err = w.NewKey(by, org.Keys, user, d)
		return nil, issued.key, err
	})
	return issued.key, issued.token, err
}

// issuedKey is a new key with its token.
type issuedKey struct {
	key   *account.Key
	token account.Token
}

// CreateServiceKey creates an API key for a program, with its own user.
func (s *Service) CreateServiceKey(ctx context.Context, by identity.Actor, org *identity.Org,
	d account.KeyDraft) (*account.Key, account.Token, error) {
	var issued issuedKey
	err := s.keys.Add(ctx, by, "", func(w *account.Workspace) (bearer *account.User, _ *account.Key, err error) {
		bearer, issued.key, issued.token, err = w.NewServiceKey(by, org.Keys, d)
		return bearer, issued.key, err
	})
	return issued.key, issued.token, err
}

// RotateKey creates a key's successor. The key continues to work for grace.
func (s *Service) RotateKey(
	ctx context.Context, by identity.Actor, org *identity.Org, id identity.KeyID, match revision.Match,
	grace time.Duration,
) (*account.Key, account.Token, error) {
	var next issuedKey
	err := s.keys.Rotate(ctx, by, id, func(w *account.Workspace, k *account.Key) (_ *account.Key, err error) {
		next.key, next.token, err = w.RotateKey(by, org.Keys, match, k, grace)
		return next.key, err
	})
	return next.key, next.token, err
}

// RevokeKey ends an API key at once, and the keys that were created with it.
func (s *Service) RevokeKey(ctx context.Context, by identity.Actor, id identity.KeyID, match revision.Match) error {
	_, err := s.keys.Update(ctx, by, id, func(w *account.Workspace, k *account.Key, keys []*account.Key) error {
		return w.RevokeKey(by, match, k, keys)
	})
	return err
}

// RevokeKeyOf ends a workspace key in by's org, named by slug or id. by must be the system.
func (s *Service) RevokeKeyOf(ctx context.Context, by identity.Actor, workspace string, id identity.KeyID) error {
	ws, err := s.workspaces.Find(ctx, by.Org, workspace)
	if err != nil {
		return err
	}
	by.Workspace = ws.ID
	return s.RevokeKey(ctx, by, id, nil)
}

// Events lists the events of by's workspace that by may read, newest first: all of them for an admin.
func (s *Service) Events(ctx context.Context, by identity.Actor, f event.Filter, q page.Query) (event.Page, error) {
	if err := event.MayFollow(by); err != nil {
		return event.Page{}, err
	}
	f.Reader = event.Reader(by)
	found, err := s.deps.Events.List(ctx, by.Workspace, f, q)
	for i := range found.Items {
		found.Items[i].ShownTo(by)
	}
	return found, err
}

// EventFeed reads a part of the events of by's workspace that by may read, in the order of Seq.
func (s *Service) EventFeed(ctx context.Context, by identity.Actor, q event.FeedQuery) (event.Feed, error) {
	if err := event.MayFollow(by); err != nil {
		return event.Feed{}, err
	}
	q.Reader = event.Reader(by)
	found, err := s.deps.Events.Feed(ctx, by.Org, by.Workspace, q)
	for i := range found.Items {
		found.Items[i].ShownTo(by)
	}
	return found, err
}

// eventsVerified is the number of events that one call verifies, so that it takes less than about a second.
const eventsVerified = 10_000

// VerifyEvents verifies the next part of the workspace's events, after a position.
func (s *Service) VerifyEvents(ctx context.Context, by identity.Actor, start event.Position) (event.Part, error) {
	if err := event.MayRead(by); err != nil {
		return event.Part{}, err
	}
	return s.deps.Events.Verify(ctx, by.Org, by.Workspace, start, eventsVerified)
}

// FollowEvents returns a channel that receives when there may be new events in the feed, until stop is called.
func (s *Service) FollowEvents(by identity.Actor) (news <-chan struct{}, stop func(), err error) {
	if err := event.MayFollow(by); err != nil {
		return nil, nil, err
	}
	news, stop = s.deps.Events.Follow(by.Workspace)
	return news, stop, nil
}

// NoteRefusedKey notes in the audit trail that a key was used that is no longer accepted. by is the key's user.
func (s *Service) NoteRefusedKey(ctx context.Context, by identity.Actor, p *account.Principal) {
	s.deps.Notes.Note(ctx, p.Refused(by))
}

// NoteRefusal notes in the audit trail that by was refused an operation with err, if event.Refused returns such an
// event. deletes reports whether the operation deletes something. It must be called outside of the transaction that was
// undone.
func (s *Service) NoteRefusal(ctx context.Context, by identity.Actor, operation string, deletes bool, err error) {
	s.deps.Notes.Note(ctx, event.Refused(by, operation, deletes, err))
}
