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

// Attempts are when probes were made, oldest first.
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

func target(org identity.OrgID, k Kind, config map[string]any) Target {
	fields := k.fields(network)
	if len(fields) == 0 {
		fields = k.fields(database)
	}
	h := sha256.New()
	put := func(s string) { // with its length, so that two texts never read as one
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	put(string(org))
	for _, field := range fields {
		if value, ok := config[field]; ok {
			put(strings.TrimSuffix(strings.ToLower(fmt.Sprint(value)), "."))
		}
	}
	return Target(h.Sum(nil))
}
