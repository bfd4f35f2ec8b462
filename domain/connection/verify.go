package connection

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/revision"
)

// CheckJob is the kind of job that probes a connection in the background. Its subject is the
// connection.
const CheckJob job.Kind = "connection.check"

// The times of background checks: every six hours, and sooner while a transient failure waits for the
// two that would confirm it.
const (
	checkEvery   = 6 * time.Hour
	confirmAfter = 10 * time.Minute

	tolerated = 3 // consecutive transient failures before the connection is failing
)

// NextCheck returns when to probe c next. chance, from 0 to below 1, varies the interval by up to a
// tenth in both directions, so that connections created together are not always probed together.
func (c *Connection) NextCheck(now time.Time, chance float64) time.Time {
	wait := checkEvery
	if c.Status == Active && c.Failures > 0 {
		wait = confirmAfter
	}
	return now.Add(time.Duration(float64(wait) * (0.9 + chance/5)))
}

// MayTry returns nil if by may probe c; fresh is whether with a new credential.
func (c *Connection) MayTry(by identity.Actor, fresh bool) error {
	need := Use
	if fresh {
		need = Manage
	}
	if err := c.Allow(by, need); err != nil {
		return err
	}
	if c.Status == Revoked && !fresh {
		return ErrRevoked
	}
	return nil
}

// Verify applies a trial that by requested. Without a new credential, c becomes failing or active, like
// the trial. A new credential whose trial passed replaces the stored one, and reactivates a revoked
// connection. If it failed, c stays as it is and the error is a *ProbeError. ErrCredentialChanged if
// the credential was replaced or revoked since the trial started. others counts the other live
// connections of the workspace.
func (c *Connection) Verify(by identity.Actor, t Trial, others int) error {
	if err := c.MayTry(by, t.New != nil); err != nil {
		return err
	}
	if t.Of != c.CredentialRevision {
		return ErrCredentialChanged
	}
	if t.New != nil {
		return c.replace(by, t, others)
	}
	data := map[string]any{"result": OK}
	if code := t.Report.Failure(); code != "" {
		data = map[string]any{"result": Failed, "code": code}
	}
	c.Record(by, "connection.verified", string(c.ID), data)
	c.note(t)
	c.settle(by, c.Failed != "")
	return nil
}

// replace replaces the stored credential with the trial's.
func (c *Connection) replace(by identity.Actor, t Trial, others int) error {
	if err := t.Failure(t.New.Credential); err != nil {
		return err
	}
	if c.Status == Revoked && others >= MaxLive {
		return ErrLimitReached
	}
	data := map[string]any{"secrets": t.New.Credential.SecretsSet(),
		"fingerprint": event.Change{From: c.Fingerprint, To: t.New.Fingerprint}}
	if c.Status == Revoked {
		data["status"] = event.Change{From: Revoked, To: Active}
		c.Status, c.RevokedAt = Active, time.Time{}
	}
	c.Record(by, "connection.credential_replaced", string(c.ID), data)
	c.keep(t.New, by.At)
	if c.Kind.Replies() { // who enters where the messages go owns it
		c.Owner, c.Ownerless = by.User, false
	}
	c.note(t)
	c.settle(by, false)
	c.touch(by)
	return nil
}

// Check applies a background check's trial. A failure that a person must fix makes c failing at once, a transient one
// only when it is the third in a row. It does nothing if the credential has changed.
func (c *Connection) Check(by identity.Actor, t Trial) {
	if c.Status == Revoked || t.Of != c.CredentialRevision {
		return
	}
	c.note(t)
	c.settle(by, c.Failed != "" && (c.Failed.Category() == Config || c.Failures >= tolerated))
}

// settle makes c failing or active. It records an event only if that is a change.
func (c *Connection) settle(by identity.Actor, failing bool) {
	switch {
	case failing && c.Status != Failing:
		c.Status = Failing
		c.Record(by, "connection.failing", string(c.ID),
			map[string]any{"code": c.Failed, "category": c.Failed.Category()})
		c.touch(by)
	case !failing && c.Failed == "" && c.Status == Failing:
		c.Status = Active
		c.Record(by, "connection.recovered", string(c.ID), nil)
		c.touch(by)
	}
}

// Revoke ends c: its credential is erased, and only a new one reactivates it. Revoking again is not an
// error.
func (c *Connection) Revoke(by identity.Actor, match revision.Match) error {
	if err := c.allow(by, Manage, match); err != nil {
		return err
	}
	if c.Status == Revoked {
		return nil
	}
	c.Record(by, "connection.revoked", string(c.ID), map[string]any{"kind": c.Kind, "name": c.Name})
	c.Status, c.RevokedAt = Revoked, by.At
	c.Secrets, c.Fingerprint, c.SecretUpdatedAt = nil, "", by.At
	c.CredentialRevision++
	c.touch(by)
	return nil
}

func (c *Connection) touch(by identity.Actor) {
	c.Revision++
	c.UpdatedAt = by.At
}
