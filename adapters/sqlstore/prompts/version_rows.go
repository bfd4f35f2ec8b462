package prompts

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

const labelsColumn = `COALESCE((SELECT string_agg(l.label, ',') FROM prompt_labels l WHERE l.version_id = v.id), '')`

type versionRow struct {
	versionSummaryRow
	Text           string `db:"text"`
	Messages       string `db:"messages"`
	Tools          string `db:"tools"`
	ResponseFormat string `db:"response_format"`
	Pinned         string `db:"pinned"`
}

type versionSummaryRow struct {
	versionInfoRow
	Format      prompt.Format `db:"format"`
	Variables   string        `db:"variables"`
	ModelConfig string        `db:"model_config"`
}

// versionInfoColumns are the columns of a version except its content; zero values if a join found none.
const versionInfoColumns = `COALESCE(v.id, '') AS "v.id", COALESCE(v.template_id, '') AS "v.template_id",
	COALESCE(v.number, 0) AS "v.number",
	COALESCE(v.content_hash, '') AS "v.content_hash",
	` + labelsColumn + ` AS "v.labels", COALESCE(v.commit_message, '') AS "v.commit_message",
	COALESCE(v.frozen, FALSE) AS "v.frozen", COALESCE(v.first_activated_at, 0) AS "v.first_activated_at",
	COALESCE(v.revision, 0) AS "v.revision",
	COALESCE(v.created_by, '') AS "v.created_by", COALESCE(v.created_at, 0) AS "v.created_at",
	COALESCE(v.updated_at, 0) AS "v.updated_at", COALESCE(v.includes, '') AS "v.includes"`

type versionInfoRow struct {
	ID               prompt.VersionID `db:"id"`
	Template         prompt.ID        `db:"template_id"`
	Number           int              `db:"number"`
	ContentHash      string           `db:"content_hash"`
	Labels           string           `db:"labels"`
	CommitMessage    string           `db:"commit_message"`
	Frozen           bool             `db:"frozen"`
	FirstActivatedAt int64            `db:"first_activated_at"`
	Revision         int64            `db:"revision"`
	CreatedBy        identity.UserID  `db:"created_by"`
	CreatedAt        int64            `db:"created_at"`
	UpdatedAt        int64            `db:"updated_at"`
	Includes         string           `db:"includes"`
}

func (r *versionInfoRow) info() (prompt.VersionInfo, error) {
	info := prompt.VersionInfo{
		ID: r.ID, Template: r.Template, Number: r.Number, ContentHash: r.ContentHash, Labels: labelList(r.Labels),
		CommitMessage: r.CommitMessage, Frozen: r.Frozen,
		FirstActivatedAt: db.FromMicros(r.FirstActivatedAt), Revision: r.Revision, CreatedBy: r.CreatedBy,
		CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
	}
	return info, db.FromJSON(r.Includes, &info.Includes)
}

func (r *versionSummaryRow) summary() (prompt.VersionSummary, error) {
	info, err := r.info()
	v := prompt.VersionSummary{VersionInfo: info, Format: r.Format}
	return v, errors.Join(err, db.FromJSON(r.Variables, &v.Variables), db.FromJSON(r.ModelConfig, &v.Model))
}

func (r *versionRow) version() (*prompt.Version, error) {
	s, err := r.summary()
	v := &prompt.Version{VersionInfo: s.VersionInfo, Content: prompt.Content{
		Text: r.Text, Format: s.Format, Variables: s.Variables, Model: s.Model,
	}}
	if r.Tools != "" {
		v.Content.Tools = json.RawMessage(r.Tools)
	}
	if r.ResponseFormat != "" {
		v.Content.ResponseFormat = json.RawMessage(r.ResponseFormat)
	}
	err = errors.Join(err, db.FromJSON(r.Messages, &v.Content.Messages))
	if r.Pinned == "" || err != nil {
		return v, err
	}
	v.Pinned, err = readPinned(r.Pinned, v.Content)
	return v, err
}

// size is about how many bytes the row takes.
func (r *versionRow) size() int {
	return r.versionSummaryRow.size() + len(r.Text) + len(r.Messages) + len(r.Tools) + len(r.ResponseFormat) +
		len(r.Pinned)
}

func (r *versionSummaryRow) size() int {
	return 512 + len(r.Variables) + len(r.ModelConfig) + len(r.CommitMessage) + len(r.Includes)
}

// labelList reads labelsColumn.
func labelList(column string) []string {
	if column == "" {
		return nil
	}
	labels := strings.Split(column, ",")
	slices.Sort(labels)
	return labels
}

// contentArgs are the values of a version's content, in the order of contentColumns.
func contentArgs(c prompt.Content) ([]any, error) {
	messages, err := db.JSONText(c.Messages, len(c.Messages) == 0)
	if err != nil {
		return nil, err
	}
	variables, err := db.JSONText(c.Variables, len(c.Variables) == 0)
	if err != nil {
		return nil, err
	}
	model, err := db.JSONText(c.Model, c.Model == nil)
	if err != nil {
		return nil, err
	}
	return []any{c.Text, messages, c.Format, variables, model, string(c.Tools), string(c.ResponseFormat)}, nil
}
