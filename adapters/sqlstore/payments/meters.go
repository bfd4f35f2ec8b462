package payments

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
)

// Meters stores the usage that applications report.
type Meters struct{ db *Store }

var _ ports.Meters = (*Meters)(nil)

// Add implements ports.Meters. All transactions lock rows in one order, so that they never wait for each other in a
// circle: keys, then sums, then credit packs, then days, each sorted.
func (s *Meters) Add(
	ctx context.Context, by identity.Actor, reports ...payment.UsageReport,
) (outcomes []payment.UsageOutcome, err error) {
	err = s.db.inTx(ctx, func(tx *Store) error {
		tx.DeclareChange(by.Workspace)
		u := usage{tx, by, reports, make([]payment.UsageOutcome, len(reports))}
		if err := u.reserveKeys(ctx); err != nil {
			return err
		}
		if err := u.sum(ctx); err != nil {
			return err
		}
		if err := u.freeKeys(ctx); err != nil {
			return err
		}
		outcomes = u.outcomes
		return u.addDays(ctx)
	})
	return outcomes, err
}

// usage is a call of Add.
type usage struct {
	tx       *Store
	by       identity.Actor
	reports  []payment.UsageReport
	outcomes []payment.UsageOutcome
}

// sorted returns the indices of the reports that match, in the order of cmp.
func (u *usage) sorted(
	match func(n int) bool, compare func(a, b *payment.UsageReport) int,
) (indices []int) {
	for n := range u.reports {
		if match(n) {
			indices = append(indices, n)
		}
	}
	slices.SortStableFunc(indices, func(a, b int) int { return compare(&u.reports[a], &u.reports[b]) })
	return indices
}

// reserveKeys stores the reports' keys. The outcomes of those that were stored before are repeated or refused.
func (u *usage) reserveKeys(ctx context.Context) error {
	previous := -1
	hasKey := func(n int) bool { return u.reports[n].Key != "" }
	byKey := func(a, b *payment.UsageReport) int { return cmp.Compare(a.Key, b.Key) }
	for _, n := range u.sorted(hasKey, byKey) {
		r, out := &u.reports[n], &u.outcomes[n]
		if previous >= 0 && u.reports[previous].Key == r.Key { // of the same call
			out.IsRepeated, out.Refusal = r.Repeats(u.reports[previous].Feature, u.reports[previous].Quantity)
			continue
		}
		previous = n
		isRepeated, err := u.tx.reported(ctx, u.by, *r)
		if errors.Is(err, payment.ErrUsageKeyReused) {
			out.Refusal, err = err, nil
		}
		if err != nil {
			return err
		}
		out.IsRepeated = isRepeated
	}
	return nil
}

// place is a feature and the beginning of its period.
type place struct {
	feature string
	start   int64
}

func placeOf(r *payment.UsageReport) place { return place{r.Feature, db.Micros(r.Period.Start)} }

