package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/accounts"
	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Sweep removes rows that are no longer needed: those that expire, events that are older than eventsKept, and
// workspaces that can no longer be restored. It works in small transactions, so that other writers do not have to wait.
// An error in one kind of rows does not keep the others.
func (store *Store) Sweep(ctx context.Context, now time.Time, eventsKept time.Duration) error {
	var failures []error
	note := func(name string, err error) {
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, area := range slices.Backward(areas) {
		for _, e := range area.Expiries {
			note(e.Table, store.remove(ctx, e.Table, e.Key, e.Condition, db.Micros(now.Add(-e.Kept))))
		}
	}
	for _, area := range areas {
		if area.Sweep != nil {
			note(area.Name, area.Sweep(ctx, store.DB, now, eventsKept))
		}
	}
	note("workspaces", store.purgeWorkspaces(ctx, now.Add(-account.RestoreWithin-db.RestoreMargin)))
	return errors.Join(failures...)
}

// tablesOf has the tables of all areas by the table that their rows belong to, in the order of their removal.
var tablesOf = func() map[string][]db.Table {
	tables := map[string][]db.Table{}
	for _, area := range slices.Backward(areas) {
		for _, t := range area.Tables {
			tables[t.Of] = append(tables[t.Of], t)
		}
	}
	return tables
}()

// remove removes the rows of a table that meet a condition, in batches, and before each of them the rows that belong to
// it.
func (store *Store) remove(ctx context.Context, table, key, condition string, args ...any) error {
	children := tablesOf[table]
	if len(children) == 0 {
		return store.InBatches(ctx, `DELETE FROM `+table+` WHERE (`+key+`) IN (SELECT `+key+` FROM `+table+` WHERE `+
			condition+` LIMIT ?)`, args...)
	}
	for {
		var ids []string
		if err := store.List(ctx, &ids, `SELECT `+key+` FROM `+table+` WHERE `+condition+` LIMIT ?`,
			append(args, db.SweepBatch)...); err != nil || len(ids) == 0 {
			return err
		}
		for _, child := range children {
			owners := &db.Conditions{}
			db.OneOf(owners, child.Owner, ids)
			if err := store.remove(ctx, child.Name, child.Key, owners.SQL(), owners.Args()...); err != nil {
				return err
			}
		}
		conditions := db.NewConditions(condition, args...)
		db.OneOf(conditions, key, ids)
		if count, err := store.Exec(ctx, `DELETE FROM `+table+` WHERE `+conditions.SQL(),
			conditions.Args()...); count == 0 || err != nil {
			return err
		}
	}
}

// purgeWorkspaces removes workspaces that were deleted before a time, with all their content, and the programs that
// were members only there. Their events stay as long as all events do. An error in one workspace does not keep the
// others.
func (store *Store) purgeWorkspaces(ctx context.Context, end time.Time) error {
	var ids []identity.WorkspaceID
	if err := store.List(ctx, &ids, `SELECT id FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?`,
		db.Micros(end)); err != nil {
		return err
	}
	var failures []error
	for _, id := range ids {
		if err := store.purgeWorkspace(ctx, id); err != nil {
			failures = append(failures, fmt.Errorf("workspace %s: %w", id, err))
		}
	}
	return errors.Join(failures...)
}

// purgeWorkspace deletes the rows that belong to a workspace, and the workspace itself last.
func (store *Store) purgeWorkspace(ctx context.Context, id identity.WorkspaceID) error {
	remove := func(tables []db.Table) error {
		for _, t := range tables {
			if err := store.remove(ctx, t.Name, t.Key, t.Owner+` = ?`, id); err != nil {
				return err
			}
		}
		return nil
	}
	if err := remove(tablesOf["workspaces"]); err != nil {
		return err
	}
	if err := store.Accounts().RemovePrograms(ctx, id); err != nil {
		return err
	}
	if err := remove(accounts.PeopleTables); err != nil {
		return err
	}
	_, err := store.Exec(ctx, `DELETE FROM workspaces WHERE id = ?`, id)
	return err
}

// Overdue is what the sweep should have removed a day ago: it did not run, or failed.
type Overdue struct {
	Workspaces int `db:"workspaces"`
	Prompts    int `db:"prompts"`
	Chats      int `db:"chats"`
}

// Overdue returns how many deleted workspaces and templates are kept a day longer than they can be restored.
func (store *Store) Overdue(ctx context.Context, now time.Time) (o Overdue, err error) {
	const day = 24 * time.Hour
	workspacesBefore, templatesBefore := db.Micros(now.Add(-account.RestoreWithin-day)),
		db.Micros(now.Add(-access.RestoreWithin-day))
	_, err = store.Get(ctx, &o, `SELECT
		(SELECT COUNT(*) FROM workspaces WHERE deleted_at > 0 AND deleted_at < ?) AS workspaces,
		(SELECT COUNT(*) FROM prompt_templates WHERE deleted_at > 0 AND deleted_at < ?) AS prompts,
		(SELECT COUNT(*) FROM chat_templates WHERE deleted_at > 0 AND deleted_at < ?) AS chats`,
		workspacesBefore, templatesBefore, templatesBefore)
	return o, err
}

// ClaimSweep reports whether the caller is the one to sweep now: no node has begun to within the interval.
func (store *Store) ClaimSweep(ctx context.Context, now time.Time, interval time.Duration) (bool, error) {
	// a time in the future was stored by a clock that was wrong
	count, err := store.Exec(ctx, `UPDATE keyring SET swept_at = ? WHERE one = 1 AND (swept_at <= ? OR swept_at > ?)`,
		db.Micros(now), db.Micros(now.Add(-interval)), db.Micros(now))
	return count > 0, err
}
