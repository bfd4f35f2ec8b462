package chats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Prefixes of sessions and tickets. They also bind the sealed content to its purpose.
const (
	sessionPrefix = "ats_"
	ticketPrefix  = "att_"
)

// Visit describes the request of a page that shows a chat to a visitor without an account.
type Visit struct {
	Org    identity.OrgID
	Origin chat.Origin
	Ours   bool // Origin is that of Atrium's own pages
	At     time.Time

	Address string // the group of addresses that the call is from (identity.AddressGroup)

	// Caller returns the person who has shown a proof, as they are now. identity.ErrUnauthenticated if it is no longer
	// valid.
	Caller func(account.Proof) (identity.Actor, error)
}

// Limit counts a call against the limits of a token. It returns an error if one of them is reached.
type Limit func(t *chat.EmbedToken, of chat.Counted) error

// SessionRequest is what a page sends to open a session.
type SessionRequest struct {
	Secret  string // of an embed token
	Ticket  string // of Atrium's own page in a frame; empty: the site's own page asks
	Visitor string // the visitor's name according to the site; Atrium does not use it

	Signature string // with which the site's backend vouches for the visitor; empty: it does not
}

// Session is a visitor's session.
type Session struct {
	Pass      chat.EmbedPass
	Embedding chat.Embedding
	Tools     []chat.Item   // tools of the template that visitors can see
	Text      secret.String // the sealed session, which the page stores
}

// Expected reports whether pages of an origin may call at all, and read why they are refused: a preflight names no
// token, and an invalid token has no list.
func (s *Embeds) Expected(ctx context.Context, v Visit) (bool, error) {
	return s.embeds.Expected(ctx, v.Org, v.Origin)
}

// Ticket admits the page in a frame of v.Origin. It returns the content of that page, and the ticket
// with which the page opens a session.
func (s *Embeds) Ticket(
	ctx context.Context, v Visit, token string, limit Limit,
) (*chat.Embedding, secret.String, error) {
	e, by, err := s.embedding(ctx, v, token)
	if err == nil {
		err = limit(&e.Token, chat.Counted{})
	}
	if err != nil {
		return nil, secret.String{}, err
	}
	pass, err := e.Ticket(by, v.Origin, v.At)
	if err != nil {
		return nil, secret.String{}, err
	}
	ticket, err := s.seal(v.Org, ticketPrefix, pass)
	return e, ticket, err
}

// OpenSession exchanges a token's secret for a session.
func (s *Embeds) OpenSession(ctx context.Context, v Visit, r SessionRequest, limit Limit) (*Session, error) {
	e, by, err := s.embedding(ctx, v, r.Secret)
	if err != nil {
		return nil, err
	}
	signed, counted := s.vouched(&e.Token, r, v.At), chat.Counted{}
	if signed {
		counted.Visitor = r.Visitor
	}
	if err := limit(&e.Token, counted); err != nil {
		return nil, err
	}
	origin, framed := v.Origin, r.Ticket != ""
	if framed {
		ticket, ok, err := s.open(v, ticketPrefix, r.Ticket)
		switch {
		case err != nil:
			return nil, err
		case !v.Ours: // only Atrium's own pages can use a ticket
			return nil, chat.ErrOriginNotAllowed
		case !ok || ticket.OpenedBy != by || e.Outlived(ticket):
			return nil, chat.ErrEmbedTicketInvalid
		}
		origin = ticket.Origin
	}
	pass, err := e.Session(by, origin, framed, r.Visitor, v.At)
	if err == nil && r.Signature != "" && !signed {
		err = chat.ErrVisitorSignature // and not as if it were missing: the site would not notice
	}
	if err != nil {
		return nil, err
	}
	pass.Signed = signed
	text, err := s.seal(v.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, text), nil
}

// vouched reports whether the site's backend signed the visitor. After a rotation, signatures with the earlier secret
// are valid as long as that secret works.
func (s *Embeds) vouched(t *chat.EmbedToken, r SessionRequest, now time.Time) bool {
	if r.Signature == "" {
		return false
	}
	return chat.VouchedFor(s.visitorSecret(t, t.Hash), r.Visitor, r.Signature, now) || now.Before(t.PreviousUntil) &&
		chat.VouchedFor(s.visitorSecret(t, t.Previous), r.Visitor, r.Signature, now)
}

// embedding returns what a token's secret opens.
func (s *Embeds) embedding(ctx context.Context, v Visit, token string) (*chat.Embedding, secret.Hash, error) {
	t, ok := secret.ParseToken(chat.EmbedSecretPrefix, token)
	if !ok {
		return nil, secret.Hash{}, chat.ErrEmbedTokenInvalid
	}
	by := t.Hash()
	e, err := s.embeds.BySecret(ctx, v.Org, by)
	if err == nil {
		err = e.Usable(by, v.At)
	}
	return e, by, err
}

