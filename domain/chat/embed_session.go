package chat

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/secret"
)

// EmbedTicketLasts is how long the page in a frame has to open its session.
const EmbedTicketLasts = time.Minute

// What a visitor's page is answered that may not show a chat.
var (
	// ErrEmbedTokenInvalid does not tell unknown, disabled, expired, rotated and deleted apart.
	ErrEmbedTokenInvalid   = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_token_invalid", Detail: "The embed token is not valid."}
	ErrEmbedSessionInvalid = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_session_invalid", Detail: "The embed session is not valid or has ended. Open a new one."}
	ErrEmbedTicketInvalid  = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_ticket_invalid", Detail: "The ticket is not valid or has expired. Reload the page."}
	ErrOriginNotAllowed    = &fault.Error{Kind: fault.Forbidden, Code: "origin_not_allowed", Detail: "This site is not allowed to embed the chat."}
	ErrNotPublished        = &fault.Error{Kind: fault.Conflict, Code: "template_not_published", Detail: "The chat is not published."}
)

// Embedding is what visitors meet: a token, and of its template what all of them may see.
type Embedding struct {
	Token    EmbedToken
	Template Template // ID, Workspace, Status and what is shown: Name, AvatarURL, Greeting, Starters, Tools
}

// EmbedPass is what Atrium hands to a page that it let in, sealed, and trusts when it comes back:
// as a session, or as a ticket, for which a page in a frame gets a session.
type EmbedPass struct {
	Token     EmbedTokenID `json:"t"`
	OpenedBy  secret.Hash  `json:"s"` // the token's secret of then: another one does not keep it open
	Origin    Origin       `json:"o"` // of the site that embeds
	Framed    bool         `json:"f"` // its requests come from our own page, in a frame of that site
	Visitor   string       `json:"v"` // whom the site says that it is for
	ExpiresAt time.Time    `json:"x"`
}

// Lets reports whether t lets in pages of origin.
func (t *EmbedToken) Lets(origin Origin) bool {
	if origin == NoOrigin || origin == OpaqueOrigin {
		return t.AllowNoOrigin
	}
	return origin.In(t.Origins)
}

// Usable returns why nobody may embed e by that secret at this moment, if so.
func (e *Embedding) Usable(by secret.Hash, now time.Time) error {
	t := &e.Token
	current := by == t.Hash || by == t.Previous && now.Before(t.PreviousUntil)
	if !current || t.Status(now) != EmbedActive {
		return ErrEmbedTokenInvalid
	}
	return nil
}

// Admit returns why a page of origin may not show e, if so. Who is let in by no list hears nothing
// of the template's state.
func (e *Embedding) Admit(origin Origin) error {
	if !e.Token.Lets(origin) {
		return ErrOriginNotAllowed
	}
	if e.Template.Status != StatusPublished {
		return ErrNotPublished
	}
	return nil
}

// Ticket lets the page that a frame of origin shows open a session.
func (e *Embedding) Ticket(by secret.Hash, origin Origin, now time.Time) (EmbedPass, error) {
	if err := e.Admit(origin); err != nil {
		return EmbedPass{}, err
	}
	return EmbedPass{Token: e.Token.ID, OpenedBy: by, Origin: origin, Framed: true, ExpiresAt: now.Add(EmbedTicketLasts)}, nil
}

// Session opens a session for a page of origin, or by a ticket for our own page in a frame (framed).
// It ends with the token at the latest.
func (e *Embedding) Session(by secret.Hash, origin Origin, framed bool, visitor string, now time.Time) (EmbedPass, error) {
	if err := e.Admit(origin); err != nil {
		return EmbedPass{}, err
	}
	ends := now.Add(e.Token.SessionTTL)
	if t := &e.Token; !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(ends) {
		ends = t.ExpiresAt
	}
	return EmbedPass{Token: e.Token.ID, OpenedBy: by, Origin: origin, Framed: framed, Visitor: visitor, ExpiresAt: ends}, nil
}

// Live reports whether p is still good by its own account.
func (p EmbedPass) Live(now time.Time) bool { return now.Before(p.ExpiresAt) }

// From reports whether a request by p comes from where p was handed to. Our own page sends no
// origin with what it reads from us (Fetch, append a request Origin header).
func (p EmbedPass) From(origin Origin, ours bool) bool {
	if p.Framed {
		return ours || origin == NoOrigin
	}
	return origin == p.Origin
}

// KnownPatterns are the entries by which a store finds t for a preflight, which names an origin
// and no token.
func (t *EmbedToken) KnownPatterns() []OriginPattern {
	patterns := slices.Clone(t.Origins)
	if t.AllowNoOrigin {
		patterns = append(patterns, OriginPattern(OpaqueOrigin))
	}
	return patterns
}
