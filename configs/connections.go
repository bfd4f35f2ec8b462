package configs

import (
	"fmt"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// readsTenantFiles reports whether this is a deployment with only one org, on its own disk. Only there may
// tenants read SQLite files, since every workspace can read all files in the folder of warehouses.
func (c *Config) readsTenantFiles() bool {
	return len(c.Orgs) == 1 && strings.HasPrefix(c.Database.URL.Reveal(), "sqlite:")
}

// connectionKinds are the kinds of warehouse that an org offers.
func (c *Config) connectionKinds(o Org) []string {
	if len(o.ConnectionKinds) > 0 {
		return o.ConnectionKinds
	}
	var all []string
	for _, d := range connection.Kinds() {
		if d.Kind != connection.SQLite || c.readsTenantFiles() {
			all = append(all, string(d.Kind))
		}
	}
	return all
}

func (c *Config) validateConnections(found *problems) {
	l := c.Connections.ProbeLimits
	inRange(found, "connections.probe_limits.workspace_per_minute", l.WorkspacePerMinute, 1, 10_000, "1 to 10000")
	inRange(found, "connections.probe_limits.target_per_hour", l.TargetPerHour, 1, 10_000, "1 to 10000")
	p := c.Connections.PreviewLimits
	inRange(found, "connections.preview_limits.workspace_per_minute", p.WorkspacePerMinute, 1, 100_000, "1 to 100000")
	inRange(found, "connections.preview_limits.target_per_hour", p.TargetPerHour, 1, 100_000, "1 to 100000")
	inRange(found, "connections.refresh_interval", c.Connections.RefreshInterval, 0, time.Hour, "0s to 1h")
	var kinds []string
	for _, d := range connection.Kinds() {
		kinds = append(kinds, string(d.Kind))
	}
	for i, o := range c.Orgs {
		lines := map[string]string{}
		for j, kind := range o.ConnectionKinds {
			key := fmt.Sprintf("orgs[%d].connection_kinds[%d]", i, j)
			oneOf(found, key, kind, kinds...)
			noteTaken(found, lines, kind, key)
			if connection.Kind(kind) == connection.SQLite && !c.readsTenantFiles() {
				found.add(key, "must not be sqlite: that is for a single org whose own database is SQLite, since its "+
					"files are every workspace's to read")
			}
		}
	}
}
