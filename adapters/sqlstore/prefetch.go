package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// prefetchedVersion is a version that was read together with its caller, as a request asks for it.
type prefetchedVersion struct {
	user    identity.UserID
	changes uint64 // that this process knew of before
	row     readVersionRow
}

// prefetchRow is a principal, and the version that its request will read. The version is empty if the workspace of the
// key has no such template.
type prefetchRow struct {
	principalRow
	Read readVersionRow `db:"read"`
}

// prefetch reads a prefetchRow.
type prefetch struct {
	packed[prefetchRow]
	query string
}

// prefetches are built when a version is first read, as versionQueries.
var prefetches = sync.OnceValue(func() map[string]*prefetch {
	all := map[string]*prefetch{}
	for _, ref := range []prompt.Ref{{Active: true}, {Previous: true}, {Number: 1}, {Label: "any"}, {}} {
		match, _ := versionMatch(ref)
		version := packedJoin{isLeft: true, table: `prompt_templates t
			LEFT JOIN prompt_shares s ON s.template_id = t.id AND s.user_id = k.user_id
			LEFT JOIN prompt_versions v ON v.template_id = t.id AND ` + match,
			on: `t.id = ? AND t.workspace_id = k.workspace_id`}
		for _, c := range readVersionColumns {
			version.columns = append(version.columns, packedColumn{c.expression, `read.` + c.path})
		}
		p := pack[prefetchRow](principalKeyColumns, slices.Concat(principalJoins, []packedJoin{version})...)
		all[match] = &prefetch{p, `SELECT ` + p.text + principalTable + ofPrincipal}
	}
	return all
})

// principalPrefetching reads a principal, and the version that its request will read.
func (db *DB) principalPrefetching(
	ctx context.Context, org identity.OrgID, h account.Hash, wanted *ports.VersionPrefetch,
) (*account.Principal, error) {
	match, args := versionMatch(wanted.Ref)
	p, there := prefetches()[match]
	if !there { // which version is the latest depends on what the caller may see
		return db.principal(ctx, org, h)
	}
	changes := db.anyChanges()
	var text string
	found, err := db.forCredentials().get(ctx, &text, p.query, append(append(args, wanted.Template), h[:], org)...)
	var row prefetchRow
	if found && !p.unpack(text, &row) {
		row = prefetchRow{}
		found, err = principalQuery.getColumns(ctx, db.forCredentials(), &row.principalRow, h[:], org)
	}
	if row.Read.ID != "" {
		wanted.Found = &prefetchedVersion{user: row.Key.User, changes: changes, row: row.Read}
	}
	return row.found(org, found, err)
}

// prefetched returns the row of a version that was read together with by, if the request of ctx prefetches this version
// and this process knows of no change since: then another read would find the same, as far as it can know. It is nil
// for callers with groups, whose shares the row does not have. The row is used once.
func (db *DB) prefetched(ctx context.Context, by identity.Actor, id prompt.ID, ref prompt.Ref) *readVersionRow {
	wanted := ports.VersionPrefetchOf(ctx)
	if wanted == nil || db.tx != nil {
		return nil
	}
	version, there := wanted.Found.(*prefetchedVersion)
	wanted.Found = nil
	if !there || by.Grouped || wanted.Template != id || wanted.Ref != ref || version.user != by.User ||
		version.row.Workspace != by.Workspace || version.changes != db.anyChanges() {
		return nil
	}
	return &version.row
}

// anyChanges returns a number that grows with each change of any workspace that this process makes or learns of. It
// grows before Generation and ObservedGeneration do.
func (db *DB) anyChanges() uint64 { return db.changes.any.Load() + db.observed.any.Load() }
