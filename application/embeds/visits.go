package embeds

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/session"
)

// Prefixes of sessions, tickets and receipts. They also bind the sealed content to its purpose.
const (
	sessionPrefix = "ats_"
	ticketPrefix  = "att_"
	receiptPrefix = "atr_"
)

// Visit describes a page's request that shows a chat to a visitor without an account.
type Visit struct {
	Org    identity.OrgID
	Origin embed.Origin
	Ours   bool // Origin is the origin of Atrium's own pages
	At     time.Time

	Address string // the group of addresses that the call is from (identity.AddressGroup)

	// Caller returns the person who has shown a proof, as they are now. identity.ErrUnauthenticated if it is no longer
	// valid.
	Caller func(session.Proof) (identity.Actor, error)
}

// Limit counts a call against a token's limits. It returns an error if one of them is reached.
type Limit func(t *embed.Token, count embed.Counted) error

// SessionRequest is what a page sends to open a session.
type SessionRequest struct {
	Secret  string // the embed token's
	Ticket  string // of Atrium's own page in a frame; empty: the site's own page asks
	Visitor string // the visitor's name according to the site; Atrium does not use it

	Signature string // with which the site's backend vouches for the visitor; empty: it does not

	Attributes string // of the visitor, which the signature covers: a JSON object; empty: none
}

// Session is a visitor's session.
type Session struct {
	Pass      embed.Pass
	Embedding embed.Embedding
	Tools     []chat.Item   // tools of the template that visitors can see
	Text      secret.String // the sealed session, which the page stores
}

// Expected reports whether an origin's pages may call at all, and read why they are refused: a preflight names no
// token, and an invalid token has no list.
func (s *Service) Expected(ctx context.Context, v Visit) (bool, error) {
	return s.embeds.Expected(ctx, v.Org, v.Origin)
}

// Ticket admits the page in a frame of v.Origin. It returns the content of that page, and the ticket
// with which the page opens a session.
func (s *Service) Ticket(
	ctx context.Context, v Visit, token string, limit Limit,
) (*embed.Embedding, secret.String, error) {
	e, by, err := s.embedding(ctx, v, token)
	if err == nil {
		err = limit(&e.Token, embed.Counted{})
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
func (s *Service) OpenSession(ctx context.Context, v Visit, r SessionRequest, limit Limit) (*Session, error) {
	if err := embed.CheckAttributes(r.Attributes); err != nil {
		return nil, err
	}
	e, by, err := s.embedding(ctx, v, r.Secret)
	if err != nil {
		return nil, err
	}
	isSigned, count := s.vouched(&e.Token, r, v.At), embed.Counted{}
	if isSigned {
		count.Visitor = r.Visitor
	}
	if err := limit(&e.Token, count); err != nil {
		return nil, err
	}
	origin, isFramed := v.Origin, r.Ticket != ""
	if isFramed {
		ticket, ok, err := s.open(v, ticketPrefix, r.Ticket)
		switch {
		case err != nil:
			return nil, err
		case !v.Ours: // only Atrium's own pages can use a ticket
			return nil, embed.ErrOriginNotAllowed
		case !ok || ticket.OpenedBy != by || e.Outlived(ticket):
			return nil, embed.ErrTicketInvalid
		}
		origin = ticket.Origin
	}
	pass, err := e.Session(by, origin, isFramed, r.Visitor, v.At)
	if err == nil && (r.Signature != "" || r.Attributes != "") && !isSigned {
		err = embed.ErrVisitorSignature // and not as if it were missing: the site would not notice
	}
	pass.Signed, pass.Attributes = isSigned, r.Attributes
	if err == nil {
		err = e.Serve(pass)
	}
	if err != nil {
		return nil, err
	}
	text, err := s.seal(v.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, text), nil
}

// vouched reports whether the site's backend signed the visitor. After a rotation, signatures with the earlier secret
// are valid as long as that secret works.
func (s *Service) vouched(t *embed.Token, r SessionRequest, now time.Time) bool {
	if r.Signature == "" {
		return false
	}
	return embed.VouchedFor(s.visitorSecret(t, t.Hash), r.Visitor, r.Attributes, r.Signature, now) ||
		(now.Before(t.PreviousUntil) && embed.VouchedFor(s.visitorSecret(t, t.Previous), r.Visitor, r.Attributes,
			r.Signature, now))
}

// embedding returns what a token's secret opens.
func (s *Service) embedding(ctx context.Context, v Visit, token string) (*embed.Embedding, secret.Hash, error) {
	t, ok := secret.ParseToken(embed.SecretPrefix, token)
	if !ok {
		return nil, secret.Hash{}, embed.ErrTokenInvalid
	}
	by := t.Hash()
	e, err := s.embeds.BySecret(ctx, v.Org, by)
	if err == nil {
		err = e.Usable(by, v.At)
	}
	return e, by, err
}

// Resume returns a session's content. It checks the session against its token's current state: if the token has ended,
// or its origin was removed from the list, the session has ended.
func (s *Service) Resume(ctx context.Context, v Visit, session string, limit Limit) (*Session, error) {
	pass, e, err := s.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, secret.New(session)), nil
}

// RenewSession exchanges a session for one that lasts as long as a new session. The visitor, the origin and the
// secret that opened it stay the same.
func (s *Service) RenewSession(ctx context.Context, v Visit, session string, limit Limit) (*Session, error) {
	pass, e, err := s.resume(ctx, v, session, limit)
	if err != nil {
		return nil, err
	}
	if pass.Draft != "" { // its reader may have lost the right to see it
		return nil, embed.ErrSessionInvalid
	}
	pass = e.Renewed(pass, v.At)
	text, err := s.seal(v.Org, sessionPrefix, pass)
	if err != nil {
		return nil, err
	}
	return s.session(pass, e, text), nil
}

// Verify returns the session that a visitor's page gave to a backend, which has an API key of the workspace. Its origin
// is the site's, even for a page in a frame. Returns embed.ErrSessionNotFound if the session is not valid, has
// ended, or belongs to another workspace.
func (s *Service) Verify(ctx context.Context, by identity.Actor, session string) (*Session, error) {
	pass, ok, err := s.open(Visit{Org: by.Org, At: by.At}, sessionPrefix, session)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, embed.ErrSessionNotFound
	}
	e, err := s.byID(ctx, by.Org, pass.Token)
	if errors.Is(err, embed.ErrTokenInvalid) {
		return nil, embed.ErrSessionNotFound
	}
	if err != nil {
		return nil, err
	}
	if e.Template.Workspace != by.Workspace || !e.Continues(pass, by.At) {
		return nil, embed.ErrSessionNotFound
	}
	return s.session(pass, e, secret.New(session)), nil
}

