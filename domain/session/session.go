// Package session holds the sessions of browsers, what opens them, and the tickets that replace a credential.
package session

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/secret"
)

const (
	// Idle is the time without a request after which a session expires.
	Idle = 12 * time.Hour
	// Life is a session's maximum lifetime.
	Life = 7 * 24 * time.Hour
	// MaxPerUser is a user's maximum number of live sessions, without those that keys opened. Another one ends the one
	// that was not used for the longest time.
	MaxPerUser = 50
	// MaxPerKey is the maximum number of live sessions that one API key opened. Another one ends the key's session that
	// was not used for the longest time: a leaked key must not end a person's own sessions.
	MaxPerKey = 10
)

// Errors about sessions.
var (
	ErrNotFound = &fault.Error{
		Kind: fault.NotFound, Code: "session_not_found", Detail: "There is no such session.",
	}
	ErrNoSession = &fault.Error{
		Kind: fault.Conflict, Code: "no_session",
		Detail: "The credential of this request is not a session, so there is none to end.",
	}
)

// Source is what opened a session.
type Source string

// The values of Source.
const (
	ByLink       Source = "link"
	ByAPIKey     Source = "api_key"
	ByInvitation Source = "invitation"
	ByPasskey    Source = "passkey"
	ByOIDC       Source = "oidc"
)

// Session is a browser's credential. It has two secrets: the cookie, which the browser sends, and the proof, which only
// the pages of one origin have. One without the other is useless. Neither is stored.
type Session struct {
	event.Log
	ID          identity.SessionID
	Org         identity.OrgID
	User        identity.UserID
	Cookie      secret.Hash
	Proof       secret.Hash
	Source      Source
	Key         identity.KeyID       // the key that opened it, whose limits it has and with which it ends; empty: none
	Workspace   identity.WorkspaceID // of Key; empty: the session is not bound to one
	Passkey     account.PasskeyID    // that opened it; empty: another source did, or an older release did not note it
	From        ProviderSession      // the sign-in that opened it; zero: another source did
	Agent       string               // the User-Agent that opened it, cut to 200 characters
	Address     string               // of the client that opened it
	CreatedAt   time.Time
	LastSeenAt  time.Time // exact to a minute
	ExpiresAt   time.Time // when it ends at the latest
	EndedAt     time.Time // zero: it was not ended
	ConfirmedAt time.Time // when its user last confirmed it with a passkey; zero: never
}

// Page is one page of sessions.
type Page = page.Of[Session]

// Secrets are shown once, when a session is opened.
type Secrets struct{ Cookie, Proof secret.Token }

// Opened is a new session with its secrets and its user.
type Opened struct {
	Session *Session
	Secrets Secrets
	User    account.User
}

// EndsAt returns when s ends under its org's policy if it is not used again.
func (s *Session) EndsAt(p identity.SessionPolicy) time.Time {
	end := s.ExpiresAt
	if idle := s.LastSeenAt.Add(cmp.Or(p.Idle, Idle)); idle.Before(end) {
		end = idle
	}
	if limit := s.CreatedAt.Add(p.Life); p.Life > 0 && limit.Before(end) {
		end = limit
	}
	return end
}

// Live reports whether s works at this moment under its org's policy. Its user and its key must be valid too.
func (s *Session) Live(p identity.SessionPolicy, now time.Time) bool {
	return s.EndedAt.IsZero() && now.Before(s.EndsAt(p))
}

// LiveOf returns the sessions that the policy of their org has not ended: stores know no policies.
func LiveOf(sessions []Session, p identity.SessionPolicy, now time.Time) []Session {
	return slices.DeleteFunc(sessions, func(s Session) bool { return !s.Live(p, now) })
}

// HasSecondFactor reports whether the user of s has shown a passkey in it, or a second factor at the provider that
// opened it.
func (s *Session) HasSecondFactor() bool {
	return s.Source == ByPasskey || s.From.SecondFactor || !s.ConfirmedAt.IsZero()
}

