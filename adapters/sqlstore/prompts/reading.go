package prompts

import (
	"context"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// GetVersion implements ports.Prompts.
func (p *Prompts) GetVersion(
	ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref,
) (*prompt.Reading, *prompt.Version, error) {
	return p.getVersion(ctx, by, ref, byID(by.Workspace, id))
}

// GetVersionByName implements ports.Prompts.
func (p *Prompts) GetVersionByName(ctx context.Context, by identity.Actor, name string,
	ref prompt.Ref) (*prompt.Reading, *prompt.Version, error) {
	return p.getVersion(ctx, by, ref, byName(by.Workspace, name))
}

// getVersion runs the same statement for a template that does not exist and for one that by may not see.
func (p *Prompts) getVersion(ctx context.Context, by identity.Actor, ref prompt.Ref,
	key templateKey) (*prompt.Reading, *prompt.Version, error) {
	if ref.Latest { // the latest version depends on by's role
		t, err := p.db.template(ctx, by, key)
		if err != nil {
			return nil, nil, err
		}
		if !t.CanView(by) {
			return t.Reading(), nil, nil
		}
		ref = prompt.Ref{ID: t.LatestFor(by, ref)}
	}
	packing := ownReadings
	if by.Grouped {
		packing = groupedReadings
	}
	match, args := versionMatch(ref)
	var text string
	found, err := p.db.Get(ctx, &text, packing.Query(templateTables+` LEFT JOIN prompt_versions v
		ON v.template_id = t.id AND `+match+` WHERE `+key.condition), slices.Concat(templateArgs(by), args, key.args)...)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		return nil, nil, prompt.ErrNotFound
	}
	var row readVersionRow
	if err := packing.Unpack(text, &row); err != nil {
		return nil, nil, err
	}
	return p.db.readVersion(ctx, by, &row)
}

// readVersionRow is a template with the version that is read.
type readVersionRow struct {
	readingRow
	Version versionHead `db:"v"`
}

// readVersion returns a row's version if by may see the template.
func (store *Store) readVersion(
	ctx context.Context, by identity.Actor, row *readVersionRow,
) (*prompt.Reading, *prompt.Version, error) {
	reading := row.reading(by)
	if row.Version.ID == "" || !reading.CanView(by) {
		return reading, nil, nil
	}
	v, err := store.version(ctx, by.Workspace, reading.ID, row.Version)
	return reading, v, err
}

// versionHead has the parts of a version that may change without its revision, and the cache key of the others.
type versionHead struct {
	ID       prompt.VersionID `db:"id"`
	Revision int64            `db:"revision"`
	Labels   string           `db:"labels"`
}

var readVersionColumns = slices.Concat(readingColumns, []db.Column{
	{Expression: `COALESCE(v.id, '')`, Path: `v.id`},
	{Expression: `COALESCE(v.revision, 0)`, Path: `v.revision`},
	{Expression: labelsColumn, Path: `v.labels`},
})

var (
	ownReadings     = db.NewPackedRow[readVersionRow](readVersionColumns)
	groupedReadings = db.NewPackedRow[readVersionRow](slices.Concat(sharedColumns, readVersionColumns))
)

// version returns the version with a head, from the cache or the database, or nil if it has just been deleted. A
// transaction does not fill the cache: it may read its own changes, which may be rolled back, and their revision may
// then be used for other content.
func (store *Store) version(ctx context.Context, ws identity.WorkspaceID, template prompt.ID,
	head versionHead) (*prompt.Version, error) {
	if stored := store.Contents.Recall(db.ContentKey{Workspace: ws, Version: head.ID, Revision: head.Revision},
		time.Now()); stored != nil {
		v := *stored
		v.Labels = labelList(head.Labels)
		return &v, nil
	}
	var row versionRow
	found, err := store.Get(ctx, &row, `SELECT `+versionColumns+` FROM prompt_versions v WHERE v.id = ?
		AND v.template_id = ?`, head.ID, template)
	if err != nil || !found {
		return nil, err
	}
	v, err := row.version()
	if err == nil && !store.IsTransaction() {
		copied := *v
		store.Contents.Remember(db.ContentKey{Workspace: ws, Version: v.ID, Revision: v.Revision}, &copied, row.size(),
			time.Now())
	}
	return v, err
}
