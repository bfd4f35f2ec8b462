package contract

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

func connectionsListed(t *testing.T, a Adapter) {
	ctx := t.Context()
	team, other := fixture.NewTeam(t, a.Stores, a.Orgs[0]), fixture.NewTeam(t, a.Stores, a.Orgs[0])
	by, ws := team.Member, team.Workspace.ID
	var newConnections []connection.Connection // oldest first
	for _, change := range []func(c *connection.Connection){
		func(*connection.Connection) {},
		func(c *connection.Connection) {
			c.Config = json.RawMessage(`{"database":"1:é🍵\u003c\"\\","port":12345678901234567890,"ssh":false,"x":null}`)
			c.Secrets, c.Fingerprint, c.Server = nil, "", connection.Server{}
		},
		func(c *connection.Connection) {
			c.Status, c.Failed, c.FailedAt, c.Failures = connection.Failing, connection.TLSUnsupported, fixture.At, 7
			c.Checks = connection.FailedAt(connection.TLS, connection.TLSUnsupported).Checks
			c.Checks[3].Took, c.Checks[3].Answered = 1234567*time.Microsecond, connection.ServicePostgres
			c.Server = connection.Server{Product: `"3:x" é`, Version: " 15 ", CanWrite: true}
		},
		func(c *connection.Connection) {
			c.Name, c.Checks, c.Secrets = `1:é "x"\`, nil, []string{"password", `a "b"`, "é"}
		},
		func(c *connection.Connection) { must(t, c.Revoke(by, nil)) },
		func(c *connection.Connection) {
			must(t, c.Revoke(by, nil))
			must(t, c.Erase(by))
		},
	} {
		c, err := a.Connections.Update(ctx, ws, fixture.Connection(t, a.Stores, by).ID,
			func(c *connection.Connection, _ int) error {
				change(c)
				return nil
			})
		must(t, err)
		newConnections = append(newConnections, *c)
	}
	fixture.Source(t, a.Stores, by, fixture.SheetReading())
	fixture.Source(t, a.Stores, other.Member,
		fixture.TableReading(fixture.Connection(t, a.Stores, other.Member).ID))

	// The oldest connection is read by one source, the next two by four each, and the others by none.
	var proxies []source.Summary // oldest first
	statuses := map[source.Status]int{}
	for i, change := range []func(s *source.Source){
		func(*source.Source) {},
		func(s *source.Source) { s.Name, s.Mapping = `2:"é🍵"\`, nil },
		func(s *source.Source) { s.Paused = source.ConnectionRevoked },
		func(s *source.Source) { s.Failure = &source.Failure{Code: "query_timeout", Transient: true} },
		func(s *source.Source) {
			s.Failure, s.Failures = &source.Failure{Code: "query_timeout", Transient: true}, 20
		},
		func(s *source.Source) { s.Failure = &source.Failure{Code: "table_not_found"} },
		func(s *source.Source) { s.Drift.Level = source.Renamed },
		func(s *source.Source) { s.Drift.Level = source.Breaking },
		func(s *source.Source) { s.Drift.Level = source.Additive },
	} {
		s, err := a.Sources.Update(ctx, ws,
			fixture.Source(t, a.Stores, by, fixture.TableReading(newConnections[(i+3)/4].ID)).ID,
			func(s *source.Source) error {
				change(s)
				return nil
			})
		must(t, err)
		proxies = append(proxies, s.Summary())
		statuses[s.Status()]++
	}
	same(t, "statuses", statuses, map[source.Status]int{source.Active: 3, source.Unmapped: 1, source.Paused: 1,
		source.Failing: 2, source.Drifted: 2})

	slices.Reverse(newConnections)
	slices.Reverse(proxies)
	connections, sources, err := a.Connections.List(ctx, ws)
	must(t, err)
	same(t, "connections", connections, newConnections)
	same(t, "sources", sources, proxies)
	for _, c := range newConnections {
		solo, err := a.Connections.Get(ctx, ws, c.ID)
		must(t, err)
		same(t, "one alone", *solo, c)
		owners, err := a.Sources.ListThrough(ctx, ws, c.ID)
		must(t, err)
		same(t, "sources through one", owners, slices.DeleteFunc(slices.Clone(proxies),
			func(s source.Summary) bool { return s.Connection != c.ID }))
	}
	empty, sources, err := a.Connections.List(ctx, fixture.NewTeam(t, a.Stores, a.Orgs[0]).Workspace.ID)
	must(t, err)
	same(t, "in an empty workspace", len(empty)+len(sources), 0)
}
