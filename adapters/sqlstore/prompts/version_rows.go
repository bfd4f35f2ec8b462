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

// versionInfoColumns are the columns of a version except its content, or zero values if a join found no version.
const versionInfoColumns = `COALESCE(v.id, '') AS "v.id", COALESCE(v.template_id, '') AS "v.template_id",
	COALESCE(v.number, 0) AS "v.number",
	COALESCE(v.content_hash, '') AS "v.content_hash",
	` + labelsColumn + ` AS "v.labels", COALESCE(v.commit_message, '') AS "v.commit_message",
	COALESCE(v.frozen, FALSE) AS "v.frozen", COALESCE(v.first_activated_at, 0) AS "v.first_activated_at",
	COALESCE(v.revision, 0) AS "v.revision",
	COALESCE(v.created_by, '') AS "v.created_by", COALESCE(v.edited_by, '') AS "v.edited_by",
	COALESCE(v.created_at, 0) AS "v.created_at",
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
	EditedBy         identity.UserID  `db:"edited_by"`
	CreatedAt        int64            `db:"created_at"`
	UpdatedAt        int64            `db:"updated_at"`
	Includes         string           `db:"includes"`
}

func (r *versionInfoRow) info() (prompt.VersionInfo, error) {
	info := prompt.VersionInfo{
		ID: r.ID, Template: r.Template, Number: r.Number, ContentHash: r.ContentHash, Labels: labelList(r.Labels),
		CommitMessage: r.CommitMessage, Frozen: r.Frozen,
		FirstActivatedAt: db.FromMicros(r.FirstActivatedAt), Revision: r.Revision, CreatedBy: r.CreatedBy,
		EditedBy: r.EditedBy, CreatedAt: db.FromMicros(r.CreatedAt), UpdatedAt: db.FromMicros(r.UpdatedAt),
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

// size returns roughly the number of bytes that the row takes.
func (r *versionRow) size() int {
	return r.versionSummaryRow.size() + len(r.Text) + len(r.Messages) + len(r.Tools) + len(r.ResponseFormat) +
		len(r.Pinned)
}

func (r *versionSummaryRow) size() int {
	return 512 + len(r.Variables) + len(r.ModelConfig) + len(r.CommitMessage) + len(r.Includes)
}

// labelList decodes labelsColumn.
func labelList(column string) []string {
	if column == "" {
		return nil
	}
	labels := strings.Split(column, ",")
	slices.Sort(labels)
	return labels
}

// contentArgs returns the values of a version's content, in the order of the statements that write it.
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

// The large columns are left out of lists.
var (
	smallVersionColumns = []string{"id", "template_id", "number", "format", "variables", "model_config", "content_hash",
		"commit_message", "frozen", "first_activated_at", "revision", "created_by", "edited_by", "created_at",
		"updated_at", "includes"}
	largeVersionColumns = []string{"text", "messages", "tools", "response_format", "pinned"}
	versionColumns      = db.ColumnsLike(`v.%`, append(smallVersionColumns, largeVersionColumns...)) + `, ` +
		labelsColumn + ` AS labels`
	summaryColumns = db.ColumnsLike(`v.%`, smallVersionColumns) + `, ` + labelsColumn + ` AS labels`
)

// pinned has the parts of a prompt.Expansion that are not its version's content.
type pinned struct {
	Text      string            `json:"text,omitempty"`
	Messages  []prompt.Message  `json:"messages,omitempty"`
	Variables []prompt.Variable `json:"variables,omitempty"`
	Declared  []prompt.Variable `json:"declared,omitempty"`
	Hash      string            `json:"hash"`
	Includes  []prompt.Included `json:"includes"`
	Closure   []prompt.ID       `json:"closure"`
	Depth     int               `json:"depth"`
}

// pinnedText returns the stored form of an expansion: an empty string for nil.
func pinnedText(e *prompt.Expansion) (string, error) {
	if e == nil {
		return "", nil
	}
	return db.JSONText(pinned{e.Content.Text, e.Content.Messages, e.Content.Variables, e.Declared, e.Hash, e.Includes,
		e.Closure, e.Depth}, false)
}

// readPinned is the inverse of pinnedText, for a version with that content.
func readPinned(text string, content prompt.Content) (*prompt.Expansion, error) {
	var p pinned
	if err := db.FromJSON(text, &p); err != nil {
		return nil, err
	}
	content.Text, content.Messages, content.Variables = p.Text, p.Messages, p.Variables
	return &prompt.Expansion{Content: content, Hash: p.Hash, Declared: p.Declared, Includes: p.Includes,
		Closure: p.Closure,
		Depth:   p.Depth}, nil
}

// versionMatch returns the condition that v is the version that ref names.
func versionMatch(ref prompt.Ref) (condition string, args []any) {
	switch {
	case ref.Active:
		return `v.id = t.active_version_id`, nil
	case ref.Latest:
		return `v.id = t.latest_version_id`, nil
	case ref.Previous:
		return `v.id = (SELECT a.from_version_id FROM prompt_activations a WHERE a.template_id = t.id
			ORDER BY a.number DESC LIMIT 1)`, nil
	case ref.Number != 0:
		return `v.number = ?`, []any{ref.Number}
	case ref.Label != "":
		return `v.id = (SELECT l.version_id FROM prompt_labels l WHERE l.template_id = t.id AND l.label = ?)`,
			[]any{ref.Label}
	default: // the zero Ref matches nothing
		return `v.id = ?`, []any{ref.ID}
	}
}
