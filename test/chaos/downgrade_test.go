package chaos

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/internal/program"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestADowngrade starts each release on data that this tree has migrated. The release either serves it, or refuses it
// with a sentence before it changes anything; this tree serves it afterwards in both cases.
func TestADowngrade(t *testing.T) {
	eachRelease(t, func(t *testing.T, old release) {
		onEach(t, func(t *testing.T, engine string) {
			present := suite.Binary(t)
			d := on(t, engine)
			asReleased(d).Start(t, old.binary).Stop(t)
			n := d.Start(t, present)
			l := newLoad(t, d.Owner(t, present, "ann@example.com"), func() *program.Node { return n })
			l.during(func() { l.answers(30) })
			n.Stop(t)
			previous := schemaVersion(t, d)

			ctx, cancel := context.WithTimeout(t.Context(), program.Patience)
			defer cancel()
			command := asReleased(d).Command(old.binary, "migrate")
			boundedCmd := exec.CommandContext(ctx, command.Path, command.Args[1:]...)
			boundedCmd.Dir, boundedCmd.Env, boundedCmd.WaitDelay = command.Dir, command.Env, time.Second
			out, err := boundedCmd.CombinedOutput()
			exit := new(exec.ExitError)
			switch {
			case err == nil:
				asReleased(d).Start(t, old.binary).Stop(t)
			case errors.As(err, &exit) && exit.ExitCode() == 1 &&
				strings.Contains(string(out), "the database belongs to a newer version of Atrium: run that version, "+
					"or restore"):
			default:
				t.Fatalf("%s neither works nor says why: %v: %s", old.tag, err, out)
			}
			t.Logf("%s says: %s", old.tag, out)
			if current := schemaVersion(t, d); current != previous {
				t.Errorf("it has changed the schema from %d to %d", previous, current)
			}

			n = d.Start(t, present)
			l.during(func() { l.answers(30) })
			db := d.Open(t)
			l.ledger.check(t, db)
			whole(t, db)
		})
	})
}

// schemaVersion returns the number of the last migration.
func schemaVersion(t *testing.T, d *program.Deployment) (version int64) {
	t.Helper()
	db := d.Open(t)
	defer db.Close()
	require.NoError(t, db.QueryRow(`SELECT MAX(version_id) FROM goose_db_version`).Scan(&version))
	return version
}