// sum locks the sums of the features and the credit packs, adds the reports, and stores both.
func (u *usage) sum(ctx context.Context) error {
	sums, places, err := u.lockSums(ctx)
	if err != nil {
		return err
	}
	var features []string
	for _, p := range places {
		features = append(features, p.feature)
	}
	first := &u.reports[0] // all have its account and rules
	packs, err := u.tx.lockedPacks(ctx, u.by.Workspace, first.Account, first.Rules, slices.Compact(features))
	if err != nil {
		return err
	}
	previous, balances := maps.Clone(sums), map[string][]payment.CreditPack{}
	for feature := range packs {
		balances[feature] = slices.Clone(packs[feature])
	}
	for n := range u.reports {
		r, out, p := &u.reports[n], &u.outcomes[n], placeOf(&u.reports[n])
		tally := payment.Tally{Used: sums[p].used, FromPacks: sums[p].fromPacks, Packs: balances[r.Feature]}
		if out.Counts() {
			out.Refusal = tally.Add(r)
		}
		sums[p] = storedSum{tally.Used, tally.FromPacks}
		out.Tally = tally
		out.Packs = r.Rules.Spendable(tally.Packs)
	}
	for _, p := range places {
		if sums[p] == previous[p] {
			continue
		}
		if _, err := u.tx.Exec(ctx, `UPDATE feature_usage SET used = ?, from_packs = ? WHERE workspace_id = ?
			AND period_start = ? AND feature = ?`, sums[p].used, sums[p].fromPacks, u.by.Workspace, p.start,
			p.feature); err != nil {
			return err
		}
	}
	for feature, all := range balances {
		for n := range all {
			if all[n].Used == packs[feature][n].Used {
				continue
			}
			if err := u.tx.savePackUsage(ctx, u.by.Workspace, first.Account, &all[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// storedSum is what was used of a feature in a period, and what of it credit packs have paid for.
type storedSum struct{ used, fromPacks int64 }

// lockSums locks the sums of the reports' features and periods, and returns them and their places, sorted.
func (u *usage) lockSums(ctx context.Context) (map[place]storedSum, []place, error) {
	sums := map[place]storedSum{}
	byPlace := func(a, b *payment.UsageReport) int {
		return cmp.Or(cmp.Compare(a.Feature, b.Feature), a.Period.Start.Compare(b.Period.Start))
	}
	var places []place
	for _, n := range u.sorted(func(int) bool { return true }, byPlace) {
		p := placeOf(&u.reports[n])
		if _, isLocked := sums[p]; isLocked {
			continue
		}
		var row struct {
			Used      int64 `db:"used"`
			FromPacks int64 `db:"from_packs"`
		}
		if _, err := u.tx.Get(ctx, &row, `
			INSERT INTO feature_usage (workspace_id, feature, period_start, used, updated_at) VALUES (?, ?, ?, 0, ?)
			ON CONFLICT (workspace_id, period_start, feature) DO UPDATE SET updated_at = excluded.updated_at
			RETURNING used, from_packs`, u.by.Workspace, p.feature, p.start, db.Micros(u.by.At)); err != nil {
			return nil, nil, err
		}
		sums[p], places = storedSum{row.Used, row.FromPacks}, append(places, p)
	}
	return sums, places, nil
}

// freeKeys deletes the keys of reports that were refused, so that they can be sent again.
func (u *usage) freeKeys(ctx context.Context) error {
	for n := range u.reports {
		r, refusal := &u.reports[n], u.outcomes[n].Refusal
		if r.Key == "" || refusal == nil || errors.Is(refusal, payment.ErrUsageKeyReused) {
			continue
		}
		if _, err := u.tx.Exec(ctx, `DELETE FROM usage_reports WHERE workspace_id = ? AND report_key = ?`,
			u.by.Workspace, r.Key); err != nil {
			return err
		}
		for m := range u.reports { // what repeats it has counted as little
			if u.reports[m].Key == r.Key && u.outcomes[m].IsRepeated {
				u.outcomes[m].IsRepeated, u.outcomes[m].Refusal = false, refusal
			}
		}
	}
	return nil
}

// addDays adds the reports that count to the sums of their days.
func (u *usage) addDays(ctx context.Context) error {
	counts := func(n int) bool { return u.outcomes[n].Counts() }
	dayOf := func(r *payment.UsageReport) int64 { return r.At.Unix() / secondsOfDay }
	byDay := func(a, b *payment.UsageReport) int {
		return cmp.Or(cmp.Compare(a.Feature, b.Feature), cmp.Compare(dayOf(a), dayOf(b)))
	}
	indices := u.sorted(counts, byDay)
	for i := 0; i < len(indices); {
		first, total := &u.reports[indices[i]], int64(0)
		for ; i < len(indices) && byDay(first, &u.reports[indices[i]]) == 0; i++ {
			total += u.reports[indices[i]].Quantity
		}
		if _, err := u.tx.Exec(ctx, `
			INSERT INTO feature_usage_days (workspace_id, feature, day, used, updated_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (workspace_id, feature, day) DO UPDATE SET updated_at = excluded.updated_at,
				used = CASE WHEN feature_usage_days.used > ? - excluded.used THEN ?
					ELSE feature_usage_days.used + excluded.used END`,
			u.by.Workspace, first.Feature, dayOf(first), total, db.Micros(u.by.At), int64(payment.MaxUsageSum),
			int64(payment.MaxUsageSum)); err != nil {
			return err
		}
	}
	return nil
}

// secondsOfDay is the length of a day in UTC, as Unix time counts it.
const secondsOfDay = 24 * 60 * 60

// reported stores a report's key, and returns whether the workspace already had a report with that key.
func (store *Store) reported(ctx context.Context, by identity.Actor, r payment.UsageReport) (bool, error) {
	if _, err := store.Exec(ctx, `DELETE FROM usage_reports WHERE workspace_id = ? AND report_key = ? AND created_at < ?`,
		by.Workspace, r.Key, db.Micros(by.At.Add(-payment.UsageKeyLasts))); err != nil {
		return false, err
	}
	count, err := store.Exec(ctx, `
		INSERT INTO usage_reports (workspace_id, report_key, feature, quantity, created_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (workspace_id, report_key) DO NOTHING`,
		by.Workspace, r.Key, r.Feature, r.Quantity, db.Micros(by.At))
	if err != nil || count > 0 {
		return false, err
	}
	var first struct {
		Feature  string `db:"feature"`
		Quantity int64  `db:"quantity"`
	}
	found, err := store.Get(ctx, &first, `SELECT feature, quantity FROM usage_reports WHERE workspace_id = ?
		AND report_key = ?`, by.Workspace, r.Key)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, db.ErrRaced // the cleanup removed it in between
	}
	return r.Repeats(first.Feature, first.Quantity)
}

// Sums implements ports.Meters.
func (s *Meters) Sums(
	ctx context.Context, ws identity.WorkspaceID, period time.Time,
) (map[string]payment.Tally, error) {
	var rows []struct {
		Feature   string `db:"feature"`
		Used      int64  `db:"used"`
		FromPacks int64  `db:"from_packs"`
	}
	if err := s.db.List(ctx, &rows, `SELECT feature, used, from_packs FROM feature_usage WHERE workspace_id = ?
		AND period_start = ?`, ws, db.Micros(period)); err != nil {
		return nil, err
	}
	sums := make(map[string]payment.Tally, len(rows))
	for _, r := range rows {
		sums[r.Feature] = payment.Tally{Used: r.Used, FromPacks: r.FromPacks}
	}
	return sums, nil
}

// Packs implements ports.Meters.
func (s *Meters) Packs(ctx context.Context, ws identity.WorkspaceID, account string) ([]payment.CreditPack, error) {
	var rows []packRow
	err := s.db.List(ctx, &rows, `SELECT `+packColumns+` FROM credit_packs t WHERE t.workspace_id = ?
		AND t.account = ? AND t.used < t.granted AND NOT t.expired`, ws, account)
	return db.Convert(rows, (*packRow).pack), err
}

// ExpirePacks implements ports.Meters. It locks what Update locks, in the same order.
func (s *Meters) ExpirePacks(
	ctx context.Context, by identity.Actor, account string, rules payment.PackRules,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		c, err := tx.lockedCustomer(ctx, by, account)
		if err != nil {
			return err
		}
		var rows []packRow
		if err := tx.List(ctx, &rows, `UPDATE credit_packs SET expired = TRUE WHERE workspace_id = ? AND account = ?
			AND NOT expired AND expires_at > 0 AND expires_at <= ? RETURNING `+packColumns,
			by.Workspace, account, db.Micros(rules.Now)); err != nil {
			return err
		}
		c.ExpirePacks(by, rules, db.Convert(rows, (*packRow).pack))
		return tx.saveCustomer(ctx, by, c)
	})
}

// Days implements ports.Meters.
func (s *Meters) Days(
	ctx context.Context, ws identity.WorkspaceID, feature string, from, to time.Time,
) ([]payment.UsageDay, error) {
	var rows []struct {
		Day  int64 `db:"day"`
		Used int64 `db:"used"`
	}
	err := s.db.List(ctx, &rows, `SELECT day, used FROM feature_usage_days WHERE workspace_id = ? AND feature = ?
		AND day BETWEEN ? AND ? ORDER BY day DESC`, ws, feature, from.Unix()/secondsOfDay, to.Unix()/secondsOfDay)
	days := make([]payment.UsageDay, len(rows))
	for i, r := range rows {
		days[i] = payment.UsageDay{Day: time.Unix(r.Day*secondsOfDay, 0).UTC(), Used: r.Used}
	}
	return days, err
}
