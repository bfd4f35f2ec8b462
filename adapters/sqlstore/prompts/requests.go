package prompts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
)

var requestColumns = []string{"id", "template_id", "workspace_id", "version_id", "version_number", "content_hash",
	"base_version_id", "base_number", "requested_by", "key_id", "ceiling", "reason", "acknowledged", "bypass_checks",
	"not_before", "state", "cause", "ended_at", "ended_by", "approvals", "missing_checks", "decisions", "revision",
	"created_at", "updated_at", "label", "parts"}

type requestRow struct {
	ID           prompt.RequestID     `db:"id"`
	Template     prompt.ID            `db:"template_id"`
	Workspace    identity.WorkspaceID `db:"workspace_id"`
	Version      prompt.VersionID     `db:"version_id"`
	Number       int                  `db:"version_number"`
	ContentHash  string               `db:"content_hash"`
	Base         prompt.VersionID     `db:"base_version_id"`
	BaseNumber   int                  `db:"base_number"`
	By           identity.UserID      `db:"requested_by"`
	Key          identity.KeyID       `db:"key_id"`
	Ceiling      identity.Role        `db:"ceiling"`
	Reason       string               `db:"reason"`
	Acknowledged bool                 `db:"acknowledged"`
	BypassChecks bool                 `db:"bypass_checks"`
	NotBefore    int64                `db:"not_before"`
	State        prompt.RequestState  `db:"state"`
	Cause        prompt.Cause         `db:"cause"`
	EndedAt      int64                `db:"ended_at"`
	EndedBy      identity.UserID      `db:"ended_by"`
	Approvals    int                  `db:"approvals"`
	Missing      string               `db:"missing_checks"`
	Decisions    string               `db:"decisions"`
	Revision     int64                `db:"revision"`
	CreatedAt    int64                `db:"created_at"`
	UpdatedAt    int64                `db:"updated_at"`
	Label        string               `db:"label"`
	Parts        string               `db:"parts"`
}

func (r *requestRow) request() (prompt.ActivationRequest, error) {
	out := prompt.ActivationRequest{
		ID: r.ID, Template: r.Template, Workspace: r.Workspace, Version: r.Version, Number: r.Number,
		ContentHash: r.ContentHash, Base: r.Base, BaseNumber: r.BaseNumber, By: r.By, Key: r.Key, Ceiling: r.Ceiling,
		Reason: r.Reason, Acknowledged: r.Acknowledged, BypassChecks: r.BypassChecks,
		NotBefore: db.FromMicros(r.NotBefore), State: r.State, Cause: r.Cause, EndedAt: db.FromMicros(r.EndedAt),
		EndedBy: r.EndedBy, Approvals: r.Approvals, Missing: nameList(r.Missing), Revision: r.Revision,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt), Label: r.Label,
	}
	err := errors.Join(db.FromJSON(r.Decisions, &out.Decisions), db.FromJSON(r.Parts, &out.Parts))
	out.Subject()
	return out, err
}

// Request implements ports.PromptRequests.
func (l *Lists) Request(ctx context.Context, ws identity.WorkspaceID, id prompt.ID,
	request prompt.RequestID) (*prompt.ActivationRequest, error) {
	conditions := db.NewConditions(`r.id = ? AND r.workspace_id = ?`, request, ws)
	conditions.When(id != "", `r.template_id = ?`, id)
	found, err := l.requests(ctx, conditions, `r.id`, 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, prompt.ErrRequestNotFound
	}
	return &found[0], nil
}

// OpenRequests implements ports.PromptRequests.
func (l *Lists) OpenRequests(
	ctx context.Context, ws identity.WorkspaceID, id prompt.ID,
) ([]prompt.ActivationRequest, error) {
	conditions := db.NewConditions(`r.template_id = ? AND r.workspace_id = ? AND r.state = 'waiting'`, id, ws)
	return l.requests(ctx, conditions, `r.id`, prompt.MaxRequests)
}

// Requests implements ports.PromptRequests.
func (l *Lists) Requests(ctx context.Context, ws identity.WorkspaceID, id prompt.ID, state prompt.RequestState,
	q page.Query) (prompt.RequestPage, error) {
	conditions := db.NewConditions(`r.template_id = ? AND r.workspace_id = ?`, id, ws)
	conditions.When(state != "", `r.state = ?`, state)
	conditions.When(q.After != "", `r.id < ?`, q.After)
	found, err := l.requests(ctx, conditions, `r.id DESC`, q.Limit+1)
	return page.Cut(found, q.Limit, func(r prompt.ActivationRequest) string { return string(r.ID) }), err
}

