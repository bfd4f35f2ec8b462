package account

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/revision"
)

// PasskeyID identifies a passkey.
type PasskeyID string

// PasskeyPrefix is a PasskeyID's prefix.
const PasskeyPrefix = "psk"

// MaxPasskeys is a person's maximum number of passkeys.
const MaxPasskeys = 20

// Errors about passkeys.
var (
	ErrPasskeyNotFound = &fault.Error{
		Kind: fault.NotFound, Code: "passkey_not_found", Detail: "There is no such passkey.",
	}
	// ErrPasskeyInvalid is returned for an authenticator's response that proves nothing, whatever the reason.
	ErrPasskeyInvalid = &fault.Error{
		Kind: fault.Unauthenticated, Code: "passkey_invalid",
		Detail: "The passkey is not valid here, or its challenge was used or is older than 5 minutes. Try again.",
	}
	ErrPasskeyRefused = &fault.Error{
		Kind: fault.Conflict, Code: "passkey_refused",
		Detail: "The response is not valid for its challenge, or the challenge was used or is older than 5 minutes. " +
			"Request new options, and try again.",
	}
	ErrPasskeyExists = &fault.Error{
		Kind: fault.Conflict, Code: "passkey_exists", Detail: "This passkey is registered already.",
	}
	ErrTooManyPasskeys = &fault.Error{
		Kind: fault.Conflict, Code: "quota_exceeded",
		Detail: "You already have 20 passkeys. Remove one that is no longer used.",
	}
	ErrLastPasskey = &fault.Error{
		Kind: fault.Conflict, Code: "last_passkey",
		Detail: "This is your only passkey, and no sign-in link can be mailed to you. Add another passkey first.",
	}
	ErrPasskeysUnavailable = &fault.Error{
		Kind: fault.Conflict, Code: "passkeys_unavailable",
		Detail: "Passkeys cannot be used here: the organisation has its own sign-in, or the address has no host name.",
	}
	// ErrSessionRequired is returned to callers without a session, or with one that an API key opened: a passkey
	// signs in without the limits of the key.
	ErrSessionRequired = &fault.Error{
		Kind: fault.Forbidden, Code: "session_required",
		Detail: "Requires a session that was not opened by an API key. Sign in with a link or a passkey.",
	}
)

// Passkey is a WebAuthn credential of a person. Its private key is in the person's authenticator.
type Passkey struct {
	event.Log
	ID         PasskeyID
	Org        identity.OrgID
	User       identity.UserID
	Host       string // the relying party that it is bound to: a host name of the org
	Credential []byte // the identifier that the authenticator chose; unique in the org
	PublicKey  []byte // COSE_Key (RFC 9052, section 7)
	SignCount  uint32 // the highest signature counter so far; 0: the authenticator has none
	Synced     bool   // it may be copied to other devices of the person (WebAuthn: backup eligible)
	Name       string // 1 to 80 characters
	Revision   int64
	CreatedAt  time.Time
	UpdatedAt  time.Time
	LastUsedAt time.Time // zero: not yet
	RemovedAt  time.Time // zero: it exists
}

// PasskeyPage is one page of passkeys.
type PasskeyPage = page.Of[Passkey]

// PasskeyCredential is what an authenticator has created, as verified.
type PasskeyCredential struct {
	Credential []byte
	PublicKey  []byte
	SignCount  uint32
	Synced     bool
}

// PasskeyDraft is a passkey that a person wants to add: a verified credential, the host that it is bound to, and its
// name.
type PasskeyDraft struct {
	PasskeyCredential
	Host string
	Name string
}

// MayUsePasskeys returns ErrSessionRequired unless by has a session that no API key opened.
func MayUsePasskeys(by identity.Actor) error {
	if by.Session == "" || by.Key != "" {
		return ErrSessionRequired
	}
	return nil
}

// MailsLinks reports whether a sign-in link can be mailed to u, where a mail server is configured. Using it confirms
// the address.
func (u *User) MailsLinks() bool { return u.EmailVerified && public(u.Email) }

// AddPasskey adds a passkey to p's passkeys. Requires MayUsePasskeys and Actor.SteppedUp. ErrTooManyPasskeys beyond
// MaxPasskeys.
func (p *Person) AddPasskey(by identity.Actor, passkeys []*Passkey, d PasskeyDraft) (*Passkey, error) {
	if err := p.mayChangePasskeys(by); err != nil {
		return nil, err
	}
	d.Name = naming.Normal(d.Name)
	if err := checkPasskeyName(d.Name); err != nil {
		return nil, err
	}
	if len(passkeys) >= MaxPasskeys {
		return nil, ErrTooManyPasskeys
	}
	k := &Passkey{
		ID: PasskeyID(id.New(PasskeyPrefix)), Org: by.Org, User: by.User, Host: d.Host, Credential: d.Credential,
		PublicKey: d.PublicKey, SignCount: d.SignCount, Synced: d.Synced, Name: d.Name, Revision: 1, CreatedAt: by.At,
		UpdatedAt: by.At,
	}
	k.record(by, p, "passkey.added", map[string]any{"host": k.Host, "synced": k.Synced})
	return k, nil
}

