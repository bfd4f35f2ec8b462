package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// The large columns are left out of lists.
var (
	smallVersionColumns = []string{"id", "template_id", "number", "format", "variables", "model_config", "content_hash", "commit_message", "frozen", "first_activated_at", "revision", "created_by", "created_at", "updated_at"}
	largeVersionColumns = []string{"text", "messages", "tools", "response_format"}
	versionColumns      = columns(`v.%`, append(smallVersionColumns, largeVersionColumns...)) + `, ` + labelsColumn + ` AS labels`
	summaryColumns      = columns(`v.%`, smallVersionColumns) + `, ` + labelsColumn + ` AS labels`
)

const labelsColumn = `COALESCE((SELECT string_agg(l.label, ',') FROM prompt_labels l WHERE l.version_id = v.id), '')`

func columns(pattern string, names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ReplaceAll(pattern, "%", n)
	}
	return strings.Join(out, ", ")
}

type versionRow struct {
	ID               prompt.VersionID `db:"id"`
	Template         prompt.ID        `db:"template_id"`
	Number           int              `db:"number"`
	Text             string           `db:"text"`
	Messages         string           `db:"messages"`
	Format           prompt.Format    `db:"format"`
	Variables        string           `db:"variables"`
	ModelConfig      string           `db:"model_config"`
	Tools            string           `db:"tools"`
	ResponseFormat   string           `db:"response_format"`
	ContentHash      string           `db:"content_hash"`
	Labels           string           `db:"labels"`
	CommitMessage    string           `db:"commit_message"`
	Frozen           bool             `db:"frozen"`
	FirstActivatedAt int64            `db:"first_activated_at"`
	Revision         int64            `db:"revision"`
	CreatedBy        identity.UserID  `db:"created_by"`
	CreatedAt        int64            `db:"created_at"`
	UpdatedAt        int64            `db:"updated_at"`
}

func (r *versionRow) version() (*prompt.Version, error) {
	v := &prompt.Version{
		ID: r.ID, Template: r.Template, Number: r.Number, ContentHash: r.ContentHash, CommitMessage: r.CommitMessage, Frozen: r.Frozen,
		FirstActivatedAt: moment(r.FirstActivatedAt), Revision: r.Revision, CreatedBy: r.CreatedBy, CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt),
		Content: prompt.Content{Text: r.Text, Format: r.Format}, Labels: labelList(r.Labels),
	}
	if r.Tools != "" {
		v.Content.Tools = json.RawMessage(r.Tools)
	}
	if r.ResponseFormat != "" {
		v.Content.ResponseFormat = json.RawMessage(r.ResponseFormat)
	}
	return v, errors.Join(
		fromJSON(r.Messages, &v.Content.Messages), fromJSON(r.Variables, &v.Content.Variables), fromJSON(r.ModelConfig, &v.Content.Model))
}

