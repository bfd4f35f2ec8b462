package connection

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Counts are what a workspace's limits at a target depend on. What other workspaces do does not use up the calls of
// this one: they share only the failed sign-ins.
type Counts struct {
	Workspace Attempts // of the workspace, at all targets
	Target    Attempts // of the workspace, at the target
	Failed    Attempts // new credentials that the target refused, from all workspaces of the org; only of probes
}

// ProbeLimits prevent probes from being used to scan ports or to guess passwords.
type ProbeLimits struct {
	WorkspacePerMinute int // from one workspace, to all targets
	// From one workspace to one target. As many failed sign-ins from an org at a target leave a sixth of it to each
	// workspace that tries a new credential there, twice as many a twelfth, and three times as many a twenty-fourth; at
	// least one.
	TargetPerHour int
}

// PreviewLimits prevent previews, and other reads from a table or a sheet that a caller requests, from overloading
// hosts. They permit bursts: each number is the largest burst, and the average rate in its time.
type PreviewLimits struct {
	WorkspacePerMinute int // from one workspace, of all targets
	TargetPerHour      int // from one workspace, of one target
}

// Admit records a preview at now in c, or returns ErrPreviewRateLimited with the time to wait and records nothing. c
// stores only the time until which its calls would last at the permitted rate.
func (l PreviewLimits) Admit(c *Counts, now time.Time) error {
	forWorkspace, wait := c.Workspace.spaced(l.WorkspacePerMinute, time.Minute, now)
	atTarget, longer := c.Target.spaced(l.TargetPerHour, time.Hour, now)
	if wait = max(wait, longer); wait > 0 {
		return ErrPreviewRateLimited.WithRetryAfter(wait)
	}
	c.Workspace, c.Target = forWorkspace, atTarget
	return nil
}

// spaced returns the value to store after one more call, and how long to wait before that call. It
// implements the generic cell rate algorithm.
func (a *Attempts) spaced(limit int, window time.Duration, now time.Time) (next Attempts, wait time.Duration) {
	end := now
	if len(*a) > 0 && (*a)[0].After(now) {
		end = (*a)[0]
	}
	end = end.Add(window / time.Duration(limit))
	return Attempts{end}, end.Sub(now) - window
}

// Effort is a kind of call that is limited separately.
type Effort string

// The efforts.
const (
	Probing    Effort = "probe" // of a new credential
	Testing    Effort = "test"  // of a connection's stored credential
	Previewing Effort = "preview"
)

// Attempts holds the times of attempts, oldest first, as far back as a limit needs them.
type Attempts []time.Time

// failedKept is how many times ProbeLimits.TargetPerHour of failed sign-ins are remembered.
const failedKept = 3

// Admit records a probe at now in c, or returns ErrProbeRateLimited with the time to wait and records nothing. It drops
// attempts that are older than the limit's window. Tests of stored credentials have their own counts, without failed
// sign-ins.
func (l ProbeLimits) Admit(c *Counts, now time.Time) error {
	wait := max(c.Workspace.wait(l.WorkspacePerMinute, time.Minute, now),
		c.Target.wait(l.TargetPerHour, time.Hour, now))
	if calm := c.Failed.wait(l.TargetPerHour, time.Hour, now); calm > 0 {
		allowance := l.TargetPerHour / 6 >> (len(c.Failed)/l.TargetPerHour - 1)
		wait = max(wait, min(calm, c.Target.wait(max(1, allowance), time.Hour, now)))
	}
	if wait > 0 {
		return ErrProbeRateLimited.WithRetryAfter(wait)
	}
	c.Workspace, c.Target = append(c.Workspace, now), append(c.Target, now)
	return nil
}

// Refuse records a new credential that the target refused at now. It keeps failedKept times as many as limit others.
func (l ProbeLimits) Refuse(c *Counts, now time.Time) {
	c.Failed.wait(l.TargetPerHour, time.Hour, now)
	c.Failed = append(c.Failed, now)
	c.Failed = c.Failed[max(0, len(c.Failed)-failedKept*l.TargetPerHour):]
}

// RefusesCredential reports whether a probe failed because of the credential.
func (r Report) RefusesCredential() bool {
	switch r.Failure() {
	case AuthFailed, AuthRejected, SSHAuthFailed:
		return true
	}
	return false
}

// wait drops attempts older than window, and returns how long it takes until fewer than limit remain.
func (a *Attempts) wait(limit int, window time.Duration, now time.Time) time.Duration {
	recent := *a
	for len(recent) > 0 && !recent[0].After(now.Add(-window)) {
		recent = recent[1:]
	}
	*a = recent
	if len(recent) < limit {
		return 0
	}
	return recent[len(recent)-limit].Add(window).Sub(now)
}

// Target identifies what a credential reaches, for the limits of probes.
type Target [sha256.Size]byte

// Target returns what c reaches for org: its host and port and the address of an SSH
// server, whatever the database, user and workspace;
// for kinds without a host, the equivalent fields.
func (c Credential) Target(org identity.OrgID) Target { return target(org, c.kind, c.config) }

// Target returns what c reaches, as Credential.Target does.
func (c *Connection) Target() Target { return target(c.Org, c.Kind, c.fields()) }

// HostTarget returns the Target of a host that org reads without a connection, such as a sheet's host.
func HostTarget(org identity.OrgID, host string) Target {
	return digest(org, "host", strings.TrimSuffix(strings.ToLower(host), "."))
}

// target returns a digest of what identifies a server in a credential: the network fields, else the database.
func target(org identity.OrgID, k Kind, config map[string]any) Target {
	fields := k.fields(network)
	if len(fields) == 0 {
		fields = k.fields(database)
	}
	var values []string
	if server := (Credential{config: config}); server.HasTunnel() {
		fields = slices.Concat(sshFields[sshServer], fields)
	}
	for _, field := range fields {
		if value, ok := config[field]; ok {
			values = append(values, strings.TrimSuffix(strings.ToLower(fmt.Sprint(value)), "."))
		}
	}
	return digest(org, values...)
}

func digest(org identity.OrgID, values ...string) Target {
	h := sha256.New()
	// with its length: different lists are encoded differently
	for _, s := range append([]string{string(org)}, values...) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return Target(h.Sum(nil))
}
