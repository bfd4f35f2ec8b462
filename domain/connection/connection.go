package connection

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Prefix begins a connection's identifier.
const Prefix = "con"

// MaxLive is how many connections of a workspace may be live at a time. Revoked ones do not count.
const MaxLive = 50

// ID identifies a connection; the empty one is of none.
type ID string

// NewID returns a fresh identifier. A connection has one before it is stored: its credential is
// sealed for it.
func NewID() ID { return ID(id.New(Prefix)) }

// Status says whether a connection can be used.
type Status string

// The statuses. Active and failing ones are live.
const (
	Active  Status = "active"
	Failing Status = "failing" // the probes fail; it is active again when one passes
	Revoked Status = "revoked" // its credential is gone
)

// Connection is a workspace's way into a warehouse. Its secrets are kept apart, sealed: no
// Connection holds one.
type Connection struct {
	event.Log
	ID        ID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Kind      Kind
	Name      string // 1 to 120 characters
	Status    Status

	Config          map[string]any // the credential without its secrets; string, bool or json.Number
	Secrets         []string       // names of the secret fields that are set, sorted
	Fingerprint     string         // of the secrets, by a key that only the deployment has
	SecretUpdatedAt time.Time

	// CredentialRevision counts the changes of the credential, its erasure included: what was
	// found with one credential says nothing of another.
	CredentialRevision int64

	// Sealed is a credential to store in place of the present one; stores never fill it in. Bound says that
	// CredentialRevision is part of what it is sealed for.
	Sealed []byte
	Bound  bool

	// What the last probe found.
	Server         Server
	Checks         []Check
	Failed         Code // "" if it passed
	FailedAt       time.Time
	Failures       int       // in a row
	LastVerifiedAt time.Time // when one last passed

	CreatedBy identity.UserID
	RevokedAt time.Time // zero: live
	Revision  int64     // counts what people and probes changed, but not that a probe found the same again
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Draft is what a caller asks of a new connection.
type Draft struct {
	Kind       Kind
	Name       string // empty: one is made of the kind and of what is reached
	Credential []byte // a JSON object
}

// Check returns all that is wrong with the fields of d but the credential.
func (d Draft) Check() error {
	switch n := utf8.RuneCountInString(d.Name); {
	case n > 120:
		return fault.InvalidFields([]fault.Field{{Pointer: "/name", Code: "too_long", Detail: "Must have at most 120 characters."}})
	case !utf8.ValidString(d.Name), hasControl(d.Name):
		return fault.InvalidFields([]fault.Field{{Pointer: "/name", Code: "invalid_characters", Detail: "Must not hold control characters."}})
	}
	return nil
}

func hasControl(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return true
		}
	}
	return false
}

// Trial is a credential that was probed outside of any transaction: what was found holds only as
// long as the connection's credential is the one that it was found with.
type Trial struct {
	ID     ID    // of the connection, which may not be stored yet
	Of     int64 // Connection.CredentialRevision when the probe began; 0 for a new connection
	Name   string
	New    *NewCredential // nil: the stored one was probed
	Report Report
	At     time.Time
}

// NewCredential is a credential as it will be kept.
type NewCredential struct {
	Credential  Credential
	Sealed      []byte
	Bound       bool // to the revision that the credential will have: Trial.Of and one
	Fingerprint string
}

// Failure returns why a trial failed, nil if it passed.
func (t Trial) Failure(k Kind) error {
	code := t.Report.Failure()
	if code == "" {
		return nil
	}
	return &ProbeError{Failure: k.Failure(code, t.At), Checks: t.Report.Checks}
}

// New makes a connection of a trial that passed; others counts the workspace's live connections.
// Members and above may.
func New(by identity.Actor, t Trial, others int) (*Connection, error) {
	if err := MayCreate(by); err != nil {
		return nil, err
	}
	kind := t.New.Credential.Kind()
	if err := t.Failure(kind); err != nil {
		return nil, err
	}
	if others >= MaxLive {
		return nil, ErrLimitReached
	}
	c := &Connection{
		ID: t.ID, Org: by.Org, Workspace: by.Workspace, Kind: kind, Name: t.Name,
		CreatedBy: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
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

// keep makes a credential the connection's own.
func (c *Connection) keep(n *NewCredential, at time.Time) {
	c.Config, c.Secrets, c.Fingerprint = n.Credential.Config(), n.Credential.SecretsSet(), n.Fingerprint
	c.Sealed, c.Bound = n.Sealed, n.Bound
	c.SecretUpdatedAt = at
	c.CredentialRevision++
}

// note writes down what a probe found.
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

// Failure says what is wrong with c; nil if the last probe passed, and once c is revoked.
func (c *Connection) Failure() *Failure {
	if c.Failed == "" || c.Status == Revoked {
		return nil
	}
	f := c.Kind.Failure(c.Failed, c.FailedAt)
	return &f
}

// Seal names what a sealed credential belongs to; it opens for nothing else. A credential that is
// moved into another row, workspace, org or kind is worthless there.
func Seal(org identity.OrgID, ws identity.WorkspaceID, c ID, k Kind) []byte {
	return []byte("connection credential\x00" + string(org) + "\x00" + string(ws) + "\x00" + string(c) + "\x00" + string(k))
}

// Stored is a sealed credential as it is kept.
type Stored struct {
	Sealed   []byte
	Revision int64 // Connection.CredentialRevision
	Bound    bool  // Sealed opens for this revision only; v0.1.0 sealed for none
}

// SealRevision names what a credential of one revision belongs to: an earlier credential of the same
// connection, put back in its place, does not open.
func SealRevision(place []byte, revision int64) []byte {
	return fmt.Appendf(place[:len(place):len(place)], "\x00%d", revision)
}

// Place returns what s was sealed for, as the credential of c.
func (s Stored) Place(c *Connection) []byte {
	place := Seal(c.Org, c.Workspace, c.ID, c.Kind)
	if s.Bound {
		place = SealRevision(place, s.Revision)
	}
	return place
}

// RevealSecrets writes the secret fields alone, in one way whatever the order in which they were
// given: to be fingerprinted, and for nothing else. Nil if none is set.
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

// title names what a credential reaches, for people.
func (c Credential) title() string {
	d, _ := Describe(c.kind)
	title := d.Title
	for _, a := range []about{network, database} {
		for _, field := range c.kind.fields(a) {
			if what := c.Text(field); what != "" {
				title += " " + what
			}
		}
	}
	if letters := []rune(title); len(letters) > 120 {
		title = string(letters[:120])
	}
	return title
}
