package embed

import (
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/session"
)

// ReceiptLifetime is the time for which a visitor can rate an answer: as long as the browser keeps it.
const ReceiptLifetime = 30 * 24 * time.Hour

// TicketLifetime is the maximum time that the page in a frame can take to open its session.
const TicketLifetime = time.Minute

// Errors for a visitor's page that may not show a chat.
var (
	// ErrTokenInvalid does not distinguish unknown, disabled, expired, rotated and deleted tokens.
	ErrTokenInvalid = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_token_invalid",
		Detail: "The embed token is not valid."}
	ErrSessionInvalid = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_session_invalid",
		Detail: "The embed session is not valid or has ended. Open a new one."}
	ErrTicketInvalid = &fault.Error{Kind: fault.Unauthenticated, Code: "embed_ticket_invalid",
		Detail: "The ticket is not valid or has expired. Reload the page."}
	ErrSessionNotFound = &fault.Error{Kind: fault.NotFound, Code: "embed_session_not_found",
		Detail: "The session is not valid, has ended, or belongs to another workspace."}
	ErrOriginNotAllowed = &fault.Error{Kind: fault.Forbidden, Code: "origin_not_allowed",
		Detail: "This site is not allowed to embed the chat."}
	ErrVisitorUnsigned = &fault.Error{Kind: fault.Forbidden, Code: "visitor_signature_required",
		Detail: "The chat is only for visitors that the site's backend has signed."}
	ErrNotPublished = &fault.Error{Kind: fault.Conflict, Code: "template_not_published",
		Detail: "The chat is not published."}
)

// Embedding holds a token, and what visitors see of its template.
type Embedding struct {
	Token    Token
	Template Template
}

// Template is the template part that its visitors' pages need.
type Template struct {
	ID        chat.ID
	Workspace identity.WorkspaceID
	Status    chat.Status
	Name      string
	AvatarURL string // empty: none
	Greeting  string
	Starters  []string
	Languages []chat.Translation // of Greeting and Starters
	Tools     []string           // the ids of the selected tools
	Reply     chat.Reply
	Theme     chat.Theme // of the template and the token together
	Forwarded bool       // a webhook gets each finished turn
}

// Pass is the sealed pass that Atrium issues to a page that it admitted, and trusts when the page
// returns it: a session, a ticket that a page in a frame exchanges for a session, or an answer's receipt, with
// which the visitor can rate it.
type Pass struct {
	Token     TokenID     `json:"t"`
	OpenedBy  secret.Hash `json:"s"` // the token's secret at that time: a rotation ends the pass
	Origin    Origin      `json:"o"` // of the site that embeds
	Framed    bool        `json:"f"` // its requests come from Atrium's own page, in a frame of that site
	Visitor   string      `json:"v"` // the visitor, according to the site
	ExpiresAt time.Time   `json:"x"`

	Generation int64 `json:"g,omitempty"` // the token's at that time: disabling the token ends the pass
	Signed     bool  `json:"d,omitempty"` // the site's backend vouched for the visitor

	Attributes string `json:"b,omitempty"` // of a signed visitor, which are signed too: a JSON object; empty: none

	ID string `json:"i,omitempty"` // of the session, also after it is renewed; empty: a ticket, or from an older release

	Answer *chat.PromptVersion `json:"a,omitempty"` // of a receipt: what answered the message with the ID

	// Of a preview, which has no token: the template whose draft it shows, its workspace, and by which credential it
	// was opened.
	Draft     chat.ID              `json:"p,omitempty"`
	Workspace identity.WorkspaceID `json:"w,omitempty"`
	Proof     session.Proof        `json:"c,omitzero"`
}

// Counted identifies the visitor for a token's limits: a visitor that the site's backend signed, or a session. If both
// are empty, only a call's address is known.
type Counted struct{ Visitor, Session string }

// Counted returns who the calls of p count for.
func (p Pass) Counted() Counted {
	if p.Signed {
		return Counted{Visitor: p.Visitor}
	}
	return Counted{Session: p.ID}
}

