package embed

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/domain/secret"
)

// Prefixes of an embed token's identifier and secret.
const (
	TokenPrefix  = "etok"
	SecretPrefix = "ate_"
)

// Limits and defaults of embed tokens.
const (
	MaxTokens = 20 // of a template

	maxName    = 80 // characters
	maxOrigins = 50

	minSessionTTL     = time.Minute
	maxSessionTTL     = 24 * time.Hour
	defaultSessionTTL = 10 * time.Minute

	maxPerMinute     = 600
	defaultPerMinute = 10

	maxRepliesPerDay     = 1_000_000
	defaultRepliesPerDay = 1000
)

// Errors about embed tokens, for users who manage them.
var (
	ErrTokenNotFound = &fault.Error{Kind: fault.NotFound, Code: "embed_token_not_found",
		Detail: "The chat template has no such embed token."}
	ErrTokenQuota = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "A chat template can have at most 20 embed tokens. Delete one that is no longer used."}
)

// TokenID identifies an embed token. The empty one identifies none.
type TokenID string

// TokenPage is one page of embed tokens.
type TokenPage = page.Of[Token]

// Token lets the pages of some sites show one template to their visitors. Everyone can read its
// secret in those pages: the list of origins excludes other sites, and the limits restrict programs.
type Token struct {
	event.Log
	ID        TokenID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Template  chat.ID
	Settings
	Hash           secret.Hash // of the secret
	Hint           string      // the secret's last four characters
	Previous       secret.Hash // the previous secret, which works until PreviousUntil
	PreviousUntil  time.Time
	LastUsedAt     time.Time // zero: not yet; exact to a minute
	LastUsedOrigin Origin    // at that time
	LastSignedAt   time.Time // when a signed visitor opened a session; zero: not yet; exact to an hour
	Generation     int64     // how often the token was disabled; the sessions of earlier generations have ended
	CreatedBy      identity.UserID
	Revision       int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Deleted        bool // removed when it is saved
}

// Settings are an embed token's settings that managers may change.
type Settings struct {
	Name    string          // 1 to 80 characters
	Origins []OriginPattern // 1 to 50, which may embed

	// AllowNoOrigin admits requests without an origin, or with an opaque one: programs and local files,
	// but also any site that uses a sandboxed frame.
	AllowNoOrigin bool

	Enabled    bool
	ExpiresAt  time.Time     // zero: never
	SessionTTL time.Duration // a minute to a day; whole seconds
	PerMinute  int           // calls of each kind of one visitor, 1 to 600

	Theme chat.Theme // its fields replace the fields of the template's theme

	RepliesPerDay int // answered messages of all visitors per day in UTC, 0 to a million

	RequireSigned bool // only visitors that the site's backend signed may open sessions and go on with them
}

// Status reports whether an embed token opens sessions.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Disabled Status = "disabled"
	Expired  Status = "expired"
)

// Status returns the status of t at a moment. A disabled token that has expired is expired, because
// enabling it would not be enough.
func (t *Token) Status(now time.Time) Status {
	switch {
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		return Expired
	case !t.Enabled:
		return Disabled
	default:
		return Active
	}
}

// Changes are values for some embed token settings. Nil keeps the old value, or, for a new token, the default.
type Changes struct {
	Name          *string
	Origins       *[]string // as entered
	AllowNoOrigin *bool
	Enabled       *bool
	ExpiresAt     *time.Time // zero: never
	SessionTTL    *time.Duration
	PerMinute     *int
	RepliesPerDay *int
	RequireSigned *bool
	Theme         *chat.Theme // replaces all of it
}

