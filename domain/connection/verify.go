package connection

import (
	"time"

	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/revision"
)

// CheckJob is the kind of job that probes a connection nobody asked about; its subject is the
// connection.
const CheckJob job.Kind = "connection.check"

// How often that happens: every six hours, and sooner while a transient failure waits for the two
// that would confirm it.
const (
	checkEvery   = 6 * time.Hour
	confirmAfter = 10 * time.Minute

	tolerated = 3 // failures in a row that may pass by themselves, before the connection is failing
)

// NextCheck returns when c is to be probed next. chance, from 0 to below 1, spreads the checks by a
// tenth in both directions, so that connections made together are not probed together for ever.
func (c *Connection) NextCheck(now time.Time, chance float64) time.Time {
	wait := checkEvery
	if c.Status == Active && c.Failures > 0 {
		wait = confirmAfter
	}
	return now.Add(time.Duration(float64(wait) * (0.9 + chance/5)))
}

// MayTry returns nil if by may probe c, with a new credential if fresh says so.
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

// Verify notes a trial that by asked for. Without a new credential c is failing or active from now
// on, as the trial was. A new credential takes the place of the present one if its trial passed,
// and brings a revoked connection back; if it failed, c stays as it is and the error is a
// *ProbeError. ErrCredentialChanged if somebody replaced or revoked the credential since the trial
// began. others counts the other live connections of the workspace.
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

// replace puts the credential of a trial in the place of the present one.
func (c *Connection) replace(by identity.Actor, t Trial, others int) error {
	if err := t.Failure(c.Kind); err != nil {
		return err
	}
	if c.Status == Revoked && others >= MaxLive {
		return ErrLimitReached
	}
	data := map[string]any{"secrets": t.New.Credential.SecretsSet(), "fingerprint": event.Change{From: c.Fingerprint, To: t.New.Fingerprint}}
	if c.Status == Revoked {
		data["status"] = event.Change{From: Revoked, To: Active}
		c.Status, c.RevokedAt = Active, time.Time{}
	}
	c.Record(by, "connection.credential_replaced", string(c.ID), data)
	c.keep(t.New, by.At)
	c.note(t)
	c.settle(by, false)
	c.touch(by)
	return nil
}

// Check notes a trial that nobody asked for. A failure that somebody must mend makes c failing at
// once, any other one only when it is the third in a row. It does nothing if the credential is
// another one by now.
func (c *Connection) Check(by identity.Actor, t Trial) {
	if c.Status == Revoked || t.Of != c.CredentialRevision {
		return
	}
	c.note(t)
	c.settle(by, c.Failed != "" && (c.Failed.Category() == Config || c.Failures >= tolerated))
}

// settle makes c failing or active. Only a change is an event.
func (c *Connection) settle(by identity.Actor, failing bool) {
	switch {
	case failing && c.Status != Failing:
		c.Status = Failing
		c.Record(by, "connection.failing", string(c.ID), map[string]any{"code": c.Failed, "category": c.Failed.Category()})
		c.touch(by)
	case !failing && c.Failed == "" && c.Status == Failing:
		c.Status = Active
		c.Record(by, "connection.recovered", string(c.ID), nil)
		c.touch(by)
	}
}

// Revoke ends c: its credential is erased, and only a new one brings it back. Again is no error.
func (c *Connection) Revoke(by identity.Actor, at revision.Match) error {
	if err := c.allow(by, Manage, at); err != nil {
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
