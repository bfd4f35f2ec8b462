package connection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Prefix begins a connection's identifier.
const Prefix = "con"

// MaxLive is a workspace's maximum number of live connections. Revoked connections do not count.
const MaxLive = 50

// ID identifies a connection. The empty one identifies none.
type ID string

// NewID returns a new identifier. A connection has one before it is stored, because its credential is
// sealed for it.
func NewID() ID { return ID(id.New(Prefix)) }

// Status reports whether a connection can be used.
type Status string

// The statuses. Active and failing ones are live.
const (
	Active  Status = "active"
	Failing Status = "failing" // the probes fail; it is active again when one passes
	Revoked Status = "revoked" // its credential is erased
)

// Connection is a workspace's access to a warehouse. Its secrets are stored separately, sealed: no
// Connection contains one.
type Connection struct {
	event.Log
	ID        ID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Kind      Kind
	Name      string // 1 to 120 characters
	Status    Status

	Config          json.RawMessage // the credential without its secrets, an object; see Credential.Config
	Secrets         []string        // names of the secret fields that are set, sorted
	Fingerprint     string          // of the secrets, by a key that only the deployment has
	SecretUpdatedAt time.Time

	// CredentialRevision counts the changes of the credential, including its erasure: a finding about one credential
	// does not apply to another.
	CredentialRevision int64

	// Sealed is a credential that replaces the stored one. Stores never fill it in when they load. Bound means that
	// CredentialRevision is part of what it is sealed for.
	Sealed []byte
	Bound  bool

	// The findings of the last probe.
	Server         Server
	Checks         []Check
	Failed         Code // "" if it passed
	FailedAt       time.Time
	Failures       int       // consecutive failures
	LastVerifiedAt time.Time // when a probe last passed

	// NextCheckAt is when the next background check is due; zero if none is queued. Stores read it from the queue.
	NextCheckAt time.Time

	CreatedBy identity.UserID
	Owner     identity.UserID // who manages it, besides admins: at first who created it
	Ownerless bool            // Owner lost the role: an admin must confirm it, or revoke it
	RevokedAt time.Time       // zero: live
	Revision  int64           // counts changes by people and probes, but not a probe with an unchanged result
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Draft is the caller's request for a new connection.
type Draft struct {
	Kind Kind
	Name string // empty: derived from the kind and the target
	Entry
}

// Check returns everything that is wrong with the fields of d except the credential.
func (d Draft) Check() error { return checkName(d.Name) }

func checkName(name string) error {
	switch n := utf8.RuneCountInString(naming.Normal(name)); {
	case n > 120:
		return fault.InField("/name", "too_long", "Must have at most 120 characters.")
	case !utf8.ValidString(name), naming.Deceptive(name):
		return fault.InField("/name", "invalid_characters", naming.Refusal)
	}
	return nil
}

// Trial is a credential that was probed outside any transaction. Its result applies only while the
// connection still has the credential that was probed.
type Trial struct {
	ID     ID    // of the connection, which may not be stored yet
	Of     int64 // Connection.CredentialRevision when the probe began; 0 for a new connection
	Name   string
	New    *NewCredential // nil: the stored one was probed
	Report Report
	At     time.Time
}

// NewCredential is a credential as it will be stored.
type NewCredential struct {
	Credential  Credential
	Sealed      []byte
	Bound       bool // to the revision that the credential will have: Trial.Of + 1
	Fingerprint string
}

// Failure returns why a credential's trial failed; nil if it passed.
func (t Trial) Failure(credential Credential) error {
	code := t.Report.Failure()
	if code == "" {
		return nil
	}
	return &ProbeError{Failure: credential.kind.failureIn(credential.config, credential.SecretsSet(), t.Report.Checks,
		code, t.At),
		Checks: t.Report.Checks}
}

// New creates a connection from a trial that passed. others counts the workspace's live connections.
// Requires the member role.
func New(by identity.Actor, t Trial, others int) (*Connection, error) {
	if err := MayCreate(by); err != nil {
		return nil, err
	}
	kind := t.New.Credential.Kind()
	if err := t.Failure(t.New.Credential); err != nil {
		return nil, err
	}
	if others >= MaxLive {
		return nil, ErrLimitReached
	}
	c := &Connection{
		ID: t.ID, Org: by.Org, Workspace: by.Workspace, Kind: kind, Name: naming.Normal(t.Name),
		CreatedBy: by.User, Owner: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	if c.Name == "" {
		c.Name = t.New.Credential.title()
	}
	c.keep(t.New, by.At)
	c.note(t)
	c.Status = Active
	c.Record(by, "connection.created", string(c.ID), map[string]any{"kind": kind, "name": c.Name})
	return c, nil
}

// fields returns the values in c.Config: string, bool or json.Number. Nil if it is not an object.
func (c *Connection) fields() (fields map[string]any) {
	in := json.NewDecoder(bytes.NewReader(c.Config))
	in.UseNumber() // as ParseCredential reads it
	if in.Decode(&fields) != nil {
		return nil
	}
	return fields
}

// keep stores a credential in the connection.
func (c *Connection) keep(n *NewCredential, now time.Time) {
	c.Config, c.Secrets, c.Fingerprint = n.Credential.Config(), n.Credential.SecretsSet(), n.Fingerprint
	c.Sealed, c.Bound = n.Sealed, n.Bound
	c.SecretUpdatedAt = now
	c.CredentialRevision++
}

// note records a probe's findings.
func (c *Connection) note(t Trial) {
	c.Checks = t.Report.Checks
	if code := t.Report.Failure(); code != "" {
		c.Failed, c.FailedAt = code, t.At
		c.Failures++
		return
	}
	c.Server = t.Report.Server
	c.Failed, c.FailedAt, c.Failures, c.LastVerifiedAt = "", time.Time{}, 0, t.At
}

// Failure returns what is wrong with c; nil if the last probe passed, or if c is revoked.
func (c *Connection) Failure() *Failure {
	if c.Failed == "" || c.Status == Revoked {
		return nil
	}
	f := c.Kind.failureIn(c.fields(), c.Secrets, c.Checks, c.Failed, c.FailedAt)
	return &f
}

// Seal returns a sealed credential's associated data, so that the credential opens for nothing else. A credential that
// is moved to another row, workspace, org or kind is useless there.
func Seal(org identity.OrgID, ws identity.WorkspaceID, c ID, k Kind) []byte {
	return []byte("connection credential\x00" + string(org) + "\x00" + string(ws) + "\x00" + string(c) +
		"\x00" + string(k))
}

// Stored is a stored, sealed credential.
type Stored struct {
	Sealed   []byte
	Revision int64 // Connection.CredentialRevision
	Bound    bool  // Sealed opens only for this revision; v0.1.0 did not bind revisions
}

// SealRevision returns the associated data for one credential revision: an earlier credential of the same connection
// that is copied back does not open.
func SealRevision(place []byte, revision int64) []byte {
	return fmt.Appendf(place[:len(place):len(place)], "\x00%d", revision)
}

// Place returns the associated data that s was sealed with, as the credential of c.
func (s Stored) Place(c *Connection) []byte {
	place := Seal(c.Org, c.Workspace, c.ID, c.Kind)
	if s.Bound {
		place = SealRevision(place, s.Revision)
	}
	return place
}

// RevealSecrets encodes only the secret fields, independent of their order. It is only for
// fingerprinting. Nil if none is set.
func (c Credential) RevealSecrets() ([]byte, error) {
	if len(c.secrets) == 0 {
		return nil, nil
	}
	all := map[string]string{}
	for name, s := range c.secrets {
		all[name] = s.Reveal()
	}
	return json.Marshal(all)
}

// title names a credential's target, for people.
func (c Credential) title() string {
	d, _ := Describe(c.kind)
	title := d.Title
	for _, a := range []about{network, database} {
		for _, field := range c.kind.fields(a) {
			if value := c.Text(field); value != "" {
				title += " " + value
			}
		}
	}
	title = naming.Strip(title)
	if letters := []rune(title); len(letters) > 120 {
		title = naming.Strip(string(letters[:120]))
	}
	return title
}
