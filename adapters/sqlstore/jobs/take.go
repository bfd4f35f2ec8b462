package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/job"
)

// turn describes a tenant's waiting jobs. A tenant is a workspace, or an org for jobs without a workspace.
type turn struct {
	Tenant string `db:"tenant"`
	Urgent bool   `db:"urgent"` // some of the waiting jobs are urgent
	Busy   bool   `db:"busy"`   // a job was postponed and is not due yet: until then only urgent ones start
}

// demand is a worker's request for jobs.
type demand struct {
	now    time.Time
	expiry time.Time // of the leases
	kinds  []job.Kind
	urgent []job.Kind // the urgent ones of kinds
	n      int        // the maximum number of jobs
}

// Take implements ports.JobQueue. It first finds the next tenants with a read, since usually there is nothing to do.
// On SQLite a read neither waits for a writer nor blocks one.
func (q *Queue) Take(
	ctx context.Context, now time.Time, lease time.Duration, kinds []job.Kind, n int,
) ([]job.Job, error) {
	d := demand{now: now, expiry: now.Add(lease), kinds: kinds, n: n}
	if len(d.kinds) == 0 {
		return nil, nil
	}
	d.urgent = slices.DeleteFunc(slices.Clone(d.kinds), func(k job.Kind) bool { return !k.Urgent() })
	turns, err := q.db.nextTenants(ctx, d)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	var batch []job.Job
	err = q.db.inTx(ctx, func(tx *Store) (err error) {
		batch, err = tx.takeJobs(ctx, d, turns)
		return err
	})
	return batch, err
}

// nextTenants lists the tenants whose jobs are next: fewest running jobs first, and with as many, the longest without a
// start first. Some may have no job that can be taken, so it returns more than requested.
func (store *Store) nextTenants(ctx context.Context, d demand) (turns []turn, err error) {
	// Without || '' SQLite would use an index by tenant and scan all jobs instead of the few that are due.
	urgent := `0`
	args := []any{}
	if len(d.urgent) > 0 {
		urgent = `MAX(CASE WHEN kind IN (` + db.Placeholders(len(d.urgent)) + `) THEN 1 ELSE 0 END)`
		args = db.AppendAll(args, d.urgent)
	}
	args = db.AppendAll(append(args, db.Micros(d.now)), d.kinds)
	err = store.List(ctx, &turns, `
		WITH due AS (
			SELECT tenant || '' AS tenant, MIN(due_at) AS first, `+urgent+` AS urgent FROM jobs
			WHERE ended_at = 0 AND due_at <= ? AND kind IN (`+db.Placeholders(len(d.kinds))+`) GROUP BY tenant || ''),
		waiting AS (
			SELECT d.tenant, d.first, d.urgent,
				(SELECT COUNT(*) FROM jobs r WHERE r.tenant = d.tenant AND r.ended_at = 0 AND r.state = 'running'
				AND r.due_at > ?) AS running,
				(SELECT COUNT(*) FROM jobs b WHERE b.tenant = d.tenant AND b.ended_at = 0 AND b.failure = 'busy'
				AND b.due_at > ?) AS busy,
				(SELECT MAX(s.started_at) FROM jobs s WHERE s.tenant = d.tenant) AS began
			FROM due d)
		SELECT tenant, urgent > 0 AS urgent, busy > 0 AS busy FROM waiting WHERE running < ? AND (busy = 0
		OR urgent > 0)
		ORDER BY running, began, first, tenant LIMIT ?`,
		append(args, db.Micros(d.now), db.Micros(d.now), job.PerWorkspace, 2*d.n)...)
	return turns, err
}

// takeJobs takes jobs of tenants in turn: the first one of each, in the order of turns, then the second ones. Only one
// transaction at a time takes a tenant's jobs, and it counts the running ones after it has locked the tenant.
func (store *Store) takeJobs(ctx context.Context, d demand, turns []turn) ([]job.Job, error) {
	turns, err := store.lockTenants(ctx, turns)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	running, err := store.runningJobs(ctx, d, turns)
	if err != nil {
		return nil, err
	}
	var byTurn [job.PerWorkspace][]jobRow
	for _, t := range turns {
		rows, err := store.claimable(ctx, d, t, job.PerWorkspace-running[t.Tenant])
		if err != nil {
			return nil, err
		}
		for i, r := range rows {
			nth := running[t.Tenant] + i
			byTurn[nth] = append(byTurn[nth], r)
		}
		if len(byTurn[0]) >= d.n {
			break
		}
	}
	rows := slices.Concat(byTurn[:]...)
	batch := make([]job.Job, 0, d.n)
	for _, r := range rows[:min(d.n, len(rows))] {
		j, err := store.takeJob(ctx, d, r)
		if err != nil {
			return nil, err
		}
		batch = append(batch, j)
	}
	return batch, nil
}

