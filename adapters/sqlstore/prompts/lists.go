package prompts

import (
	"context"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// Versions implements ports.PromptLists.
func (l *Lists) Versions(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, drafts bool,
	q page.Query) (prompt.VersionPage, error) {
	conditions := db.NewConditions(`t.id = ? AND t.workspace_id = ?`, id, ws)
	conditions.When(!drafts, `v.frozen`)
	conditions.When(q.After != "", `v.number < ?`, numberAt(q.After))
	var rows []versionSummaryRow
	err := l.db.List(ctx, &rows, `
		SELECT `+summaryColumns+` FROM prompt_templates t JOIN prompt_versions v ON v.template_id = t.id
		WHERE `+conditions.SQL()+` ORDER BY v.number DESC LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return prompt.VersionPage{}, err
	}
	limit := min(q.Limit, listed(rows))
	rows = rows[:min(len(rows), limit+1)]
	found, err := db.TryConvert(rows, (*versionSummaryRow).summary)
	return page.Cut(found, limit, func(v prompt.VersionSummary) string { return strconv.Itoa(v.Number) }), err
}

// maxListed is the maximum size of the versions on one page, in stored bytes: decoded, a variable that allows many
// numbers takes some twenty times as many.
const maxListed = 1 << 20

// listed returns the number of rows that one page holds, at least one.
func listed(rows []versionSummaryRow) int {
	size := 0
	for i := range rows {
		if size += rows[i].size(); size > maxListed {
			return max(i, 1)
		}
	}
	return len(rows)
}

// Shares implements ports.PromptLists.
func (l *Lists) Shares(ctx context.Context, ws identity.WorkspaceID, id prompt.ID,
	q page.Query) (prompt.SharePage, error) {
	var rows []shareRow
	err := l.db.List(ctx, &rows, `SELECT `+shareColumns+shareTables+` WHERE s.template_id = ? AND s.workspace_id = ?
		AND s.user_id > ? ORDER BY s.user_id LIMIT ?`,
		id, ws, q.After, q.Limit+1)
	if err != nil {
		return prompt.SharePage{}, err
	}
	found := db.Convert(rows, (*shareRow).share)
	return page.Cut(found, q.Limit, func(s prompt.Share) string { return string(s.User) }), nil
}

// Share implements ports.PromptLists.
func (l *Lists) Share(ctx context.Context, ws identity.WorkspaceID, id prompt.ID,
	user identity.UserID) (prompt.Share, error) {
	var row shareRow
	found, err := l.db.Get(ctx, &row, `SELECT `+shareColumns+shareTables+` WHERE s.template_id = ?
		AND s.workspace_id = ? AND s.user_id = ?`, id, ws, user)
	if err == nil && !found {
		err = prompt.ErrShareNotFound
	}
	if err != nil {
		return prompt.Share{}, err
	}
	return row.share(), nil
}

// Activations implements ports.PromptLists.
func (l *Lists) Activations(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, label string,
	q page.Query) (page.Of[prompt.Activation], error) {
	ledger := `activated_by, a.activated_at, a.reason, a.request_id, '' AS weights
		FROM prompt_templates t JOIN prompt_activations a ON a.template_id = t.id`
	conditions := db.NewConditions(`t.id = ? AND t.workspace_id = ?`, id, ws)
	if label != "" {
		ledger = `moved_by AS activated_by, a.moved_at AS activated_at, a.reason, a.request_id,
			a.weights
		FROM prompt_templates t JOIN prompt_label_moves a ON a.template_id = t.id`
		conditions.When(true, `a.label = ?`, label)
	}
	conditions.When(q.After != "", `a.number < ?`, numberAt(q.After))
	var rows []struct {
		Number     int              `db:"number"`
		From       prompt.VersionID `db:"from_version_id"`
		FromNumber int              `db:"from_number"`
		To         prompt.VersionID `db:"to_version_id"`
		ToNumber   int              `db:"to_number"`
		By         identity.UserID  `db:"activated_by"`
		At         int64            `db:"activated_at"`
		Reason     string           `db:"reason"`
		Request    prompt.RequestID `db:"request_id"`
		Weights    string           `db:"weights"`
	}
	err := l.db.List(ctx, &rows, `
		SELECT a.number, a.from_version_id, a.from_number, a.to_version_id, a.to_number, a.`+ledger+`
		WHERE `+conditions.SQL()+` ORDER BY a.number DESC LIMIT ?`, conditions.Args(q.Limit+1)...)
	if err != nil {
		return page.Of[prompt.Activation]{}, err
	}
	cut := page.Of[prompt.Activation]{Items: make([]prompt.Activation, 0, len(rows))}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		cut.Next = strconv.Itoa(rows[q.Limit-1].Number)
	}
	for _, r := range rows {
		a := prompt.Activation{Label: label, From: r.From, FromNumber: r.FromNumber, To: r.To,
			ToNumber: r.ToNumber, By: r.By, At: db.FromMicros(r.At), Reason: r.Reason, Request: r.Request}
		if err := db.FromJSON(r.Weights, &a.Weights); err != nil {
			return page.Of[prompt.Activation]{}, err
		}
		cut.Items = append(cut.Items, a)
	}
	return cut, nil
}

// numberAt reads a cursor that is a row number. Cursors are sealed, so they are always our own.
func numberAt(position string) int {
	n, _ := strconv.Atoi(position)
	return n
}
