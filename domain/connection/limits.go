package connection

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// ProbeLimits keep probes from being used to scan ports or to guess passwords.
type ProbeLimits struct {
	WorkspacePerMinute int // from one workspace, to whatever target
	TargetPerHour      int // to one target, from all workspaces of an org together
}

// PreviewLimits keep previews, and whatever else reads a table or a sheet because a caller asks for it, from being
// used to keep hosts busy. They permit bursts: so many calls at once, and so many within the time on average.
type PreviewLimits struct {
	WorkspacePerMinute int // from one workspace, of whatever target
	TargetPerHour      int // of one target, from all workspaces of an org together
}

// Admit notes a preview at now with both, or answers with ErrPreviewRateLimited how long to wait: then neither
// notes it. All that either remembers is until when its calls would have lasted, had they come evenly spaced.
func (l PreviewLimits) Admit(workspace, target *Attempts, now time.Time) error {
	forWorkspace, wait := workspace.spaced(l.WorkspacePerMinute, time.Minute, now)
	atTarget, longer := target.spaced(l.TargetPerHour, time.Hour, now)
	if wait = max(wait, longer); wait > 0 {
		return ErrPreviewRateLimited.After(wait)
	}
	*workspace, *target = forWorkspace, atTarget
	return nil
}

// spaced returns what is to be remembered with one more call, and how long to wait before that may be made. This
// is the generic cell rate algorithm.
func (a *Attempts) spaced(limit int, window time.Duration, now time.Time) (next Attempts, wait time.Duration) {
	until := now
	if len(*a) > 0 && (*a)[0].After(now) {
		until = (*a)[0]
	}
	until = until.Add(window / time.Duration(limit))
	return Attempts{until}, until.Sub(now) - window
}

// Effort is what limits count apart.
type Effort string

// The efforts.
const (
	Probing    Effort = "probe"
	Previewing Effort = "preview"
)

// Attempts are when attempts were made, oldest first, as far as a limit needs to know.
type Attempts []time.Time

// Admit notes a probe at now with both, or answers with ErrProbeRateLimited how long to wait: then
// neither notes it. What is older than its limit looks back is forgotten.
func (l ProbeLimits) Admit(workspace, target *Attempts, now time.Time) error {
	wait := max(workspace.wait(l.WorkspacePerMinute, time.Minute, now), target.wait(l.TargetPerHour, time.Hour, now))
	if wait > 0 {
		return ErrProbeRateLimited.After(wait)
	}
	*workspace, *target = append(*workspace, now), append(*target, now)
	return nil
}

// wait forgets what is older than window, and returns how long it takes until fewer than limit are
// left.
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

// Target stands for what a credential reaches, as the limit of probes counts it.
type Target [sha256.Size]byte

// Target returns what c reaches for org: its host and port, whatever the database, user and
// workspace; for kinds without a host, what they have in its place.
func (c Credential) Target(org identity.OrgID) Target { return target(org, c.kind, c.config) }

// Target returns what c reaches, as Credential.Target does.
func (c *Connection) Target() Target { return target(c.Org, c.Kind, c.Config) }

// HostTarget returns the Target for something that org reads from a place that is no connection's, such as the
// host of a sheet.
func HostTarget(org identity.OrgID, host string) Target {
	return digest(org, "host", strings.TrimSuffix(strings.ToLower(host), "."))
}

func target(org identity.OrgID, k Kind, config map[string]any) Target {
	fields := k.fields(network)
	if len(fields) == 0 {
		fields = k.fields(database)
	}
	var values []string
	for _, field := range fields {
		if value, ok := config[field]; ok {
			values = append(values, strings.TrimSuffix(strings.ToLower(fmt.Sprint(value)), "."))
		}
	}
	return digest(org, values...)
}

func digest(org identity.OrgID, values ...string) Target {
	h := sha256.New()
	for _, s := range append([]string{string(org)}, values...) { // with its length, so that two texts never read as one
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return Target(h.Sum(nil))
}