// Admits reports whether t admits pages of origin.
func (t *Token) Admits(origin Origin) bool {
	if origin == NoOrigin || origin == OpaqueOrigin {
		return t.AllowNoOrigin
	}
	return origin.IsIn(t.Origins)
}

// Usable returns an error if e cannot be embedded with that secret at this moment.
func (e *Embedding) Usable(by secret.Hash, now time.Time) error {
	t := &e.Token
	current := by == t.Hash || (by == t.Previous && now.Before(t.PreviousUntil))
	if !current || t.Status(now) != Active {
		return ErrTokenInvalid
	}
	return nil
}

// Outlived reports whether the token of e was disabled since p was issued, which ended p permanently.
func (e *Embedding) Outlived(p Pass) bool { return p.Generation != e.Token.Generation }

// Continues reports whether p, a live session of e's token, would still be served to its page.
func (e *Embedding) Continues(p Pass, now time.Time) bool {
	return e.Usable(p.OpenedBy, now) == nil && !e.Outlived(p) && e.Serve(p) == nil
}

// Renewed returns a pass like p that lasts as long as a new session.
func (e *Embedding) Renewed(p Pass, now time.Time) Pass {
	p.ExpiresAt = e.sessionEnd(now)
	return p
}

// sessionEnd returns when a session that is opened now ends: with the token at the latest.
func (e *Embedding) sessionEnd(now time.Time) time.Time {
	ends := now.Add(e.Token.SessionTTL)
	if t := &e.Token; !t.ExpiresAt.IsZero() && t.ExpiresAt.Before(ends) {
		return t.ExpiresAt
	}
	return ends
}

// Admit returns an error if a page of origin may not show e. A page that no list admits learns nothing
// about the template's state.
func (e *Embedding) Admit(origin Origin) error {
	if !e.Token.Admits(origin) {
		return ErrOriginNotAllowed
	}
	if e.Template.Status != chat.StatusPublished {
		return ErrNotPublished
	}
	return nil
}

// Serve returns an error if a page with the session p may no longer show e: as Admit, or ErrVisitorUnsigned if the
// token requires a signature that p does not have.
func (e *Embedding) Serve(p Pass) error {
	if err := e.Admit(p.Origin); err != nil {
		return err
	}
	if e.Token.RequireSigned && !p.Signed {
		return ErrVisitorUnsigned
	}
	return nil
}

// Ticket returns a ticket with which the page in a frame of origin can open a session.
func (e *Embedding) Ticket(by secret.Hash, origin Origin, now time.Time) (Pass, error) {
	if err := e.Admit(origin); err != nil {
		return Pass{}, err
	}
	return Pass{Token: e.Token.ID, OpenedBy: by, Origin: origin, Framed: true,
		ExpiresAt: now.Add(TicketLifetime), Generation: e.Token.Generation}, nil
}

// Session opens a session for a page of origin, or, with a ticket, for Atrium's own page in a frame
// (framed). It ends with the token at the latest.
func (e *Embedding) Session(
	by secret.Hash, origin Origin, isFramed bool, visitor string, now time.Time,
) (Pass, error) {
	if err := e.Admit(origin); err != nil {
		return Pass{}, err
	}
	return Pass{ID: id.New("ses"), Token: e.Token.ID, OpenedBy: by, Origin: origin, Framed: isFramed,
		Visitor: visitor, ExpiresAt: e.sessionEnd(now), Generation: e.Token.Generation}, nil
}

// Live reports whether p has not expired.
func (p Pass) Live(now time.Time) bool { return now.Before(p.ExpiresAt) }

// IsFrom reports whether a request with p comes from the page that p was issued to. Atrium's own page
// sends no Origin when it reads from Atrium (Fetch, append a request Origin header).
func (p Pass) IsFrom(origin Origin, ours bool) bool {
	if p.Framed {
		return ours || origin == NoOrigin
	}
	return origin == p.Origin
}

// KnownPatterns returns the entries by which a store finds t for a preflight, which names an origin and
// no token.
func (t *Token) KnownPatterns() []OriginPattern {
	patterns := slices.Clone(t.Origins)
	if t.AllowNoOrigin {
		patterns = append(patterns, OriginPattern(OpaqueOrigin))
	}
	return patterns
}
