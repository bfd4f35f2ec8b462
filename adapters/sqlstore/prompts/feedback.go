package prompts

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// Feedback stores what applications report about versions.
type Feedback struct{ db *Store }

var _ ports.PromptFeedback = (*Feedback)(nil)

// feedbackKeysAtOnce bounds the keys of one statement: statements of each length are cached.
const feedbackKeysAtOnce = 50

// AddFeedback implements ports.PromptFeedback. The templates are locked in one order, so that transactions never wait
// for each other in a circle.
func (s *Feedback) AddFeedback(
	ctx context.Context, by identity.Actor, reports ...prompt.FeedbackReport,
) (outcomes []prompt.FeedbackOutcome, err error) {
	indices := map[prompt.ID][]int{}
	var templates []prompt.ID
	for i := range reports {
		id := reports[i].Template
		if indices[id] == nil {
			templates = append(templates, id)
		}
		indices[id] = append(indices[id], i)
	}
	slices.Sort(templates)
	err = s.db.inTx(ctx, func(tx *Store) error {
		outcomes = make([]prompt.FeedbackOutcome, len(reports))
		for _, id := range templates {
			entry := feedbackEntry{tx: tx, template: id}
			if err := entry.open(ctx, by, reports, indices[id]); err != nil {
				return err
			}
			if !entry.isFound {
				for _, i := range indices[id] {
					outcomes[i].Refusal = prompt.ErrNotFound
				}
				continue
			}
			for _, i := range indices[id] {
				if outcomes[i] = entry.book.Enter(&reports[i]); outcomes[i].Refusal == nil && !outcomes[i].IsRepeated {
					entry.counted = append(entry.counted, &reports[i])
				}
			}
			if err := entry.save(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return outcomes, err
}

// feedbackEntry is the part of an AddFeedback that is about one template.
type feedbackEntry struct {
	tx       *Store
	template prompt.ID
	isFound  bool
	book     prompt.FeedbackBook
	comments int64 // how many there ever were
	counted  []*prompt.FeedbackReport
}

// open locks the template's names, and reads the keys that are used.
func (e *feedbackEntry) open(
	ctx context.Context, by identity.Actor, reports []prompt.FeedbackReport, indices []int,
) error {
	var row struct {
		Names    string `db:"names"`
		Comments int64  `db:"comments"`
	}
	var err error
	if e.isFound, err = e.tx.Get(ctx, &row, `
		INSERT INTO feedback_names (template_id, names, comments)
		SELECT id, '{}', 0 FROM prompt_templates WHERE id = ? AND workspace_id = ?
		ON CONFLICT (template_id) DO UPDATE SET comments = feedback_names.comments
		RETURNING names, comments`, e.template, by.Workspace); err != nil || !e.isFound {
		return err
	}
	e.comments = row.Comments
	e.book = prompt.FeedbackBook{Names: map[string]prompt.FeedbackName{}, Keys: map[string]prompt.FeedbackKey{}}
	if err := db.FromJSON(row.Names, &e.book.Names); err != nil {
		return err
	}
	var keys []any
	for _, i := range indices {
		if key := reports[i].Key; key != "" {
			keys = append(keys, key)
		}
	}
	for batch := range slices.Chunk(keys, feedbackKeysAtOnce) {
		var rows []struct {
			Key     string           `db:"report_key"`
			Digest  string           `db:"digest"`
			Version prompt.VersionID `db:"version_id"`
			Number  int              `db:"number"`
		}
		if err := e.tx.List(ctx, &rows, `SELECT report_key, digest, version_id, number FROM feedback_reports
			WHERE template_id = ? AND created_at >= ? AND report_key IN (`+db.Placeholders(len(batch))+`)`,
			slices.Concat([]any{e.template, db.Micros(by.At.Add(-prompt.FeedbackKeyLasts))}, batch)...); err != nil {
			return err
		}
		for _, r := range rows {
			e.book.Keys[r.Key] = prompt.FeedbackKey{Digest: r.Digest, Version: r.Version, Number: r.Number}
		}
	}
	return nil
}

// save stores what was counted.
func (e *feedbackEntry) save(ctx context.Context) error {
	if len(e.counted) == 0 {
		return nil
	}
	if err := e.addKeys(ctx); err != nil {
		return err
	}
	if err := e.addComments(ctx); err != nil {
		return err
	}
	names, err := json.Marshal(e.book.Names)
	if err != nil {
		return err
	}
	if _, err := e.tx.Exec(ctx, `UPDATE feedback_names SET names = ?, comments = ? WHERE template_id = ?`,
		string(names), e.comments, e.template); err != nil {
		return err
	}
	place := func(r *prompt.FeedbackReport) prompt.FeedbackLine {
		return prompt.FeedbackLine{Version: r.Version, Number: r.Number, Name: r.Name, Kind: r.Value.Kind,
			Day: prompt.DayOf(r.At)}
	}
	compare := func(a, b *prompt.FeedbackReport) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version),
			cmp.Compare(prompt.DayOf(a.At), prompt.DayOf(b.At)))
	}
	slices.SortFunc(e.counted, compare)
	for rest := e.counted; len(rest) > 0; {
		line, n := place(rest[0]), 0
		for ; n < len(rest) && compare(rest[0], rest[n]) == 0; n++ {
			line.Tally.Add(rest[n].Value)
		}
		if err := e.addTally(ctx, line); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// addTally adds a tally to the one that is stored.
func (e *feedbackEntry) addTally(ctx context.Context, line prompt.FeedbackLine) error {
	var text string
	if _, err := e.tx.Get(ctx, &text, `SELECT tally FROM version_feedback WHERE template_id = ? AND day = ? AND name = ?
		AND version_id = ?`, e.template, line.Day, line.Name, line.Version); err != nil {
		return err
	}
	var stored prompt.Tally
	if err := db.FromJSON(text, &stored); err != nil {
		return err
	}
	stored.Merge(line.Tally)
	sum, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	_, err = e.tx.Exec(ctx, `
		INSERT INTO version_feedback (template_id, day, name, version_id, number, kind, tally)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (template_id, day, name, version_id) DO UPDATE SET tally = excluded.tally`,
		e.template, line.Day, line.Name, line.Version, line.Number, line.Kind, string(sum))
	return err
}

// addKeys stores the keys of the reports. A key that has expired is replaced.
func (e *feedbackEntry) addKeys(ctx context.Context) error {
	var rows [][]any
	for _, r := range e.counted {
		if r.Key != "" {
			rows = append(rows, []any{e.template, r.Key, r.Digest, r.Version, r.Number, db.Micros(r.At)})
		}
	}
	for batch := range slices.Chunk(rows, feedbackKeysAtOnce) {
		values := strings.Repeat(", (?, ?, ?, ?, ?, ?)", len(batch))[2:]
		if _, err := e.tx.Exec(ctx, `
			INSERT INTO feedback_reports (template_id, report_key, digest, version_id, number, created_at)
			VALUES `+values+` ON CONFLICT (template_id, report_key) DO UPDATE SET digest = excluded.digest,
				version_id = excluded.version_id, number = excluded.number, created_at = excluded.created_at`,
			slices.Concat(batch...)...); err != nil {
			return err
		}
	}
	return nil
}

// addComments stores the comments of the reports, and removes the oldest of the template's.
func (e *feedbackEntry) addComments(ctx context.Context) error {
	previous := e.comments
	for _, r := range e.counted {
		if r.Comment == "" {
			continue
		}
		e.comments++
		if _, err := e.tx.Exec(ctx, `
			INSERT INTO feedback_comments (template_id, number, version_id, version, name, value, comment, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, e.template, e.comments, r.Version, r.Number, r.Name, r.Value.String(),
			r.Comment, db.Micros(r.At)); err != nil {
			return err
		}
	}
	if e.comments == previous {
		return nil
	}
	_, err := e.tx.Exec(ctx, `DELETE FROM feedback_comments WHERE template_id = ? AND number <= ?`, e.template,
		e.comments-prompt.MaxFeedbackComments)
	return err
}

// Feedback implements ports.PromptFeedback.
func (s *Feedback) Feedback(
	ctx context.Context, ws identity.WorkspaceID, id prompt.ID, name string, firstDay prompt.Day, limit int,
) ([]prompt.FeedbackLine, error) {
	var rows []struct {
		Version prompt.VersionID    `db:"version_id"`
		Number  int                 `db:"number"`
		Name    string              `db:"name"`
		Kind    prompt.FeedbackKind `db:"kind"`
		Day     prompt.Day          `db:"day"`
		Tally   string              `db:"tally"`
	}
	if err := s.db.List(ctx, &rows, `SELECT f.version_id, f.number, f.name, f.kind, f.day, f.tally
		FROM prompt_templates t JOIN version_feedback f ON f.template_id = t.id
		WHERE t.id = ? AND t.workspace_id = ? AND f.day >= ? AND (CAST(? AS TEXT) = '' OR f.name = ?)
		ORDER BY f.day DESC, f.name, f.number DESC LIMIT ?`, id, ws, firstDay, name, name, limit); err != nil {
		return nil, err
	}
	lines := make([]prompt.FeedbackLine, len(rows))
	for i, r := range rows {
		lines[i] = prompt.FeedbackLine{Version: r.Version, Number: r.Number, Name: r.Name, Kind: r.Kind, Day: r.Day}
		if err := db.FromJSON(r.Tally, &lines[i].Tally); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// FeedbackComments implements ports.PromptFeedback.
func (s *Feedback) FeedbackComments(
	ctx context.Context, ws identity.WorkspaceID, id prompt.ID, name string, firstDay prompt.Day,
) ([]prompt.FeedbackComment, error) {
	var rows []struct {
		Version   prompt.VersionID `db:"version_id"`
		Number    int              `db:"version"`
		Name      string           `db:"name"`
		Value     string           `db:"value"`
		Comment   string           `db:"comment"`
		CreatedAt int64            `db:"created_at"`
	}
	err := s.db.List(ctx, &rows, `SELECT c.version_id, c.version, c.name, c.value, c.comment, c.created_at
		FROM prompt_templates t JOIN feedback_comments c ON c.template_id = t.id
		WHERE t.id = ? AND t.workspace_id = ? AND c.created_at >= ? AND (CAST(? AS TEXT) = '' OR c.name = ?)
		ORDER BY c.number DESC LIMIT ?`, id, ws, db.Micros(firstDay.Begin()), name, name, prompt.MaxFeedbackComments)
	comments := make([]prompt.FeedbackComment, len(rows))
	for i, r := range rows {
		comments[i] = prompt.FeedbackComment{Version: r.Version, Number: r.Number, Name: r.Name, Value: r.Value,
			Comment: r.Comment, At: db.FromMicros(r.CreatedAt)}
	}
	return comments, err
}