// resume returns a visitor's session and its embedding, if both are still valid and within the limit.
func (s *Service) resume(
	ctx context.Context, v Visit, session string, limit Limit,
) (p embed.Pass, e *embed.Embedding, err error) {
	p, ok, err := s.open(v, sessionPrefix, session)
	if err != nil {
		return p, nil, err
	}
	if !ok {
		return p, nil, embed.ErrSessionInvalid
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
		err = embed.ErrSessionInvalid
	}
	if err != nil {
		return p, nil, err
	}
	if !p.IsFrom(v.Origin, v.Ours) {
		return p, nil, embed.ErrOriginNotAllowed
	}
	return p, e, e.Serve(p)
}

func (s *Service) session(p embed.Pass, e *embed.Embedding, text secret.String) *Session {
	return &Session{Pass: p, Embedding: *e, Tools: s.registries(e.Token.Org).EmbedSafe(e.Template.Tools), Text: text}
}

// byID returns a token of org, and what it shows. Returns embed.ErrTokenInvalid if not found.
func (s *Service) byID(ctx context.Context, org identity.OrgID, id embed.TokenID) (*embed.Embedding, error) {
	found, err := s.embeds.ByIDs(ctx, org, []embed.TokenID{id})
	if err == nil && found[id] == nil {
		err = embed.ErrTokenInvalid
	}
	return found[id], err
}

// NoteUse records that a token opened a session: at most once a minute, and for a signed visitor once an hour.
func (s *Service) NoteUse(ctx context.Context, session *Session, now time.Time) error {
	t, isSigned := &session.Embedding.Token, session.Pass.Signed
	if now.Sub(t.LastUsedAt) < time.Minute && (!isSigned || now.Sub(t.LastSignedAt) < time.Hour) {
		return nil
	}
	return s.embeds.Used(ctx, t.Org, t.ID, session.Pass.Origin, isSigned, now)
}

// seal encodes a pass so that pages can store it but not read it.
func (s *Service) seal(org identity.OrgID, prefix string, p embed.Pass) (secret.String, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return secret.String{}, err
	}
	ciphertext, err := s.passes.sealerFor(prefix).Seal(plain, associated(org, prefix))
	if err != nil {
		return secret.String{}, err
	}
	return secret.New(prefix + base64.RawURLEncoding.EncodeToString(ciphertext)), nil
}

// open reads a pass that seal created for the same org and purpose, and that has not expired.
func (s *Service) open(v Visit, prefix, text string) (p embed.Pass, ok bool, err error) {
	value, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return p, false, nil
	}
	ciphertext, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return p, false, nil //nolint:nilerr // an invalid pass is not an internal error
	}
	plain, err := s.passes.sealerFor(prefix).Open(ciphertext, associated(v.Org, prefix))
	if err != nil {
		return p, false, nil //nolint:nilerr // the same
	}
	if err := json.Unmarshal(plain, &p); err != nil {
		return p, false, errors.New("embeds: a pass of our own making cannot be read")
	}
	return p, p.Live(v.At), nil
}

func associated(org identity.OrgID, prefix string) []byte {
	return []byte("embed\x00" + prefix + "\x00" + string(org))
}
