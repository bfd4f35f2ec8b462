package account

import (
	"cmp"
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

// ErrKeyNotFound is returned for a key that does not exist or that the caller cannot see.
var ErrKeyNotFound = &fault.Error{Kind: fault.NotFound, Code: "api_key_not_found", Detail: "There is no such API key."}

// ErrKeyInactive is returned when a key to rotate has ended.
var ErrKeyInactive = &fault.Error{Kind: fault.Conflict, Code: "api_key_inactive",
	Detail: "The API key was revoked or has expired. Create a new one."}

// MaxKeys is the maximum number of a person's live API keys in a workspace, and of service keys that a workspace can
// have.
const MaxKeys = 100

// ErrTooManyKeys is returned for a key beyond MaxKeys.
var ErrTooManyKeys = &fault.Error{Kind: fault.Conflict, Code: "quota_exceeded",
	Detail: "You already have 100 live API keys in this workspace. Revoke one that is no longer used."}

// ErrPersonalKeysForbidden is returned for a personal key in an org that forbids them.
var ErrPersonalKeysForbidden = &fault.Error{
	Kind: fault.Forbidden, Code: "personal_keys_forbidden",
	Detail: "This organisation allows no personal API keys. Sign in, or use a service key.",
}

// LiveKeys counts a workspace's API keys that work at a moment.
type LiveKeys struct {
	User     int  // keys of the user who is about to get one
	Programs int  // service keys
	Maker    bool // whether the caller's own key is among them
}

// checkCreator returns an error if by's credential cannot create a key in w, because it was an API key and has
// ended.
func (w *Workspace) checkCreator(by identity.Actor) error {
	if by.Key != "" && !w.Live.Maker {
		return identity.ErrUnauthenticated
	}
	return nil
}

// Key is an API key: a user's credential in one workspace. Its token is shown once and never stored.
type Key struct {
	event.Log
	ID         identity.KeyID
	Org        identity.OrgID
	Workspace  identity.WorkspaceID
	User       identity.UserID // the user that it authenticates
	Service    bool            // User exists only for this key and its successors, and cannot sign in
	Name       string          // 1 to 80 characters
	Ceiling    identity.Role   // caps the user's own role
	Scopes     identity.Scopes
	Networks   identity.Networks // that it can be used from
	Hash       Hash
	Hint       string    // the token's last four characters
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // zero: not yet; exact to a minute
	LastUsedBy string    // the address of the client at that time; empty: unknown
	RevokedAt  time.Time // zero: live
	// when it was suspended, because its creator's account is disabled for a while; zero: it is not
	SuspendedAt time.Time
	CreatedBy   identity.UserID
	// who kept it when the creator, or the last keeper, lost the role; empty: the creator answers for it
	KeptBy identity.UserID
	// the key that created it, and with which it is revoked unless it was kept; empty: a person created it
	MadeBy    identity.KeyID
	Revision  int64
	CreatedAt time.Time
	UpdatedAt time.Time

	// the requests with it on each of the last RequestDays days in UTC, oldest first; nil if they were not counted
	Requests []int64
}

// KeyUse is one use of an API key.
type KeyUse struct {
	At      time.Time
	Address string // of the client
}

// KeyPage is one page of API keys.
type KeyPage = page.Of[Key]

// KeyDraft is the caller's request for a new key.
type KeyDraft struct {
	Name     string
	Ceiling  identity.Role     // NoRole: the caller's own role, but at least the member role
	Scopes   identity.Scopes   // empty: the scopes of the caller's own credential
	Networks identity.Networks // empty: the networks of the caller's own credential
	// zero: when the caller's own credential ends, or as late as the org's policy allows for such keys
	ExpiresAt time.Time
}

// NewKey creates a key for user in w. by is that user, or the system. It uses by's current role in w,
// not the role that the credential had when the request began. A key never allows more, or lives
// longer, than the credential that created it or policy permit. ErrPersonalKeysForbidden if policy
// forbids personal keys; a program with a service key can still create keys for itself.
func (w *Workspace) NewKey(
	by identity.Actor, policy identity.KeyPolicy, user identity.UserID, d KeyDraft,
) (*Key, Token, error) {
	if by.User == "" {
		role := w.Members[user].Role
		if role == identity.NoRole || !w.DeletedAt.IsZero() {
			return nil, Token{}, identity.ErrWorkspaceNotFound
		}
		if d.Ceiling == identity.NoRole {
			d.Ceiling = max(role, identity.Member)
		}
	} else if by.Role = w.RoleOf(by); by.Role == identity.NoRole || by.User != user {
		return nil, Token{}, identity.ErrWorkspaceNotFound
	}
	if by.ReadOnly() {
		return nil, Token{}, identity.ErrReadOnly
	}
	if err := w.checkCreator(by); err != nil {
		return nil, Token{}, err
	}
	if policy.NoPersonal && !by.Service {
		return nil, Token{}, ErrPersonalKeysForbidden
	}
	if w.Live.User >= MaxKeys {
		return nil, Token{}, ErrTooManyKeys
	}
	d.Name = naming.Normal(d.Name)
	return newKey(by, policy, user, d, d.wrongName()...)
}

// wrongName returns what is wrong with a new key's name.
func (d KeyDraft) wrongName() []fault.Field {
	switch n := utf8.RuneCountInString(d.Name); {
	case n == 0:
		return []fault.Field{{Pointer: "/name", Code: "too_short", Detail: "Must not be empty."}}
	case n > 80:
		return []fault.Field{{Pointer: "/name", Code: "too_long", Detail: "Must have at most 80 characters."}}
	case naming.Deceptive(d.Name):
		return []fault.Field{{Pointer: "/name", Code: "invalid_characters", Detail: naming.Refusal}}
	default:
		return nil
	}
}

// newKey makes a key whose limits are by's, and policy's; wrongName is what is wrong with d's name.
func newKey(
	by identity.Actor, policy identity.KeyPolicy, user identity.UserID, d KeyDraft, wrongName ...fault.Field,
) (*Key, Token, error) {
	// A viewer's key is not limited to viewing: it can also use what was shared with the viewer.
	limit := min(max(by.Role, identity.Member), by.Ceiling)
	if d.Ceiling == identity.NoRole {
		d.Ceiling = limit
	}
	if err := d.restrict(by); err != nil {
		return nil, Token{}, err
	}
	latest := by.At.Add(policy.MaxLifetime)
	if d.ExpiresAt.IsZero() {
		d.ExpiresAt = by.KeyUntil
		usual := cmp.Or(policy.DefaultLifetime, policy.MaxLifetime)
		if ends := by.At.Add(usual); usual > 0 && (d.ExpiresAt.IsZero() || d.ExpiresAt.After(ends)) {
			d.ExpiresAt = ends
		}
	}
	if d.Ceiling > limit || (!by.KeyUntil.IsZero() && d.ExpiresAt.After(by.KeyUntil)) {
		return nil, Token{}, identity.ErrRoleCeiling
	}
	var errs fault.Fields
	switch {
	case policy.MaxLifetime > 0 && d.ExpiresAt.After(latest):
		detail := "The organisation allows keys to live until " + latest.Format(time.RFC3339) + " at most."
		errs.Add("/expires_at", "too_late", detail)
	case !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(by.At):
		errs.Add("/expires_at", "in_the_past", "Must be in the future.")
	}
	if err := fault.InvalidFields(append(errs, wrongName...)); err != nil {
		return nil, Token{}, err
	}
	token := NewToken()
	k := &Key{
		ID: identity.KeyID(id.New(identity.KeyPrefix)), Org: by.Org, Workspace: by.Workspace, User: user, Name: d.Name,
		Ceiling: d.Ceiling, Scopes: d.Scopes, Networks: d.Networks, Hash: token.Hash(), Hint: token.Hint(),
		ExpiresAt: d.ExpiresAt, CreatedBy: by.User, MadeBy: by.Key, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	data := map[string]any{"name": k.Name, "ceiling": k.Ceiling.String()}
	if k.Scopes != "" {
		data["scopes"] = k.Scopes.Names()
	}
	if k.Networks != "" {
		data["allowed_addresses"] = k.Networks.List()
	}
	k.Record(by, "api_key.created", string(k.ID), data)
	return k, token, nil
}

// NewServiceKey creates a key for a program, with its own user who is a member of w with the key's
// ceiling as role. Its lifetime is at most what policy permits. Requires the admin role.
func (w *Workspace) NewServiceKey(
	by identity.Actor, policy identity.KeyPolicy, d KeyDraft,
) (*User, *Key, Token, error) {
	if err := w.Allow(by, identity.Admin); err != nil {
		return nil, nil, Token{}, err
	}
	if err := w.checkCreator(by); err != nil {
		return nil, nil, Token{}, err
	}
	by.Role = w.RoleOf(by)
	switch {
	case d.Ceiling == identity.NoRole:
		return nil, nil, Token{}, fault.InField("/role_ceiling", "required", "A service key needs a role.")
	case w.Live.Programs >= MaxKeys:
		return nil, nil, Token{}, ErrTooManyKeys
	}
	d.Name = naming.Normal(d.Name)
	u := &User{
		ID: identity.UserID(id.New(identity.UserPrefix)), Org: by.Org, Name: d.Name, Service: true,
		Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	k, token, err := newKey(by, policy, u.ID, d, d.wrongName()...)
	if err != nil {
		return nil, nil, Token{}, err
	}
	k.Service = true
	w.Members[u.ID] = Member{User: u.ID, Name: u.Name, Service: true, Role: k.Ceiling, ByHand: k.Ceiling, Revision: 1,
		CreatedAt: by.At, UpdatedAt: by.At}
	u.Record(by, "user.created", string(u.ID), map[string]any{"service": true, "role": k.Ceiling.String()})
	return u, k, token, nil
}

// RotateKey creates a key that replaces k, which continues to work for grace. Only the key's own user
// can rotate it, because the new token acts as that user; a service key requires the admin role. If the
// caller uses a key, even k itself, that key counts as the creator of the successor. The successor ends
// when k does, or earlier if policy requires that. ErrPersonalKeysForbidden if policy forbids personal
// keys and k is one.
func (w *Workspace) RotateKey(
	by identity.Actor, policy identity.KeyPolicy, match revision.Match, k *Key, grace time.Duration,
) (*Key, Token, error) {
	by.Role = w.RoleOf(by)
	if !k.Access(by) {
		return nil, Token{}, ErrKeyNotFound
	}
	switch {
	case by.ReadOnly():
		return nil, Token{}, identity.ErrReadOnly
	case by.User != k.User && !k.Service:
		return nil, Token{}, identity.ErrForbidden.Because("Only the person whose key it is can rotate it: the new " +
			"token acts as them. You can revoke it.")
	}
	if err := match.Check(k.Revision); err != nil {
		return nil, Token{}, err
	}
	if k.ended(by.At) { // another admin can continue with a suspended key's successor
		return nil, Token{}, ErrKeyInactive
	}
	if err := w.checkCreator(by); err != nil {
		return nil, Token{}, err
	}
	if policy.NoPersonal && !k.Service && !by.Service {
		return nil, Token{}, ErrPersonalKeysForbidden
	}
	live := w.Live.User
	if k.Service {
		live = w.Live.Programs
	}
	if (grace > 0 && live >= MaxKeys) || live > MaxKeys {
		return nil, Token{}, ErrTooManyKeys
	}
	if !by.Scopes.Cover(k.Scopes) || !by.Networks.Cover(k.Networks) {
		return nil, Token{}, errRotateAbove
	}
	d := KeyDraft{Name: k.Name, Ceiling: k.Ceiling, Scopes: k.Scopes, Networks: k.Networks, ExpiresAt: k.ExpiresAt}
	if latest := by.At.Add(policy.MaxLifetime); policy.MaxLifetime > 0 && d.ExpiresAt.After(latest) {
		d.ExpiresAt = latest
	}
	policy.DefaultLifetime = 0 // the successor lives as long as k
	next, token, err := newKey(by, policy, k.User, d)
	if err != nil {
		return nil, Token{}, err
	}
	next.Service = k.Service
	if next.MadeBy == "" && k.CreatedBy == by.User { // the successor that another admin creates is that admin's
		next.MadeBy = k.MadeBy
	}
	if ends := by.At.Add(grace); k.ExpiresAt.IsZero() || ends.Before(k.ExpiresAt) {
		k.ExpiresAt = ends
	}
	k.Revision++
	k.UpdatedAt = by.At
	k.Record(by, "api_key.rotated", string(k.ID),
		map[string]any{"replaced_by": next.ID, "grace_seconds": int(grace.Seconds())})
	return next, token, nil
}

// Access reports whether by may see and revoke k: a user their own keys, an admin the keys of the whole
// workspace.
func (k *Key) Access(by identity.Actor) bool {
	return by.Workspace == k.Workspace && by.Role != identity.NoRole && (by.User == k.User || by.Role >= identity.Admin)
}

// errRevokeAbove is the error of RevokeKey for a key that allows more than the caller's credential.
var errRevokeAbove = identity.ErrRoleCeiling.Because("You cannot revoke an API key that allows more than your own " +
	"credential.")

// RevokeKey ends k permanently, and also made: the keys created with it, recursively, because a person
// who had its token can have theirs. Revoking a revoked key is not an error. identity.ErrRoleCeiling if
// the key allows more than by's credential, unless it is that credential: a leaked key with few rights
// must not end keys with more. A read-only credential can end only itself.
func (w *Workspace) RevokeKey(by identity.Actor, match revision.Match, k *Key, keys []*Key) error {
	if by.User != "" {
		by.Role = w.RoleOf(by)
	}
	if !k.Access(by) {
		return ErrKeyNotFound
	}
	if by.ReadOnly() && by.Key != k.ID {
		return identity.ErrReadOnly
	}
	if err := match.Check(k.Revision); err != nil {
		return err
	}
	switch {
	case !k.RevokedAt.IsZero():
		return nil
	case by.Key == k.ID:
	case min(k.Ceiling, w.Members[k.User].Role) > by.Role, !by.Scopes.Cover(k.Scopes):
		return errRevokeAbove
	}
	k.end(by)
	endAll(by, keys)
	return nil
}

// errRotateAbove is the error of RotateKey for a key that allows more than the caller's credential.
var errRotateAbove = identity.ErrRoleCeiling.Because("You cannot rotate an API key that allows more than your own " +
	"credential.")

// errKeepsOwn is the error for a member who loses a role by their own decision and wants to keep service keys.
var errKeepsOwn = identity.ErrForbidden.Because(
	"You cannot keep service keys when you leave, or lower your own role. " +
		"Ask another admin to do it and keep them.",
)

// endAll revokes the keys that are still live.
func endAll(by identity.Actor, keys []*Key) {
	for _, k := range keys {
		if !k.ended(by.At) {
			k.end(by)
		}
	}
}

// end revokes k without a permission check.
func (k *Key) end(by identity.Actor) {
	k.RevokedAt, k.UpdatedAt, k.Revision = by.At, by.At, k.Revision+1
	k.Record(by, "api_key.revoked", string(k.ID), map[string]any{"name": k.Name})
}

// Responsible returns the user with whose role k ends: who created it, unless another admin has kept it.
func (k *Key) Responsible() identity.UserID { return cmp.Or(k.KeptBy, k.CreatedBy) }

// keep makes by responsible for k.
func (k *Key) keep(by identity.Actor) {
	k.KeptBy, k.UpdatedAt, k.Revision = by.User, by.At, k.Revision+1
	k.Record(by, "api_key.kept", string(k.ID), map[string]any{"name": k.Name})
}

// suspend makes k wait until its creator's account is enabled.
func (k *Key) suspend(by identity.Actor) {
	k.SuspendedAt, k.UpdatedAt, k.Revision = by.At, by.At, k.Revision+1
	k.Record(by, "api_key.suspended", string(k.ID), map[string]any{"name": k.Name})
}

// resume ends what suspend began.
func (k *Key) resume(by identity.Actor) {
	k.SuspendedAt, k.UpdatedAt, k.Revision = time.Time{}, by.At, k.Revision+1
	k.Record(by, "api_key.resumed", string(k.ID), map[string]any{"name": k.Name})
}

// Live reports whether k works at this moment.
func (k *Key) Live(now time.Time) bool { return k.SuspendedAt.IsZero() && !k.ended(now) }

// ended reports whether k can never work again.
func (k *Key) ended(now time.Time) bool {
	return !k.RevokedAt.IsZero() || (!k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt))
}