// PasskeysAt returns the number of passkeys that are bound to rp's host.
func PasskeysAt(rp RelyingParty, passkeys []*Passkey) (count int) {
	for _, k := range passkeys {
		if k.Host == rp.Host {
			count++
		}
	}
	return count
}

// RenamePasskey renames one of p's passkeys. Requires MayUsePasskeys. ErrPasskeyNotFound if p has no such passkey.
func (p *Person) RenamePasskey(
	by identity.Actor, match revision.Match, passkeys []*Passkey, id PasskeyID, name string,
) (*Passkey, error) {
	k, err := p.passkey(by, match, passkeys, id)
	if err != nil {
		return nil, err
	}
	name = naming.Normal(name)
	if name == k.Name {
		return k, nil
	}
	if err := checkPasskeyName(name); err != nil {
		return nil, err
	}
	k.Name = name
	k.touch(by)
	k.record(by, p, "passkey.renamed", map[string]any{})
	return k, nil
}

// RemovePasskey removes one of p's passkeys. Requires MayUsePasskeys and Actor.SteppedUp. mails is whether the server
// mails sign-in links. ErrLastPasskey if p could not sign in without the passkey.
func (p *Person) RemovePasskey(
	by identity.Actor, match revision.Match, passkeys []*Passkey, id PasskeyID, mails bool,
) error {
	k, err := p.passkey(by, match, passkeys, id)
	if err != nil {
		return err
	}
	if err := by.SteppedUp(); err != nil {
		return err
	}
	if len(passkeys) == 1 && !(mails && p.User.MailsLinks()) {
		return ErrLastPasskey
	}
	k.RemovedAt = by.At
	k.record(by, p, "passkey.removed", map[string]any{})
	return nil
}

// UsePasskey records that one of p's passkeys has signed a challenge with the counter signCount. by is the system or p.
// A counter that did not increase records passkey.clone_suspected: two authenticators may have the private key
// (WebAuthn Level 2, section 6.1.1). ErrPasskeyInvalid if p is disabled or has no such passkey.
func (p *Person) UsePasskey(
	by identity.Actor, passkeys []*Passkey, id PasskeyID, signCount uint32,
) (*Passkey, error) {
	i := slices.IndexFunc(passkeys, func(k *Passkey) bool { return k.ID == id })
	if i < 0 || by.Org != p.User.Org || (by.User != "" && by.User != p.User.ID) || !p.User.Enabled() {
		return nil, ErrPasskeyInvalid
	}
	k := passkeys[i]
	k.LastUsedAt = by.At
	switch {
	case signCount > k.SignCount:
		k.SignCount = signCount
	case k.SignCount > 0:
		by.User = p.User.ID
		k.record(by, p, "passkey.clone_suspected",
			map[string]any{"sign_count": signCount, "last_sign_count": k.SignCount})
	}
	return k, nil
}

// mayChangePasskeys returns an error unless by is p with a recent session.
func (p *Person) mayChangePasskeys(by identity.Actor) error {
	if by.User != p.User.ID || by.Org != p.User.Org {
		return ErrUserNotFound
	}
	if err := MayUsePasskeys(by); err != nil {
		return err
	}
	return by.SteppedUp()
}

// passkey returns one of p's passkeys, for by to change.
func (p *Person) passkey(
	by identity.Actor, match revision.Match, passkeys []*Passkey, id PasskeyID,
) (*Passkey, error) {
	if err := MayUsePasskeys(by); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(passkeys, func(k *Passkey) bool { return k.ID == id })
	if i < 0 || by.User != p.User.ID || by.Org != p.User.Org {
		return nil, ErrPasskeyNotFound
	}
	return passkeys[i], match.Check(passkeys[i].Revision)
}

func checkPasskeyName(name string) error {
	var errs fault.Fields
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		errs.Add("/name", "too_short", "Must not be empty.")
	case n > 80:
		errs.Add("/name", "too_long", "Must have at most 80 characters.")
	case naming.Deceptive(name):
		errs.Add("/name", "invalid_characters", naming.Refusal)
	}
	return errs.Err()
}

func (k *Passkey) touch(by identity.Actor) {
	k.Revision++
	k.UpdatedAt = by.At
}

// record adds an event to the trails of the workspaces that p joined last or, without one, to the trail of no
// workspace. data never contains the name of the passkey.
func (k *Passkey) record(by identity.Actor, p *Person, kind string, data map[string]any) {
	in := p.LatestWorkspaces()
	if len(in) == 0 {
		in = []identity.WorkspaceID{""}
	}
	for _, by.Workspace = range in {
		k.Record(by, kind, string(k.ID), data)
	}
}
