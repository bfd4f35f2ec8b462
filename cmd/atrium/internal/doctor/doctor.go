// Package doctor checks a deployment without changing it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/adapters/sqlstore/jobs"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/node"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/ports"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Warning bool   `json:"warning,omitempty"` // OK, but probably not intended
	Note    string `json:"note"`
}

// Diagnose runs the checks in order, as far as the results allow, and changes nothing: it reports what a start would
// do. createPerson is the command that creates a person, for hints.
func Diagnose(ctx context.Context, c configs.Config, createPerson string) []Finding {
	findings := []Finding{Passed("configuration", "valid, with %s", node.Count(len(c.Orgs), "organisation")),
		checkEntry(c), checkData(c), checkChildren(c), checkPlans(c)}
	ring, err := seal.Open(c.Keyring)
	noKeys := errors.Is(err, seal.ErrNoKeyFile)
	if err != nil && !noKeys {
		findings = append(findings, Failed("keyring", err))
	}
	db, closeDB, err := sqlstore.Inspect(ctx, c.Database, node.OpenPool)
	if errors.Is(err, fs.ErrNotExist) {
		db, err = nil, nil
	}
	if err != nil {
		return append(findings, Failed("database", err))
	}
	pending := 0
	if db != nil {
		defer closeDB()
		if pending, err = db.Pending(ctx); err != nil {
			return append(findings, Failed("database", err))
		}
	}
	switch {
	case db == nil:
		findings = append(findings, Passed("database", "none yet: serve makes it"))
	case pending > 0:
		findings = append(findings, Passed("database", "%s, %s pending, to be applied by serve or migrate", db.Engine(),
			node.Count(pending, "migration")))
	default:
		findings = append(findings, Passed("database", "%s, schema up to date", db.Engine()))
	}
	if db == nil || pending > 0 {
		db = nil // an older schema cannot be queried
	}
	switch {
	case noKeys && db == nil:
		findings = append(findings, Passed("keyring", "no key file yet: serve makes %s", c.Keyring.KeyFile))
	case ring != nil || noKeys:
		findings = append(findings, checkKeyring(ctx, c, ring, db))
	}
	if db == nil {
		return findings
	}
	if db.Engine() == "postgres" {
		findings = append(findings, checkConnections(ctx, c, db))
	}
	return append(findings, checkClock(ctx, db), checkPeople(ctx, db, createPerson), checkRules(ctx, c, db),
		checkJobs(ctx, db), checkRemovals(ctx, db), checkServiceKeys(ctx, db))
}

// checkKeyring checks that a keyring opens the secrets of the database. The keyring is nil if there is no key file.
func checkKeyring(ctx context.Context, c configs.Config, ring *seal.Keyring, db *sqlstore.Store) Finding {
	var check []byte
	if db != nil {
		var err error
		if check, err = db.SealedBy(ctx); err != nil {
			return Failed("keyring", err)
		}
	}
	switch {
	case ring == nil && check == nil:
		return Passed("keyring", "no key file yet: serve makes %s", c.Keyring.KeyFile)
	case ring == nil:
		return Failed("keyring", node.KeyFileMissing(c))
	case check == nil:
		return Passed("keyring", "%s", node.Count(len(ring.Keys()), "key"))
	}
	if err := ring.Verify(check); err != nil {
		return Failed("keyring", err)
	}
	return Passed("keyring", "%s; opens what the database holds", node.Count(len(ring.Keys()), "key"))
}

// checkConnections compares the connections that the nodes may open with PostgreSQL's limits.
func checkConnections(ctx context.Context, c configs.Config, db *sqlstore.Store) Finding {
	found, err := db.ServerLimits(ctx)
	if err != nil {
		return Failed("connections", err)
	}
	limit, name := found.Allowed()
	connections, nodes := c.Database.PerNode(), max(1, found.Nodes)
	note := fmt.Sprintf("PostgreSQL allows %d (%s); each node opens at most %d, which is room for %s; running "+
		"now: %d", limit, name, connections, node.Count(limit/connections, "node"), found.Nodes)
	if nodes*connections > limit {
		return Finding{Check: "connections", OK: true, Warning: true,
			Note: note + ": lower database.max_conns, or raise " +
				"the limit; until then requests wait for connections that their node has"}
	}
	return Passed("connections", "%s", note)
}

// checkClock compares the clock of this machine with the database's.
func checkClock(ctx context.Context, db *sqlstore.Store) Finding {
	offset, isKnown, err := node.ClockOffset(ctx, db)
	switch {
	case err != nil:
		return Failed("clock", err)
	case db.Engine() == "sqlite":
		return Passed("clock", "SQLite uses the clock of this machine")
	case !isKnown:
		return Finding{Check: "clock", OK: true, Warning: true, Note: "the database took too long to tell its time"}
	case node.ClockIsWrong(offset):
		return Finding{Check: "clock", OK: true, Warning: true, Note: fmt.Sprintf(
			"this machine's clock is ahead of the database's by %s: check NTP on both", offset.Round(time.Millisecond))}
	}
	return Passed("clock", "differs from the database's by %s", offset.Abs().Round(time.Millisecond))
}

func checkPeople(ctx context.Context, db *sqlstore.Store, createPerson string) Finding {
	empty, err := db.Empty(ctx)
	switch {
	case err != nil:
		return Failed("people", err)
	case empty:
		return Passed("people", "none yet: %s --email EMAIL --role owner", createPerson)
	}
	return Passed("people", "at least one exists")
}