// Access reports whether by may see and end s: users their own sessions, an API key those that it opened.
func (s *Session) Access(by identity.Actor) bool {
	return by.Org == s.Org && by.User == s.User && (by.Key == "" || by.Key == s.Key)
}

// Open opens a session for p. live holds p's live sessions. by is the system, in the request of the browser.
// key is the API key that opens it, nil for a link. identity.ErrUnauthenticated if p is disabled.
func Open(
	by identity.Actor, p *account.Person, source Source, key *account.Key, agent string, live []*Session,
) (*Session, Secrets, error) {
	if by.User != "" || by.Org != p.User.Org || !p.User.Enabled() {
		return nil, Secrets{}, identity.ErrUnauthenticated
	}
	secrets := Secrets{Cookie: secret.NewToken(cookiePrefix), Proof: secret.NewToken(proofPrefix)}
	s := &Session{
		ID: identity.SessionID(id.New(identity.SessionPrefix)), Org: by.Org, User: p.User.ID,
		Cookie: secrets.Cookie.Hash(), Proof: secrets.Proof.Hash(), Source: source,
		Agent: cleanAgent(agent), Address: by.Request.Address,
		CreatedAt: by.At, LastSeenAt: by.At, ExpiresAt: by.At.Add(Life),
	}
	if key != nil {
		s.Key, s.Workspace = key.ID, key.Workspace
		if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(s.ExpiresAt) {
			s.ExpiresAt = key.ExpiresAt
		}
	}
	by.User, by.Key, by.Session = s.User, s.Key, s.ID
	peers := slices.DeleteFunc(slices.Clone(live), func(other *Session) bool { return other.Key != s.Key })
	if len(peers) >= MaxPerUser || (s.Key != "" && len(peers) >= MaxPerKey) {
		oldest := slices.MinFunc(peers, func(a, b *Session) int {
			return cmp.Or(a.LastSeenAt.Compare(b.LastSeenAt), cmp.Compare(a.ID, b.ID))
		})
		oldest.end(by, p, "replaced")
	}
	s.record(by, p, "session.started", map[string]any{"source": string(source)})
	return s, secrets, nil
}

// SignedInAt returns when the user of s last authenticated: when it was opened or confirmed. A provider may have
// authenticated the user long before it opened s.
func (s *Session) SignedInAt() time.Time {
	signIn := s.CreatedAt
	if earlier := s.From.AuthenticatedAt; !earlier.IsZero() && earlier.Before(signIn) {
		signIn = earlier
	}
	if s.ConfirmedAt.After(signIn) {
		return s.ConfirmedAt
	}
	return signIn
}

// OpenByPasskey is Open for a person who has signed in with a passkey.
func OpenByPasskey(
	by identity.Actor, p *account.Person, passkey account.PasskeyID, agent string, live []*Session,
) (*Session, Secrets, error) {
	s, secrets, err := Open(by, p, ByPasskey, nil, agent, live)
	if err == nil {
		s.Passkey = passkey
	}
	return s, secrets, err
}

// EndOpenedBy ends, of p's live sessions, the sessions that a passkey opened, which by has removed. The session of by's
// request stays. A session that an older release opened with a passkey ends, whatever passkey that was.
func EndOpenedBy(by identity.Actor, p *account.Person, live []*Session, passkey account.PasskeyID) {
	for _, s := range live {
		isOpenedBy := s.Source == ByPasskey && (s.Passkey == passkey || s.Passkey == "")
		if isOpenedBy && s.ID != by.Session && s.Access(by) {
			s.end(by, p, "passkey_removed")
		}
	}
}

