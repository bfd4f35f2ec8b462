package sqlstore

import (
	"context"

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

// prefetchQueries read a principal, and a version by its reference. The version is empty if the workspace of the key
// has no such template.
var prefetchQueries = func() map[string]string {
	queries := map[string]string{}
	for _, ref := range []prompt.Ref{{Active: true}, {Previous: true}, {Number: 1}, {Label: "any"}, {}} {
		match, _ := versionMatch(ref)
		queries[match] = `SELECT ` + principalQuery.text + ` AS principal,
			CASE WHEN t.id IS NULL THEN '' ELSE ` + readVersionPacked.text + ` END AS version` + principalTables + `
			LEFT JOIN prompt_templates t ON t.id = ? AND t.workspace_id = k.workspace_id
			LEFT JOIN prompt_shares s ON s.template_id = t.id AND s.user_id = k.user_id
			LEFT JOIN prompt_versions v ON v.template_id = t.id AND ` + match + ofPrincipal
	}
	return queries
}()

// principalPrefetching reads a principal, and the version that its request will read.
func (db *DB) principalPrefetching(
	ctx context.Context, org identity.OrgID, h account.Hash, wanted *ports.VersionPrefetch,
) (*account.Principal, error) {
	match, args := versionMatch(wanted.Ref)
	query, there := prefetchQueries[match]
	if !there { // which version is the latest depends on what the caller may see
		return db.principal(ctx, org, h)
	}
	changes := db.anyChanges()
	var texts struct {
		Principal string `db:"principal"`
		Version   string `db:"version"`
	}
	args = append(append([]any{wanted.Template}, args...), h[:], org)
	found, err := db.forCredentials().get(ctx, &texts, query, args...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, identity.ErrUnauthenticated
	}
	var row principalRow
	if !principalQuery.unpack(texts.Principal, &row) {
		return db.principal(ctx, org, h)
	}
	version := prefetchedVersion{user: row.User.ID, changes: changes}
	if readVersionPacked.unpack(texts.Version, &version.row) {
		wanted.Found = &version
	}
	return row.principal(), nil
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
// grows before Generation and Elsewhere do.
func (db *DB) anyChanges() uint64 { return db.changes.any.Load() + db.elsewhere.any.Load() }
