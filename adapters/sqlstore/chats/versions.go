package chats

import (
	"context"
	"errors"
	"strconv"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/chat"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// Versions reads the versions of chat templates.
type Versions struct{ db *Store }

var _ ports.ChatVersions = (*Versions)(nil)

type versionRow struct {
	templateRow
	Number int `db:"number"`
}

func (r *versionRow) info() chat.VersionInfo {
	return chat.VersionInfo{
		ID: chat.VersionID(r.ID), Number: r.Number, CreatedBy: r.CreatedBy, CreatedAt: db.FromMicros(r.CreatedAt),
	}
}

// version returns a version, or nil if it does not exist.
func (store *Store) version(ctx context.Context, id chat.VersionID) (*chat.Version, error) {
	return store.findVersion(ctx, `v.id = ?`, id)
}

func (store *Store) findVersion(ctx context.Context, condition string, args ...any) (*chat.Version, error) {
	var row versionRow
	found, err := store.Get(ctx, &row, `SELECT v.id, v.number, v.created_by, v.created_at, `+contentColumns+`
		FROM chat_versions v WHERE `+condition, args...)
	if err != nil || !found {
		return nil, err
	}
	s, err := row.summary(identity.Actor{})
	if err != nil {
		return nil, err
	}
	c, err := row.content(&s)
	return &chat.Version{VersionInfo: row.info(), Content: c}, err
}

// Get implements ports.ChatVersions.
func (s *Versions) Get(
	ctx context.Context, ws identity.WorkspaceID, template chat.ID, ref chat.VersionRef,
) (*chat.Version, error) {
	v, err := s.db.findVersion(ctx, `v.template_id = ? AND v.workspace_id = ? AND (v.id = ? OR v.number = ?)`,
		template, ws,
		ref.ID, ref.Number)
	if err == nil && v == nil {
		err = chat.ErrVersionNotFound
	}
	return v, err
}

// List implements ports.ChatVersions.
func (s *Versions) List(
	ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query,
) (chat.VersionPage, error) {
	conditions, err := below(db.NewConditions(`v.template_id = ? AND v.workspace_id = ?`, template, ws), `v.number`, q)
	if err != nil {
		return chat.VersionPage{}, err
	}
	var rows []versionRow
	if err := s.db.List(ctx, &rows, `SELECT v.id, v.number, v.created_by, v.created_at FROM chat_versions v
		WHERE `+conditions.SQL()+` ORDER BY v.number DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return chat.VersionPage{}, err
	}
	found := db.Convert(rows, (*versionRow).info)
	return page.Cut(found, q.Limit, func(v chat.VersionInfo) string { return strconv.Itoa(v.Number) }), nil
}

// Publications implements ports.ChatVersions.
func (s *Versions) Publications(
	ctx context.Context, ws identity.WorkspaceID, template chat.ID, q page.Query,
) (chat.PublicationPage, error) {
	conditions, err := below(db.NewConditions(`p.template_id = ? AND t.workspace_id = ?`, template, ws), `p.number`, q)
	if err != nil {
		return chat.PublicationPage{}, err
	}
	var rows []struct {
		Number     int             `db:"number"`
		FromID     chat.VersionID  `db:"from_version_id"`
		FromNumber int             `db:"from_number"`
		ToID       chat.VersionID  `db:"to_version_id"`
		ToNumber   int             `db:"to_number"`
		Reason     string          `db:"reason"`
		By         identity.UserID `db:"published_by"`
		At         int64           `db:"published_at"`
	}
	if err := s.db.List(ctx, &rows, `SELECT p.number, p.from_version_id, p.from_number, p.to_version_id, p.to_number,
		p.reason, p.published_by, p.published_at FROM chat_publications p JOIN chat_templates t ON t.id = p.template_id
		WHERE `+conditions.SQL()+` ORDER BY p.number DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return chat.PublicationPage{}, err
	}
	found := make([]chat.Publication, len(rows))
	for i, r := range rows {
		found[i] = chat.Publication{Number: r.Number, FromID: r.FromID, FromNumber: r.FromNumber, ToID: r.ToID,
			ToNumber: r.ToNumber, Reason: r.Reason, By: r.By, At: db.FromMicros(r.At)}
	}
	return page.Cut(found, q.Limit, func(p chat.Publication) string { return strconv.Itoa(p.Number) }), nil
}

// below adds the condition that continues a list that is ordered by a number, highest first.
func below(conditions *db.Conditions, column string, q page.Query) (*db.Conditions, error) {
	if q.After == "" {
		return conditions, nil
	}
	number, err := strconv.Atoi(q.After)
	if err != nil {
		return nil, errors.New("sqlstore: a cursor of our own making is no number")
	}
	conditions.When(true, column+` < ?`, number)
	return conditions, nil
}

// saveVersions writes the new version and the publication of a changed template.
func (store *Store) saveVersions(ctx context.Context, t *chat.Template) error {
	if v := t.NewVersion; v != nil {
		args, err := contentArgs(&v.Content)
		if err != nil {
			return err
		}
		if _, err := store.Exec(ctx, `INSERT INTO chat_versions (`+contentColumns+`, id, template_id,
			workspace_id, number, created_by, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			append(args, v.ID, t.ID, t.Workspace, v.Number, v.CreatedBy, db.Micros(v.CreatedAt))...); err != nil {
			return err
		}
	}
	p := t.Publication
	if p == nil {
		return nil
	}
	_, err := store.Exec(ctx, `INSERT INTO chat_publications (template_id, number, from_version_id, from_number,
		to_version_id, to_number, reason, published_by, published_at)
		SELECT CAST(? AS TEXT), COALESCE(MAX(number), 0) + 1, CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS TEXT),
		CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT)
		FROM chat_publications WHERE template_id = ?`,
		t.ID, p.FromID, p.FromNumber, p.ToID, p.ToNumber, p.Reason, p.By, db.Micros(p.At), t.ID)
	return err
}