// Confirm records that by has just used a passkey in its own session, one of live, p's live sessions. Requires
// account.MayUsePasskeys. ErrNotFound if the session has ended.
func Confirm(
	by identity.Actor, p *account.Person, live []*Session, passkey account.PasskeyID,
) (*Session, error) {
	if err := account.MayUsePasskeys(by); err != nil {
		return nil, err
	}
	for _, s := range live {
		if s.ID == by.Session && s.Access(by) {
			s.ConfirmedAt = by.At
			s.record(by, p, "session.confirmed", map[string]any{"passkey_id": string(passkey)})
			return s, nil
		}
	}
	return nil, ErrNotFound
}

// End ends one of live, p's live sessions. Returns ErrNotFound if by can see no such session.
func End(by identity.Actor, p *account.Person, live []*Session, id identity.SessionID) error {
	for _, s := range live {
		if s.ID == id && s.Access(by) {
			reason := "ended"
			if id == by.Session {
				reason = "signed_out"
			}
			s.end(by, p, reason)
			return nil
		}
	}
	return ErrNotFound
}

// EndAll ends all of live, p's live sessions, that by can see.
func EndAll(by identity.Actor, p *account.Person, live []*Session) {
	for _, s := range live {
		if s.Access(by) {
			s.end(by, p, "signed_out_everywhere")
		}
	}
}

// end ends s, a session of p, without a permission check.
func (s *Session) end(by identity.Actor, p *account.Person, reason string) {
	s.EndedAt = by.At
	s.record(by, p, "session.ended", map[string]any{"reason": reason})
}

// record adds an event to the trail of the workspace that s is bound to, or of the workspaces that p joined last.
// Without one, the event is in the trail of no workspace.
func (s *Session) record(by identity.Actor, p *account.Person, kind string, data map[string]any) {
	in := p.LatestWorkspaces()
	switch {
	case s.Workspace != "":
		in = []identity.WorkspaceID{s.Workspace}
	case len(in) == 0:
		in = []identity.WorkspaceID{""}
	}
	for _, by.Workspace = range in {
		s.Record(by, kind, string(s.ID), data)
	}
}

// maxAgent is the maximum number of characters that are kept from a User-Agent.
const maxAgent = 200

// cleanAgent returns a User-Agent's printable ASCII characters, cut to maxAgent.
func cleanAgent(agent string) string {
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, agent)
	return printable[:min(len(printable), maxAgent)]
}

// Person is the person that a session authenticates, with all memberships, oldest first. A session that an API
// key opened has only the membership of its workspace.
type Person struct {
	account.Person
	Session Session
	Key     account.Key // the key that opened the session; zero without one
}

// Principal returns the identity behind the session, as Proof.Valid checks it.
func (s *Person) Principal() *Principal {
	p := &Principal{Principal: account.Principal{User: s.User, Key: s.Key}, Session: s.Session}
	if s.Session.Key != "" && len(s.Memberships) > 0 {
		p.Membership = s.Memberships[0]
	}
	return p
}

// Select returns a request's workspace, as account.Principal or account.Person does.
func (s *Person) Select(id string, safe bool) (account.Membership, error) {
	if s.Session.Key != "" {
		return s.Principal().Select(id)
	}
	return s.Person.Select(id, safe)
}

// Principal is the identity behind an API key, a session or a sign-in at an issuer. A session's principal has a key
// and a membership only if a key opened the session.
type Principal struct {
	account.Principal
	Session Session // zero for another credential
}

// LiveSession reports whether p's session works in org at this moment, with the key or the issuer that opened it. A
// session whose key was not found does not work, since its ceiling is unknown.
func (p *Principal) LiveSession(org *identity.Org, now time.Time) bool {
	if !p.Session.Live(org.Sessions, now) || !p.User.Enabled() {
		return false
	}
	if from := p.Session.From.Issuer; from != "" {
		if _, isConfigured := org.Issuer(from); !isConfigured {
			return false
		}
	}
	return p.Session.Key == "" || (p.Key.ID == p.Session.Key && p.Live(org.Keys, now))
}