// NewToken creates an embed token of t, which has count of them. Requires the manager role.
func NewToken(t *chat.Template, by identity.Actor, count int, c Changes) (*Token, secret.Token, error) {
	if err := t.Allow(by, access.Manager); err != nil {
		return nil, secret.Token{}, err
	}
	token := &Token{
		ID: TokenID(id.New(TokenPrefix)), Org: by.Org, Workspace: t.Workspace, Template: t.ID,
		Settings: Settings{Enabled: true, SessionTTL: defaultSessionTTL, PerMinute: defaultPerMinute,
			RepliesPerDay: defaultRepliesPerDay},
		CreatedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	if _, err := token.set(by, c); err != nil {
		return nil, secret.Token{}, err
	}
	if count >= MaxTokens {
		return nil, secret.Token{}, ErrTokenQuota
	}
	secretToken := secret.NewToken(SecretPrefix)
	token.Hash, token.Hint = secretToken.Hash(), secretToken.Hint()
	token.Record(by, "embed_token.created", string(token.ID),
		map[string]any{"chat_template_id": t.ID, "name": token.Name, "allowed_origins": token.Origins})
	return token, secretToken, nil
}

// Change changes a token of t; token is nil if t does not have it. Requires the manager role.
func Change(t *chat.Template, by identity.Actor, match revision.Match, token *Token, c Changes) error {
	if err := allowToken(t, by, match, token); err != nil {
		return err
	}
	changes, err := token.set(by, c)
	if err != nil || len(changes) == 0 {
		return err
	}
	changes["chat_template_id"] = t.ID
	token.touch(by)
	token.Record(by, "embed_token.updated", string(token.ID), changes)
	return nil
}

// Rotate gives a token a new secret. The previous secret works for grace; the secret before it
// stops working. Requires the manager role.
func Rotate(t *chat.Template, by identity.Actor, match revision.Match, token *Token,
	grace time.Duration) (secret.Token, error) {
	if err := allowToken(t, by, match, token); err != nil {
		return secret.Token{}, err
	}
	secretToken := secret.NewToken(SecretPrefix)
	token.Previous, token.PreviousUntil = secret.Hash{}, time.Time{}
	if grace > 0 {
		token.Previous, token.PreviousUntil = token.Hash, by.At.Add(grace)
	}
	token.Hash, token.Hint = secretToken.Hash(), secretToken.Hint()
	token.touch(by)
	token.Record(by, "embed_token.rotated", string(token.ID),
		map[string]any{"chat_template_id": t.ID, "grace_seconds": int(grace.Seconds())})
	return secretToken, nil
}

// Delete ends a token and its sessions. Requires the manager role.
func Delete(t *chat.Template, by identity.Actor, match revision.Match, token *Token) error {
	if err := allowToken(t, by, match, token); err != nil {
		return err
	}
	token.Deleted = true
	token.Record(by, "embed_token.deleted", string(token.ID),
		map[string]any{"chat_template_id": t.ID, "name": token.Name})
	return nil
}

// MayManage returns an error if by may not see and change token, a token of t; token is nil if t does
// not have it.
func MayManage(t *chat.Template, by identity.Actor, token *Token) error {
	if err := t.Allow(by, access.Manager); err != nil {
		return err
	}
	if token == nil {
		return ErrTokenNotFound
	}
	return nil
}

func allowToken(t *chat.Template, by identity.Actor, match revision.Match, token *Token) error {
	if err := MayManage(t, by, token); err != nil {
		return err
	}
	return match.Check(token.Revision)
}

func (t *Token) touch(by identity.Actor) { t.Revision, t.UpdatedAt = t.Revision+1, by.At }

// set applies c, or nothing if any of it is wrong.
func (t *Token) set(by identity.Actor, c Changes) (changes map[string]any, err error) {
	next, changes := t.Settings, map[string]any{}
	var errs fault.Fields
	c.Name = naming.Changed(t.Name, c.Name)
	event.Set(&next.Name, c.Name, "name", changes)
	switch n := utf8.RuneCountInString(next.Name); {
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > maxName:
		errs.Add("/name", "too_long", fmt.Sprintf("Must have at most %d characters.", maxName))
	}
	if c.Name != nil && (naming.Deceptive(next.Name) || !utf8.ValidString(next.Name)) {
		errs.Add("/name", "invalid_characters", naming.Refusal)
	}
	if c.Origins != nil {
		origins := parseOrigins(*c.Origins, &errs)
		if !slices.Equal(origins, t.Origins) {
			next.Origins = origins
			changes["allowed_origins"] = event.Change{From: t.Origins, To: origins}
		}
	} else if len(t.Origins) == 0 {
		errs.Add("/allowed_origins", "required", "Name at least one origin.")
	}
	event.Set(&next.AllowNoOrigin, c.AllowNoOrigin, "allow_no_origin", changes)
	event.Set(&next.Enabled, c.Enabled, "enabled", changes)
	if c.ExpiresAt != nil && !c.ExpiresAt.Equal(next.ExpiresAt) {
		if !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(by.At) {
			errs.Add("/expires_at", "in_the_past", "Must be in the future.")
		}
		changes["expires_at"] = event.Change{From: orNil(next.ExpiresAt), To: orNil(*c.ExpiresAt)}
		next.ExpiresAt = *c.ExpiresAt
	}
	if c.SessionTTL != nil && *c.SessionTTL != next.SessionTTL {
		changes["session_ttl_seconds"] = event.Change{From: int(next.SessionTTL.Seconds()),
			To: int(c.SessionTTL.Seconds())}
		next.SessionTTL = *c.SessionTTL
	}
	if next.SessionTTL < minSessionTTL || next.SessionTTL > maxSessionTTL {
		errs.Add("/session_ttl_seconds", "out_of_range", "Must be from 60 to 86400.")
	}
	event.Set(&next.PerMinute, c.PerMinute, "rate_limit", changes)
	if next.PerMinute < 1 || next.PerMinute > maxPerMinute {
		errs.Add("/rate_limit/per_minute", "out_of_range", fmt.Sprintf("Must be from 1 to %d.", maxPerMinute))
	}
	event.Set(&next.RequireSigned, c.RequireSigned, "require_signed_visitors", changes)
	event.Set(&next.RepliesPerDay, c.RepliesPerDay, "replies_per_day", changes)
	if next.RepliesPerDay < 0 || next.RepliesPerDay > maxRepliesPerDay {
		errs.Add("/replies_per_day", "out_of_range", fmt.Sprintf("Must be from 0 to %d.", maxRepliesPerDay))
	}
	if c.Theme != nil && !c.Theme.Same(next.Theme) {
		changes["theme"] = true
		next.Theme = *c.Theme
	}
	next.Theme.Check(&errs, "/theme")
	if err := errs.Err(); err != nil {
		return nil, err
	}
	if t.Enabled && !next.Enabled {
		t.Generation++
	}
	t.Settings = next
	return changes, nil
}

// parseOrigins reads a list's entries. Two entries with the same meaning are an error: a person who writes both expects
// a difference.
func parseOrigins(entries []string, errs *fault.Fields) []OriginPattern {
	switch n := len(entries); {
	case n == 0:
		errs.Add("/allowed_origins", "too_few_items", "Name at least one origin.")
	case n > maxOrigins:
		errs.Add("/allowed_origins", "too_many_items", fmt.Sprintf("Must have at most %d items.", maxOrigins))
	}
	patterns := make([]OriginPattern, 0, len(entries))
	for i, entry := range entries {
		pointer := fmt.Sprintf("/allowed_origins/%d", i)
		p, bad := parseOriginPattern(entry)
		switch {
		case bad != nil:
			errs.Add(pointer, bad.code, bad.detail)
		case slices.Contains(patterns, p):
			errs.Add(pointer, "duplicate_item", "Must not be in the list twice, not even in another spelling.")
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// orNil returns a time as an event holds it: nil for never.
func orNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// perAddress is the ratio between an address's limits and a visitor's: many people can share an address.
const perAddress = 6

// PerAddress returns how many calls of each kind one address may make per minute, for all of its visitors that are not
// signed.
func (t *Token) PerAddress() int { return min(perAddress*t.PerMinute, maxPerMinute) }