func (l *Lists) requests(
	ctx context.Context, conditions *db.Conditions, order string, limit int,
) ([]prompt.ActivationRequest, error) {
	var rows []requestRow
	if err := l.db.List(ctx, &rows, `SELECT `+db.ColumnsLike(`r.%`, requestColumns)+` FROM prompt_requests r WHERE `+
		conditions.SQL()+` ORDER BY `+order+` LIMIT ?`, conditions.Args(limit)...); err != nil {
		return nil, err
	}
	return db.TryConvert(rows, (*requestRow).request)
}

// Checks implements ports.PromptRequests.
func (l *Lists) Checks(
	ctx context.Context, ws identity.WorkspaceID, id prompt.ID, v prompt.VersionID,
) ([]prompt.Check, error) {
	var rows []struct {
		Name        string            `db:"name"`
		Conclusion  prompt.Conclusion `db:"conclusion"`
		URL         string            `db:"url"`
		Summary     string            `db:"summary"`
		Result      *float64          `db:"result"`
		ContentHash string            `db:"content_hash"`
		ByAuthor    bool              `db:"by_author"`
		By          identity.UserID   `db:"reported_by"`
		At          int64             `db:"reported_at"`
	}
	err := l.db.List(ctx, &rows, `SELECT c.name, c.conclusion, c.url, c.summary, c.result, c.content_hash,
		c.by_author, c.reported_by, c.reported_at FROM prompt_templates t JOIN prompt_versions v ON v.template_id = t.id
		JOIN prompt_checks c ON c.version_id = v.id WHERE t.id = ? AND t.workspace_id = ? AND v.id = ? ORDER BY c.name`,
		id, ws, v)
	found := make([]prompt.Check, len(rows))
	for i, r := range rows {
		found[i] = prompt.Check{Version: v, Name: r.Name, Conclusion: r.Conclusion, URL: r.URL, Summary: r.Summary,
			Result: r.Result, ContentHash: r.ContentHash, ByAuthor: r.ByAuthor, By: r.By, At: db.FromMicros(r.At)}
	}
	return found, err
}

// saveRequest writes a request that is new or has changed.
func (store *Store) saveRequest(ctx context.Context, r prompt.ActivationRequest) error {
	decisions, err := json.Marshal(r.Decisions)
	if err != nil {
		return err
	}
	parts, err := db.JSONText(r.Parts, len(r.Parts) == 0)
	if err != nil {
		return err
	}
	version := r.Version
	if r.Label != "" {
		version = "" // the migration says why
	}
	_, err = store.Exec(ctx, `INSERT INTO prompt_requests (`+strings.Join(requestColumns, ", ")+`)
		VALUES (?`+strings.Repeat(`, ?`, len(requestColumns)-1)+`)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, cause = excluded.cause, ended_at = excluded.ended_at,
			ended_by = excluded.ended_by, approvals = excluded.approvals, missing_checks = excluded.missing_checks,
			decisions = excluded.decisions, revision = excluded.revision, updated_at = excluded.updated_at`,
		r.ID, r.Template, r.Workspace, version, r.Number, r.ContentHash, r.Base, r.BaseNumber, r.By, r.Key, r.Ceiling,
		r.Reason, r.Acknowledged, r.BypassChecks, db.Micros(r.NotBefore), r.State, r.Cause, db.Micros(r.EndedAt),
		r.EndedBy,
		r.Approvals, strings.Join(r.Missing, ","), string(decisions), r.Revision, db.Micros(r.CreatedAt),
		db.Micros(r.UpdatedAt), r.Label, parts)
	return err
}

// saveCheck writes a check, and replaces the earlier one of that name.
func (store *Store) saveCheck(ctx context.Context, c prompt.Check) error {
	_, err := store.Exec(ctx, `INSERT INTO prompt_checks (version_id, name, conclusion, url, summary, result,
			content_hash, by_author, reported_by, reported_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (version_id, name) DO UPDATE SET conclusion = excluded.conclusion, url = excluded.url,
			summary = excluded.summary, result = excluded.result, content_hash = excluded.content_hash,
			by_author = excluded.by_author, reported_by = excluded.reported_by,
			reported_at = excluded.reported_at`,
		c.Version, c.Name, c.Conclusion, c.URL, c.Summary, c.Result, c.ContentHash, c.ByAuthor, c.By, db.Micros(c.At))
	return err
}