// claimable lists a tenant's jobs that may be taken, at most n, urgent ones first: queued jobs, unless one of the same
// kind and subject is running, and running jobs whose lease has expired.
func (store *Store) claimable(ctx context.Context, d demand, t turn, n int) (rows []jobRow, err error) {
	if t.Urgent {
		if rows, err = store.claimableOf(ctx, d, t, d.urgent, n); err != nil {
			return nil, err
		}
	}
	if t.Busy || len(rows) >= n || len(d.urgent) == len(d.kinds) {
		return rows, nil
	}
	others, err := store.claimableOf(ctx, d, t, d.kinds, n)
	for _, r := range others {
		if len(rows) < n && !r.Kind.Urgent() {
			rows = append(rows, r)
		}
	}
	return rows, err
}

func (store *Store) claimableOf(ctx context.Context, d demand, t turn, kinds []job.Kind, n int) (rows []jobRow,
	err error) {
	args := db.AppendAll([]any{t.Tenant, db.Micros(d.now)}, kinds)
	err = store.List(ctx, &rows, `
		SELECT t.id, t.kind, t.org_id, t.workspace_id, t.subject, t.state, t.due_at, t.attempt, t.failures, t.failure,
		t.created_at
		FROM jobs t WHERE t.tenant = ? AND t.ended_at = 0 AND t.due_at <= ? AND t.kind IN (`+db.Placeholders(len(kinds))+`)
			AND (t.state = 'running' OR NOT EXISTS (SELECT 1 FROM jobs r WHERE r.workspace_id = t.workspace_id
			AND r.subject = t.subject
				AND r.kind = t.kind AND r.state = 'running' AND r.org_id = t.org_id AND r.ended_at = 0))
		ORDER BY t.due_at, t.id LIMIT ?`+store.Dialect.LockFree, append(args, n)...)
	return rows, err
}

// takeJob begins an attempt at the job in r, which is locked.
func (store *Store) takeJob(ctx context.Context, d demand, r jobRow) (job.Job, error) {
	if r.State == job.Running {
		r.Failures, r.Failure = r.Failures+1, job.Lost
	}
	if r.Failure == job.Busy { // it no longer waits
		r.Failure = ""
	}
	r.Attempt++
	_, err := store.Exec(ctx, `UPDATE jobs SET state = ?, due_at = ?, attempt = ?, failures = ?, failure = ?, started_at =
		? WHERE id = ?`,
		job.Running, db.Micros(d.expiry), r.Attempt, r.Failures, r.Failure, db.Micros(d.now), r.ID)
	return r.job(), err
}

// lockTenants locks the tenants against other takers until the end of the transaction, and returns the tenants that it
// could lock. It does not wait: another transaction is taking the jobs of the other tenants.
func (store *Store) lockTenants(ctx context.Context, turns []turn) (free []turn, err error) {
	if store.Dialect.TryLock == "" { // there is only one writer
		return turns, nil
	}
	for _, t := range turns {
		var ok bool
		if _, err := store.Get(ctx, &ok, store.Dialect.TryLock, "jobs of "+t.Tenant); err != nil {
			return nil, err
		}
		if ok {
			free = append(free, t)
		}
	}
	return free, nil
}

// runningJobs counts the tenants' running jobs with live leases, at most job.PerWorkspace for each tenant.
func (store *Store) runningJobs(ctx context.Context, d demand, turns []turn) (map[string]int, error) {
	args := []any{db.Micros(d.now)}
	for _, t := range turns {
		args = append(args, t.Tenant)
	}
	var rows []struct {
		Tenant string `db:"tenant"`
		Jobs   int    `db:"jobs"`
	}
	err := store.List(ctx, &rows, `SELECT tenant, COUNT(*) AS jobs FROM jobs WHERE ended_at = 0 AND state = 'running'
		AND due_at > ?
		AND tenant IN (`+db.Placeholders(len(turns))+`) GROUP BY tenant`, args...)
	running := map[string]int{}
	for _, r := range rows {
		running[r.Tenant] = min(r.Jobs, job.PerWorkspace)
	}
	return running, err
}
