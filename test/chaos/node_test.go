package chaos

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/services"
)

const patience = program.Patience

// deploy creates a deployment whose connections may reach the tests' servers, and whose limits do not slow down any
// load. settings are further environment variables.
func deploy(t *testing.T, database string, settings ...string) *program.Deployment {
	t.Helper()
	return deployOrg(t, database, "slug: default", settings...)
}

// deployOrg is deploy with further settings of the org, as members of a YAML object.
func deployOrg(t *testing.T, database, org string, settings ...string) *program.Deployment {
	t.Helper()
	return program.Deploy(t, database, "orgs: [{"+org+", egress: {allow: [127.0.0.0/8, '::1']}}]\n",
		slices.Concat([]string{
			"ATRIUM_SERVER_RATE_LIMIT_PER_MINUTE=1000000", "ATRIUM_SERVER_RATE_LIMIT_BURST=1000000",
			"ATRIUM_CONNECTIONS_PROBE_LIMITS_WORKSPACE_PER_MINUTE=10000",
			"ATRIUM_CONNECTIONS_PROBE_LIMITS_TARGET_PER_HOUR=10000",
		}, unreleased, settings)...)
}

// unreleased are settings that the last release does not know.
var unreleased = []string{
	"ATRIUM_SERVER_CONCURRENCY_PER_CALLER=1000", "ATRIUM_SERVER_CONCURRENCY_PER_WORKSPACE=1000",
	"ATRIUM_SERVER_DRAIN=0s",
}

// asReleased returns d without the settings that the last release refuses.
func asReleased(d *program.Deployment) *program.Deployment {
	old := *d
	old.Env = slices.DeleteFunc(slices.Clone(d.Env),
		func(variable string) bool { return slices.Contains(unreleased, variable) })
	return &old
}

// on is deploy with a fresh database of an engine.
func on(t *testing.T, engine string, settings ...string) *program.Deployment {
	t.Helper()
	if engine == postgres {
		return deploy(t, services.Postgres(t), settings...)
	}
	return deploy(t, "", settings...)
}