// Resume returns the content of a session. It checks the session against its token's current state: if
// the token has ended, or its origin was removed from the list, the session has ended.
func (s *Embeds) Resume(ctx context.Context, v Visit, session string, limit Limit) (*Session, error) {
	pass, e, err := s.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, secret.New(session)), nil
}

// RenewSession exchanges a session for one that lasts as long as a new session. The visitor, the origin and the
// secret that opened it stay the same.
func (s *Embeds) RenewSession(ctx context.Context, v Visit, session string, limit Limit) (*Session, error) {
	pass, e, err := s.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	if pass.Draft != "" { // its reader may have lost the right to see it
		return nil, chat.ErrEmbedSessionInvalid
	}
	pass = e.Renewed(pass, v.At)
	text, err := s.seal(v.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, text), nil
}

// Verify returns the session that a visitor's page gave to a backend, which has an API key of the workspace. Its origin
// is that of the site, also for a page in a frame. Returns chat.ErrSessionNotFound if the session is not valid, has
// ended, or belongs to another workspace.
func (s *Embeds) Verify(ctx context.Context, by identity.Actor, session string) (*Session, error) {
	pass, ok, err := s.open(Visit{Org: by.Org, At: by.At}, sessionPrefix, session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, chat.ErrSessionNotFound
	}
	e, err := s.byID(ctx, by.Org, pass.Token)
	if errors.Is(err, chat.ErrEmbedTokenInvalid) {
		return nil, chat.ErrSessionNotFound
	}
	if err != nil {
		return nil, err
	}
	if e.Template.Workspace != by.Workspace || !e.Continues(pass, by.At) {
		return nil, chat.ErrSessionNotFound
	}
	return s.session(pass, e, secret.New(session)), nil
}

func (s *Embeds) resume(
	ctx context.Context, v Visit, session string, limit Limit,
) (p chat.EmbedPass, e *chat.Embedding, err error) {
	p, ok, err := s.open(v, sessionPrefix, session)
	if err != nil {
		return p, nil, err
	}
	if !ok {
		return p, nil, chat.ErrEmbedSessionInvalid
	}
	if p.Draft != "" {
		return s.resumePreview(ctx, v, p, limit)
	}
	e, err = s.byID(ctx, v.Org, p.Token)
	if err == nil {
		err = e.Usable(p.OpenedBy, v.At)
	}
	if err == nil {
		err = limit(&e.Token, p.Counted())
	}
	if err == nil && e.Outlived(p) {
		err = chat.ErrEmbedSessionInvalid
	}
	if err != nil {
		return p, nil, err
	}
	if !p.IsFrom(v.Origin, v.Ours) {
		return p, nil, chat.ErrOriginNotAllowed
	}
	return p, e, e.Admit(p.Origin)
}

func (s *Embeds) session(p chat.EmbedPass, e *chat.Embedding, text secret.String) *Session {
	return &Session{Pass: p, Embedding: *e, Tools: s.registries(e.Token.Org).EmbedSafe(&e.Template), Text: text}
}

// byID returns a token of org, and what it shows. Returns chat.ErrEmbedTokenInvalid if there is none.
func (s *Embeds) byID(ctx context.Context, org identity.OrgID, id chat.EmbedTokenID) (*chat.Embedding, error) {
	found, err := s.embeds.ByIDs(ctx, org, []chat.EmbedTokenID{id})
	if err == nil && found[id] == nil {
		err = chat.ErrEmbedTokenInvalid
	}
	return found[id], err
}

// NoteUse records that a token opened a session. It writes at most once a minute.
func (s *Embeds) NoteUse(ctx context.Context, session *Session, now time.Time) error {
	t := &session.Embedding.Token
	if now.Sub(t.LastUsedAt) < time.Minute {
		return nil
	}
	return s.embeds.Used(ctx, t.Org, t.ID, session.Pass.Origin, now)
}

// seal encodes a pass so that pages can store it but not read it.
func (s *Embeds) seal(org identity.OrgID, prefix string, p chat.EmbedPass) (secret.String, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return secret.String{}, err
	}
	sealed, err := s.passes.sealerFor(prefix).Seal(plain, associated(org, prefix))
	if err != nil {
		return secret.String{}, err
	}
	return secret.New(prefix + base64.RawURLEncoding.EncodeToString(sealed)), nil
}

// open reads a pass that seal created for the same org and purpose, and that has not expired.
func (s *Embeds) open(v Visit, prefix, text string) (p chat.EmbedPass, ok bool, err error) {
	encoded, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return p, false, nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return p, false, nil //nolint:nilerr // an invalid pass is not an internal error
	}
	plain, err := s.passes.sealerFor(prefix).Open(sealed, associated(v.Org, prefix))
	if err != nil {
		return p, false, nil //nolint:nilerr // the same
	}
	if err := json.Unmarshal(plain, &p); err != nil {
		return p, false, errors.New("chats: a pass of our own making cannot be read")
	}
	return p, p.Live(v.At), nil
}

func associated(org identity.OrgID, prefix string) []byte {
	return []byte("embed\x00" + prefix + "\x00" + string(org))
}
