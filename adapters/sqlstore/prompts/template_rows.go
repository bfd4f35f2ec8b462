package prompts

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
)

// readingColumns are the columns of a readingRow, without sharedColumns.
var readingColumns = slices.Concat(
	db.ColumnsOf(`t.%`, ``, []string{"id", "workspace_id", "owner_id", "name", "type", "visibility", "active_version_id",
		"deleted_at", "include_mode"}),
	[]db.Column{
		{Expression: `COALESCE(s.access, 0)`, Path: `share_access`},
		{Expression: `COALESCE(s.expires_at, 0)`, Path: `share_expires_at`},
	},
)

// readingRow has the columns of a prompt.Reading.
type readingRow struct {
	ID             prompt.ID            `db:"id"`
	Workspace      identity.WorkspaceID `db:"workspace_id"`
	Owner          identity.UserID      `db:"owner_id"`
	Name           string               `db:"name"`
	Type           prompt.Type          `db:"type"`
	Visibility     access.Visibility    `db:"visibility"`
	ActiveVersion  prompt.VersionID     `db:"active_version_id"`
	DeletedAt      int64                `db:"deleted_at"`
	IncludeMode    prompt.IncludeMode   `db:"include_mode"`
	ShareAccess    access.Role          `db:"share_access"`
	ShareExpiresAt int64                `db:"share_expires_at"`
	GroupAccess    access.Role          `db:"group_access"`
	BestFolder     string               `db:"best_folder"`
}

func (r *readingRow) reading(by identity.Actor) *prompt.Reading {
	return &prompt.Reading{
		Subject: r.subject(by),
		ID:      r.ID, Name: r.Name, Type: r.Type, ActiveVersion: r.ActiveVersion,
		DeletedAt: db.FromMicros(r.DeletedAt),
		Floating:  r.IncludeMode == prompt.Floating,
	}
}

func (r *readingRow) subject(by identity.Actor) access.Subject {
	s := access.Subject{Workspace: r.Workspace, Owner: r.Owner, Visibility: r.Visibility}
	if r.ShareAccess != access.None {
		s.Grants = access.Grants{{User: by.User, Role: r.ShareAccess, ExpiresAt: db.FromMicros(r.ShareExpiresAt)}}
	}
	if r.GroupAccess != access.None {
		s.Grants = append(s.Grants, access.Grant{User: by.User, By: access.ByGroup, Role: r.GroupAccess})
	}
	if g, found := folderGrant(by, r.BestFolder); found {
		s.Grants = append(s.Grants, g)
	}
	return s
}

// templateColumns are the columns of a templateRow, read from templateTables.
var templateColumns = db.ColumnList(readingColumns) + db.OwnerLeftColumn + `, t.description, t.tags, t.metadata,
		t.protected, t.compatibility, t.approvals, t.required_checks, t.check_thresholds,
		t.gated_labels, t.protected_labels, t.open_requests,
		EXISTS (SELECT 1 FROM prompt_references pr WHERE pr.prompt_id = t.id) AS referenced,
		(SELECT COALESCE(MAX(r.day), 0) FROM version_reads r WHERE r.template_id = t.id) AS last_read_day,
		t.active_number, t.activated_at, t.activated_by, t.last_number, t.version_count, t.latest_version_id,
		t.latest_number, t.frozen_count, t.latest_frozen_id,
		t.latest_frozen_number, t.revision, t.created_at, t.created_by, t.updated_at`

type templateRow struct {
	readingRow
	OwnerLeft          bool                 `db:"owner_left"`
	Description        string               `db:"description"`
	Tags               string               `db:"tags"`
	Metadata           string               `db:"metadata"`
	Protected          bool                 `db:"protected"`
	Compatibility      prompt.Compatibility `db:"compatibility"`
	Approvals          int                  `db:"approvals"`
	RequiredChecks     string               `db:"required_checks"`
	CheckThresholds    string               `db:"check_thresholds"`
	GatedLabels        string               `db:"gated_labels"`
	ProtectedLabels    string               `db:"protected_labels"`
	OpenRequests       int                  `db:"open_requests"`
	Referenced         bool                 `db:"referenced"`
	LastRead           prompt.Day           `db:"last_read_day"`
	ActiveNumber       int                  `db:"active_number"`
	ActivatedAt        int64                `db:"activated_at"`
	ActivatedBy        identity.UserID      `db:"activated_by"`
	LastNumber         int                  `db:"last_number"`
	VersionCount       int                  `db:"version_count"`
	LatestVersion      prompt.VersionID     `db:"latest_version_id"`
	LatestNumber       int                  `db:"latest_number"`
	FrozenCount        int                  `db:"frozen_count"`
	LatestFrozen       prompt.VersionID     `db:"latest_frozen_id"`
	LatestFrozenNumber int                  `db:"latest_frozen_number"`
	Revision           int64                `db:"revision"`
	CreatedAt          int64                `db:"created_at"`
	CreatedBy          identity.UserID      `db:"created_by"`
	UpdatedAt          int64                `db:"updated_at"`
}

func (r *templateRow) template(by identity.Actor) (*prompt.Template, error) {
	t := new(prompt.Template)
	return t, r.fill(t, by)
}

