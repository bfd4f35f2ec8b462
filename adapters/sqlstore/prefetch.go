package sqlstore

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/atrium-hq/atrium/adapters/sqlstore/engine"
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

// prefetch reads prefetchRows.
type prefetch struct {
	packed[prefetchRow]
	one  engineText
	many map[int]string // by the number of hashes; they also select each hash
}

// prefetchQuery is what look-ups of keys have in common that one statement can run together.
type prefetchQuery struct {
	org      identity.OrgID
	template prompt.ID
	ref      prompt.Ref
}

// prefetchResult is what a statement has found for a key.
type prefetchResult struct {
	principalRow
	isFound bool
	version *prefetchedVersion // nil if the workspace of the key has no such template
}

// prefetchSizes are the numbers of hashes in a statement. There are only a few, because each connection prepares them.
var prefetchSizes = []int{4, maxBatch}

// prefetches are built when a version is first read, as versionQueries.
var prefetches = sync.OnceValue(func() map[string]*prefetch {
	all := map[string]*prefetch{}
	for _, ref := range []prompt.Ref{{Active: true}, {Previous: true}, {Number: 1}, {Label: "any"}, {}} {
		match, _ := versionMatch(ref)
		version := packedJoin{isLeft: true, table: `prompt_templates t`, more: `
			LEFT JOIN prompt_shares s ON s.template_id = t.id AND s.user_id = k.user_id
			LEFT JOIN prompt_versions v ON v.template_id = t.id AND ` + match,
			on: `t.id = ? AND t.workspace_id = k.workspace_id`}
		for _, c := range readVersionColumns {
			if c.path != "id" && c.path != "workspace_id" { // read knows them
				version.columns = append(version.columns, packedColumn{c.expression, `read.` + c.path})
			}
		}
		p := &prefetch{packed: pack[prefetchRow](principalKeyColumns, slices.Concat(principalJoins,
			[]packedJoin{version})...), many: map[int]string{}}
		p.one = p.selected(principalTable, ofPrincipal)
		for _, n := range prefetchSizes {
			p.many[n] = `SELECT k.hash, ` + p.text + ` AS text` + principalTable + ` WHERE k.hash IN (` +
				placeholders(n) + `) AND k.org_id = ?`
		}
		all[match] = p
	}
	return all
})

// principalPrefetching reads a principal, and the version that its request will read.
func (db *DB) principalPrefetching(
	ctx context.Context, org identity.OrgID, h account.Hash, wanted *ports.VersionPrefetch,
) (*account.Principal, error) {
	if match, _ := versionMatch(wanted.Ref); prefetches()[match] == nil {
		return db.principal(ctx, org, h) // which version is the latest depends on what the caller may see
	}
	r, err := db.prefetching.do(ctx, prefetchQuery{org, wanted.Template, wanted.Ref}, h)
	if r.version != nil {
		wanted.Found = r.version
	}
	return r.found(org, r.isFound, err)
}

// prefetch looks up keys, of which there are at most maxBatch, by one statement.
func (db *DB) prefetch(ctx context.Context, q prefetchQuery, hashes []account.Hash) ([]prefetchResult, error) {
	match, args := versionMatch(q.ref)
	p, changes, from := prefetches()[match], db.anyChanges(), db.forCredentials()
	results := make([]prefetchResult, len(hashes))
	if len(hashes) == 1 {
		if db.dialect.Name == engine.SQLite.Name { // it joins the template before its version
			args = append([]any{q.template}, args...)
		} else {
			args = append(args, q.template)
		}
		var text string
		found, err := from.get(ctx, &text, p.one.statement(db.dialect), append(args, hashes[0][:], q.org)...)
		if err == nil && found {
			err = p.read(ctx, from, q, hashes[0], text, changes, &results[0])
		}
		return results, err
	}
	n := prefetchSizes[0]
	if len(hashes) > n {
		n = prefetchSizes[1]
	}
	args = append(args, q.template)
	for i := range n { // the last one is repeated
		args = append(args, hashes[min(i, len(hashes)-1)][:])
	}
	var rows []struct {
		Hash []byte `db:"hash"`
		Text string `db:"text"`
	}
	if err := from.list(ctx, &rows, p.many[n], append(args, q.org)...); err != nil {
		return nil, err
	}
	for _, row := range rows {
		for i, h := range hashes {
			if !bytes.Equal(row.Hash, h[:]) {
				continue
			}
			if err := p.read(ctx, from, q, h, row.Text, changes, &results[i]); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// read reads the row of a key from its text, or from the database again if the text cannot be read.
func (p *prefetch) read(ctx context.Context, from *DB, q prefetchQuery, h account.Hash, text string,
	changes uint64, into *prefetchResult) (err error) {
	var row prefetchRow
	if into.isFound = p.unpack(text, &row); !into.isFound {
		into.isFound, err = principalQuery.getColumns(ctx, from, &into.principalRow, h[:], q.org)
		return err
	}
	into.principalRow = row.principalRow
	if row.Read.Owner != "" {
		row.Read.ID, row.Read.Workspace = q.template, row.Key.Workspace
		into.version = &prefetchedVersion{user: row.Key.User, changes: changes, row: row.Read}
	}
	return nil
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