// size is about how many bytes the row takes.
func (r *versionRow) size() int {
	return 512 + len(r.Text) + len(r.Messages) + len(r.Variables) + len(r.ModelConfig) + len(r.Tools) + len(r.ResponseFormat) + len(r.CommitMessage)
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

// fromJSON decodes text that jsonText wrote. Numbers in free-form JSON keep every digit.
func fromJSON(text string, dst any) error {
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(dst)
}

// contentArgs are the values of a version's content, in the order of contentColumns.
func contentArgs(c prompt.Content) ([]any, error) {
	messages, err := jsonText(c.Messages, len(c.Messages) == 0)
	if err != nil {
		return nil, err
	}
	variables, err := jsonText(c.Variables, len(c.Variables) == 0)
	if err != nil {
		return nil, err
	}
	model, err := jsonText(c.Model, c.Model == nil)
	if err != nil {
		return nil, err
	}
	return []any{c.Text, messages, c.Format, variables, model, string(c.Tools), string(c.ResponseFormat)}, nil
}

// jsonText encodes v, and an empty value as an empty text.
func jsonText(v any, empty bool) (string, error) {
	if empty {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// versionMatch is the condition under which v is the version that ref names.
func versionMatch(ref prompt.Ref) (condition string, args []any) {
	switch {
	case ref.Active:
		return `v.id = t.active_version_id`, nil
	case ref.Latest:
		return `v.id = t.latest_version_id`, nil
	case ref.Number != 0:
		return `v.number = ?`, []any{ref.Number}
	case ref.Label != "":
		return `v.id = (SELECT l.version_id FROM prompt_labels l WHERE l.template_id = t.id AND l.label = ?)`, []any{ref.Label}
	default: // the zero Ref matches nothing
		return `v.id = ?`, []any{ref.ID}
	}
}

// UpdateWith implements ports.Prompts.
func (p *Prompts) UpdateWith(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref, change func(*prompt.Template, *prompt.Version) error) (*prompt.Template, error) {
	var t *prompt.Template
	err := p.db.inTx(ctx, func(tx *DB) (err error) {
		if t, err = tx.labelledTemplate(ctx, by, id); err != nil {
			return err
		}
		named := ref
		if ref.Latest {
			named = prompt.Ref{ID: t.Versions(by).Latest}
		}
		match, args := versionMatch(named)
		var row versionRow
		found, err := tx.get(ctx, &row, `SELECT `+versionColumns+` FROM prompt_templates t JOIN prompt_versions v ON v.template_id = t.id AND `+match+` WHERE t.id = ?`, append(args, id)...)
		if err != nil {
			return err
		}
		var v *prompt.Version
		if found {
			if v, err = row.version(); err != nil {
				return err
			}
		}
		if err := change(t, v); err != nil {
			return err
		}
		if v != nil && len(t.Recorded()) > 0 {
			if err := tx.saveVersion(ctx, t, v); err != nil {
				return err
			}
		}
		return tx.saveTemplate(ctx, t)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// AddVersion implements ports.Prompts.
func (p *Prompts) AddVersion(ctx context.Context, by identity.Actor, id prompt.ID, change func(*prompt.Template) (*prompt.Version, error)) error {
	return p.db.inTx(ctx, func(tx *DB) error {
		t, err := tx.labelledTemplate(ctx, by, id)
		if err != nil {
			return err
		}
		v, err := change(t)
		if err != nil {
			return err
		}
		content, err := contentArgs(v.Content)
		if err != nil {
			return err
		}
		args := append([]any{v.ID, v.Template, v.Number}, content...)
		if _, err := tx.exec(ctx, `
			INSERT INTO prompt_versions (id, template_id, number, text, messages, format, variables, model_config, tools, response_format,
				content_hash, commit_message, frozen, first_activated_at, revision, created_by, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, v.ContentHash, v.CommitMessage, v.Frozen, micros(v.FirstActivatedAt), v.Revision, v.CreatedBy, micros(v.CreatedAt), micros(v.UpdatedAt))...); err != nil {
			return err
		}
		if err := tx.saveLabels(ctx, v); err != nil {
			return err
		}
		if err := tx.summarise(ctx, t); err != nil {
			return err
		}
		return tx.saveTemplate(ctx, t)
	})
}

func (db *DB) saveVersion(ctx context.Context, t *prompt.Template, v *prompt.Version) error {
	if v.Deleted {
		if _, err := db.exec(ctx, `DELETE FROM prompt_versions WHERE id = ? AND template_id = ?`, v.ID, v.Template); err != nil {
			return err
		}
		return db.summarise(ctx, t)
	}
	content, err := contentArgs(v.Content)
	if err != nil {
		return err
	}
	if _, err := db.exec(ctx, `
		UPDATE prompt_versions SET text = ?, messages = ?, format = ?, variables = ?, model_config = ?, tools = ?, response_format = ?,
			content_hash = ?, commit_message = ?, frozen = ?, first_activated_at = ?, revision = ?, updated_at = ?
		WHERE id = ? AND template_id = ?`,
		append(content, v.ContentHash, v.CommitMessage, v.Frozen, micros(v.FirstActivatedAt), v.Revision, micros(v.UpdatedAt), v.ID, v.Template)...); err != nil {
		return err
	}
	if err := db.saveLabels(ctx, v); err != nil {
		return err
	}
	return db.summarise(ctx, t)
}

// labelledTemplate is lockedTemplate that also reads the versions with labels.
func (db *DB) labelledTemplate(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	t, err := db.lockedTemplate(ctx, by, id)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Label  string `db:"label"`
		Number int    `db:"number"`
	}
	err = db.list(ctx, &rows, `SELECT l.label, v.number FROM prompt_labels l JOIN prompt_versions v ON v.id = l.version_id WHERE l.template_id = ?`, id)
	t.Labelled = make(map[string]int, len(rows))
	for _, row := range rows {
		t.Labelled[row.Label] = row.Number
	}
	return t, err
}

// saveLabels makes v's labels exactly v.Labels and removes them from other versions. Each version that loses a label
// gets a new revision.
func (db *DB) saveLabels(ctx context.Context, v *prompt.Version) error {
	if n := len(v.Labels); n > 0 {
		args := []any{micros(v.UpdatedAt), v.Template, v.ID}
		for _, label := range v.Labels {
			args = append(args, label)
		}
		if _, err := db.exec(ctx, `
			UPDATE prompt_versions SET revision = revision + 1, updated_at = ? WHERE id IN
				(SELECT version_id FROM prompt_labels WHERE template_id = ? AND version_id <> ? AND label IN (?`+strings.Repeat(`, ?`, n-1)+`))`, args...); err != nil {
			return err
		}
	}
	if _, err := db.exec(ctx, `DELETE FROM prompt_labels WHERE version_id = ?`, v.ID); err != nil {
		return err
	}
	for _, label := range v.Labels {
		if _, err := db.exec(ctx, `
			INSERT INTO prompt_labels (template_id, label, version_id) VALUES (?, ?, ?)
			ON CONFLICT (template_id, label) DO UPDATE SET version_id = excluded.version_id`, v.Template, label, v.ID); err != nil {
			return err
		}
	}
	return nil
}

// summarise recounts t's versions, in the row and in t. The counts are stored because lists read them far more
// often than versions change.
func (db *DB) summarise(ctx context.Context, t *prompt.Template) error {
	var row struct {
		All    summaryRow `db:"a"`
		Frozen summaryRow `db:"f"`
	}
	if _, err := db.get(ctx, &row, `
		SELECT COUNT(*) AS "a.count", COALESCE(MAX(number), 0) AS "a.latest_number",
			COALESCE((SELECT id FROM prompt_versions WHERE template_id = ? ORDER BY number DESC LIMIT 1), '') AS "a.latest",
			COUNT(*) FILTER (WHERE frozen) AS "f.count", COALESCE(MAX(number) FILTER (WHERE frozen), 0) AS "f.latest_number",
			COALESCE((SELECT id FROM prompt_versions WHERE template_id = ? AND frozen ORDER BY number DESC LIMIT 1), '') AS "f.latest"
		FROM prompt_versions WHERE template_id = ?`, t.ID, t.ID, t.ID); err != nil {
		return err
	}
	all, frozen := row.All, row.Frozen
	t.AllVersions, t.FrozenVersions = prompt.Summary(all), prompt.Summary(frozen)
	_, err := db.exec(ctx, `
		UPDATE prompt_templates SET version_count = ?, latest_version_id = ?, latest_number = ?, frozen_count = ?, latest_frozen_id = ?, latest_frozen_number = ?
		WHERE id = ?`, all.Count, all.Latest, all.LatestNumber, frozen.Count, frozen.Latest, frozen.LatestNumber, t.ID)
	return err
}

type summaryRow struct {
	Count        int              `db:"count"`
	Latest       prompt.VersionID `db:"latest"`
	LatestNumber int              `db:"latest_number"`
}