// fill sets all fields of t.
func (r *templateRow) fill(t *prompt.Template, by identity.Actor) (err error) {
	*t = prompt.Template{
		Resource: access.Resource{
			Subject: r.subject(by), OwnerLeft: r.OwnerLeft, Revision: r.Revision, CreatedAt: db.FromMicros(r.CreatedAt),
			CreatedBy: r.CreatedBy, UpdatedAt: db.FromMicros(r.UpdatedAt), DeletedAt: db.FromMicros(r.DeletedAt),
		},
		ID: r.ID, Name: r.Name, Type: r.Type, Description: r.Description, Protected: r.Protected,
		Compatibility: r.Compatibility, IncludeMode: r.IncludeMode, LastNumber: r.LastNumber, Approvals: r.Approvals,
		RequiredChecks: nameList(r.RequiredChecks), GatedLabels: nameList(r.GatedLabels),
		ProtectedLabels: nameList(r.ProtectedLabels), OpenRequests: r.OpenRequests, LastRead: r.LastRead,
		Referenced: r.Referenced,
		Active: prompt.Active{Version: r.ActiveVersion, Number: r.ActiveNumber, At: db.FromMicros(r.ActivatedAt),
			By: r.ActivatedBy},
		AllVersions: prompt.Summary{Count: r.VersionCount, Latest: r.LatestVersion, LatestNumber: r.LatestNumber},
		FrozenVersions: prompt.Summary{Count: r.FrozenCount, Latest: r.LatestFrozen,
			LatestNumber: r.LatestFrozenNumber},
	}
	if r.Metadata != "" {
		t.Metadata = json.RawMessage(r.Metadata)
	}
	t.Tags, err = db.TextList(r.Tags)
	return errors.Join(err, db.FromJSON(r.CheckThresholds, &t.Thresholds))
}

// templateKey is the condition by which a template t is found.
type templateKey struct {
	condition string
	args      []any
}

const (
	idMatches   = `t.id = ? AND t.workspace_id = ?`
	nameMatches = `t.workspace_id = ? AND t.name_key = ? AND t.deleted_at = 0`
)

func byID(ws identity.WorkspaceID, id prompt.ID) templateKey {
	return templateKey{idMatches, []any{id, ws}}
}

func byName(ws identity.WorkspaceID, name string) templateKey {
	return templateKey{nameMatches, []any{ws, prompt.NameKey(name)}}
}

// template returns a template with the caller's own shares, or prompt.ErrNotFound.
func (store *Store) template(ctx context.Context, by identity.Actor, key templateKey) (*prompt.Template, error) {
	var row templateRow
	begin, args := templatesFor(by, templateColumns)
	found, err := store.Get(ctx, &row, begin+` WHERE `+key.condition, append(args, key.args...)...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, prompt.ErrNotFound
	}
	return row.template(by)
}

// lockTemplate locks a template until the end of the transaction. A later statement then reads what other transactions
// have committed: the locking statement itself would read the other tables as they were before it waited.
func (store *Store) lockTemplate(ctx context.Context, by identity.Actor, id prompt.ID) error {
	store.DeclareChange(by.Workspace)
	if store.Dialect.Lock == "" {
		return nil // the transaction already has SQLite's only lock
	}
	var one int
	found, err := store.Get(ctx, &one, `SELECT 1 FROM prompt_templates t WHERE t.id = ? AND t.workspace_id = ?`+
		store.Dialect.Lock, id, by.Workspace)
	if err == nil && !found {
		err = prompt.ErrNotFound
	}
	return err
}

// lockedTemplate locks a template that is about to change, and reads it.
func (store *Store) lockedTemplate(ctx context.Context, by identity.Actor, id prompt.ID) (*prompt.Template, error) {
	if err := store.lockTemplate(ctx, by, id); err != nil {
		return nil, err
	}
	return store.template(ctx, by, byID(by.Workspace, id))
}

// tagList returns tags as a JSON array, which is never null.
func tagList(tags []string) string {
	items := make([]string, len(tags))
	for i, tag := range tags {
		items[i] = tagItem(tag)
	}
	return "[" + strings.Join(items, ",") + "]"
}

// thresholdsText returns thresholds as JSON, empty without one. Finite numbers and texts always have one.
func thresholdsText(thresholds []prompt.Threshold) string {
	text, _ := db.JSONText(thresholds, len(thresholds) == 0)
	return text
}

// tagItem returns a tag as an item of that array. Quotes and commas within it are escaped, so that a stored array
// contains the item's string only if it has the tag.
func tagItem(tag string) string {
	b, _ := json.Marshal(tag) // a string always encodes
	return `"` + escapeTag(string(b[1:len(b)-1])) + `"`
}

var escapeTag = strings.NewReplacer(`\\`, `\\`, `\"`, `\u0022`, `,`, `\u002c`).Replace

// searchText returns the text that Filter.Query searches. It is lower-cased here, since SQLite's lower handles
// only ASCII.
func searchText(t *prompt.Template) string {
	return prompt.NameKey(t.Name + "\n" + t.Description + "\n" + strings.Join(t.Tags, "\n"))
}

// nameList reads names that a comma separates.
func nameList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
