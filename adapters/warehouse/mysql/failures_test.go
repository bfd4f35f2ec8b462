package mysql_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
)

// failures stages all that MariaDB can fail with; as changes the reader's credential.
func failures(targetAs func(map[string]any) func(*testing.T) ports.Target) []warehouses.Failure {
	return slices.Concat(warehouses.HostFailures(targetAs), warehouses.WireFailures(targetAs), []warehouses.Failure{
		{Name: "a server without TLS", Code: connection.TLSUnsupported, Step: connection.TLS,
			Target: func(t *testing.T) ports.Target {
				return shared(t).target(t, map[string]any{"port": small(t).port})
			}},
		{Name: "a user who must use TLS and is refused with the usual error", Code: connection.TLSRequired,
			Step:   connection.Authenticate,
			Target: targetAs(map[string]any{"username": "only_tls", "tls": "disable"})},
		{Name: "a wrong password of a user who must use TLS", Code: connection.AuthFailed,
			Step:   connection.Authenticate,
			Target: targetAs(map[string]any{"username": "only_tls", "tls": "disable", "password": "another"})},
		{Name: "a user who is locked out", Code: connection.AuthRejected, Step: connection.Authenticate,
			Target: targetAs(map[string]any{"username": "locked"})},
		{Name: "a user who can sign in only through a socket", Code: connection.AuthRejected,
			Step: connection.Authenticate, Target: targetAs(map[string]any{"username": "local"})},
		{Name: "an unknown database, for a user who may see all", Code: connection.DatabaseNotFound,
			Step:   connection.Database,
			Target: targetAs(map[string]any{"username": "auditor", "database": "nothing"})},
		{Name: "an unknown database", Code: connection.DatabaseDeniedOrMissing, Step: connection.Database,
			Target: targetAs(map[string]any{"database": "nothing"})},
		{Name: "a user who may read no table", Code: connection.PermissionDenied, Step: connection.Read,
			Target: targetAs(map[string]any{"username": "stranger"})},
		{Name: "a table that the user may fill and not read", Code: connection.PermissionDenied,
			Target: targetAs(map[string]any{"username": "stranger"}), Call: warehouses.Previewing(ref("empty"))},
		{Name: "a table that the user cannot see", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("what_is_not_read"))},
		{Name: "a table in other letters", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(ref("Kinds"))},
		{Name: "a table of the system", Code: connection.TableNotFound, Target: targetAs(nil),
			Call: warehouses.Previewing(connection.TableRef{Schema: "information_schema", Name: "TABLES"})},
		{Name: "a view with a subquery of several rows", Code: connection.TableUnreadable, State: "21000",
			Target: targetAs(nil), Call: warehouses.Previewing(ref("several"))},
		{Name: "a view whose function signals", Code: connection.TableUnreadable, State: "45000", Target: targetAs(nil),
			Call: warehouses.Previewing(ref("refusing"))},
		{Name: "a view that writes", Code: connection.PermissionDenied, Target: targetAs(nil),
			Call: func(ctx context.Context, w ports.Warehouse, target ports.Target) error {
				_, err := w.Preview(ctx, target, connection.PreviewQuery{Table: ref("writing"), Rows: 1})
				var n int
				if s, failedErr := start(); failedErr != nil ||
					s.admin.QueryRow(`SELECT count(*) FROM shop.written`).Scan(&n) != nil || n != 0 {
					return fmt.Errorf("%d rows were written, %v", n, err)
				}
				return err
			}},
		{Name: "a user without connections left", Code: connection.TooManyConnections, Step: connection.Authenticate,
			Target: crowdedUser},
		{Name: "a full server", Code: connection.TooManyConnections, Step: connection.Authenticate, Target: fullServer},
		{Name: "a view that takes too long", Code: connection.QueryTimeout, Target: func(t *testing.T) ports.Target {
			target := shared(t).target(t, nil)
			target.Limits.Statement = 50 * time.Millisecond
			return target
		}, Call: warehouses.Previewing(ref("slow"))},
		{Name: "an answer that is larger than allowed", Code: connection.ResponseTooLarge,
			Target: func(t *testing.T) ports.Target {
				target := shared(t).target(t, nil)
				target.Limits.Bytes = 16 << 10
				return target
			}, Call: warehouses.Previewing(ref("wide"))},
		{Name: "a user without queries left", Code: connection.QuotaExceeded, Step: connection.Read,
			Target: targetAs(map[string]any{"username": "thrifty"})},
	})
}