// checkJobs reports the state of the queue. Failed jobs, and jobs that wait because no server runs, do not fail the
// check.
func checkJobs(ctx context.Context, db *sqlstore.Store) Finding {
	now := time.Now()
	b, err := jobs.NewQueue(db.DB).Backlog(ctx, now)
	if err != nil {
		return Failed("jobs", err)
	}
	note := fmt.Sprintf("%d queued, %d running", b.Queued, b.Running)
	if !b.Due.IsZero() {
		note += fmt.Sprintf(", the first has been due for %s: serve or work runs them",
			now.Sub(b.Due).Round(time.Second))
	}
	if b.Failed > 0 {
		note += fmt.Sprintf("; %d failed permanently within a week, last %s of %s (%s) at %s",
			b.Failed, b.LastFailed.Kind, b.LastFailed.Subject, b.LastFailure, b.LastFailedAt.Format(time.RFC3339))
	}
	return Finding{Check: "jobs", OK: true, Note: note}
}

// checkRemovals reports deleted objects that the hourly removal should have removed.
func checkRemovals(ctx context.Context, db *sqlstore.Store) Finding {
	found, err := db.Overdue(ctx, time.Now())
	switch {
	case err != nil:
		return Failed("removals", err)
	case found == sqlstore.Overdue{}:
		return Passed("removals", "no deleted object is overdue")
	}
	return Finding{Check: "removals", OK: true, Warning: true, Note: fmt.Sprintf(
		"%s, %s and %s should have been removed more than a day ago: look for \"old records were not removed\" in the "+
			"log of serve", node.Count(found.Workspaces, "deleted workspace"),
		node.Count(found.Prompts, "prompt template"), node.Count(found.Chats, "chat template"))}
}

// namedKeys is how many service keys a finding names.
const namedKeys = 20

// checkServiceKeys reports service keys with a role that the person who is responsible for them has lost: before
// release 0.3.0, only a removal ended keys.
func checkServiceKeys(ctx context.Context, db *sqlstore.Store) Finding {
	ids, count, err := db.Accounts().KeysAbove(ctx, time.Now(), namedKeys)
	switch {
	case err != nil:
		return Failed("service keys", err)
	case count == 0:
		return Passed("service keys", "none has a higher role than the person who is responsible for it")
	}
	note := node.Count(count, "service key") + " above the role of the person who is responsible for it:"
	for _, id := range ids {
		note += " " + string(id)
	}
	if count > len(ids) {
		note += fmt.Sprintf(" and %d more", count-len(ids))
	}
	return Finding{Check: "service keys", OK: true, Warning: true, Note: note + ". An admin ends a key with " +
		"DELETE /api/api-keys/KEY_ID, or takes it over with POST /api/api-keys/KEY_ID/rotate"}
}

// checkRules checks that the workspaces that claim rules name exist.
func checkRules(ctx context.Context, c configs.Config, db *sqlstore.Store) Finding {
	ids, err := db.Orgs(ctx)
	if err != nil {
		return Failed("claim rules", err)
	}
	missing, err := node.MissingWorkspaces(ctx, c.Directory(func(slug string) identity.OrgID { return ids[slug] }),
		db.Stores().Workspaces)
	if err != nil {
		return Failed("claim rules", err)
	}
	if len(missing) > 0 {
		return Finding{Check: "claim rules", OK: true, Warning: true, Note: strings.Join(missing, "; ")}
	}
	return Passed("claim rules", "every workspace that they name exists")
}

// Passed returns a finding for a check that passed.
func Passed(check, format string, args ...any) Finding {
	return Finding{Check: check, OK: true, Note: fmt.Sprintf(format, args...)}
}

// Failed returns a failed check. It removes the name of the check from the beginning of the error.
func Failed(check string, err error) Finding {
	return Finding{Check: check, Note: strings.TrimPrefix(err.Error(), check+": ")}
}

// checkData checks that only its owner can read the data directory, and that its disk accepts writes.
func checkData(c configs.Config) Finding {
	info, err := os.Stat(c.Data)
	switch {
	case os.IsNotExist(err):
		return Passed("data directory", "none yet: serve makes %s", c.Data)
	case err != nil:
		return Failed("data directory", err)
	case info.Mode().Perm()&0o077 != 0:
		return Failed("data directory", fmt.Errorf("%s can be read by others: chmod 700 %s", c.Data, c.Data))
	}
	if err := c.Database.CheckDisk(); err != nil {
		return Failed("data directory", errors.New(strings.TrimPrefix(err.Error(), ports.ErrUnavailable.Error()+": ")))
	}
	return Passed("data directory", "%s", c.Data)
}

// checkPlans checks that no plan gives less than no plan.
func checkPlans(c configs.Config) Finding {
	if all := c.Shortfalls(); len(all) > 0 {
		return Finding{Check: "plans", OK: true, Warning: true, Note: strings.Join(all, "; ")}
	}
	return Passed("plans", "none gives less than no plan")
}

// checkChildren checks whether the kernel has all parts of the confinement of child processes.
func checkChildren(c configs.Config) Finding {
	missing := confine.Missing()
	switch {
	case len(missing) == 0:
		return Passed("children", "the kernel has Landlock and seccomp")
	case c.Children.Confine == configs.Strict:
		return Failed("children", node.NotConfined(missing))
	}
	return Finding{Check: "children", OK: true, Warning: true,
		Note: "this system lacks: " + strings.Join(missing, "; ")}
}
