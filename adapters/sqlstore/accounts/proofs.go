package accounts

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
)

// provenAtOnce is the number of proofs per statement; SQLite accepts 32,766 values.
const provenAtOnce = 4096

// Proven implements ports.Tickets. It does not use the cache: a caller that checks many proofs each second would get
// old results, and evict the entries of others.
func (s *Tickets) Proven(
	ctx context.Context, org identity.OrgID, proofs []session.Proof,
) ([]*session.Principal, error) {
	byKey, bySubject := map[account.Hash]*session.Principal{}, map[db.SignInKey]*session.Principal{}
	bySession := map[account.Hash]*session.Principal{}
	var keys, cookies [][]byte
	subjects := map[string][]string{} // by issuer, of which there are few
	for _, p := range proofs {
		switch {
		case p.Issuer != "":
			subjects[p.Issuer] = append(subjects[p.Issuer], p.Subject)
		case p.Session != account.Hash{}:
			cookies = append(cookies, p.Session[:])
		default:
			keys = append(keys, p.Key[:])
		}
	}
	for batch := range slices.Chunk(cookies, provenAtOnce) {
		if err := s.provenBySession(ctx, org, batch, bySession); err != nil {
			return nil, err
		}
	}
	for batch := range slices.Chunk(keys, provenAtOnce) {
		if err := s.provenByKey(ctx, org, batch, byKey); err != nil {
			return nil, err
		}
	}
	for issuer, all := range subjects {
		for batch := range slices.Chunk(all, provenAtOnce) {
			if err := s.provenBySignIn(ctx, org, issuer, batch, bySubject); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*session.Principal, len(proofs))
	for i, p := range proofs {
		switch {
		case p.Issuer != "":
			out[i] = bySubject[db.SignInKey{Org: org, Issuer: p.Issuer, Subject: p.Subject}]
		case p.Session != account.Hash{}:
			out[i] = bySession[p.Session]
		default:
			out[i] = byKey[p.Key]
		}
	}
	return out, s.joinMemberships(ctx, org, proofs, out)
}

// joinMemberships sets the principals' memberships in the workspaces that their proofs name.
func (s *Tickets) joinMemberships(
	ctx context.Context, org identity.OrgID, proofs []session.Proof, principals []*session.Principal,
) error {
	type seat struct {
		user identity.UserID
		in   identity.WorkspaceID
	}
	lacking := map[seat][]int{}
	var users []identity.UserID
	for i, p := range principals {
		if p == nil || proofs[i].Workspace == "" || p.Membership.Workspace.ID == proofs[i].Workspace {
			continue
		}
		principal := *p // others can have the same proof in other workspaces
		principal.Membership = account.Membership{}
		principals[i] = &principal
		key := seat{p.User.ID, proofs[i].Workspace}
		if lacking[key] == nil {
			users = append(users, p.User.ID)
		}
		lacking[key] = append(lacking[key], i)
	}
	slices.Sort(users)
	for batch := range slices.Chunk(slices.Compact(users), provenAtOnce) {
		conditions := db.NewConditions(`t.org_id = ? AND t.deleted_at = 0`, org)
		db.OneOf(conditions, `m.user_id`, batch)
		var rows []struct {
			User identity.UserID `db:"user_id"`
			membershipRow
		}
		if err := s.db.forCredentials().List(ctx, &rows, `SELECT m.user_id, `+membershipColumns+
			` FROM memberships m JOIN workspaces t ON t.id = m.workspace_id WHERE `+conditions.SQL(),
			conditions.Args()...); err != nil {
			return err
		}
		for i := range rows {
			for _, index := range lacking[seat{rows[i].User, rows[i].ID}] {
				principals[index].Membership = rows[i].membership()
			}
		}
	}
	return nil
}

// provenByKey adds the principals of API keys to found, by the hash of the key.
func (s *Tickets) provenByKey(ctx context.Context, org identity.OrgID, hashes [][]byte,
	found map[account.Hash]*session.Principal) error {
	conditions := db.NewConditions(`k.org_id = ?`, org)
	db.OneOf(conditions, `k.hash`, hashes)
	var rows []struct {
		Hash []byte `db:"hash"`
		principalRow
	}
	if err := s.db.forCredentials().List(ctx, &rows, `SELECT k.hash, `+principalPacked.Columns()+
		principalTables+` WHERE `+conditions.SQL(), conditions.Args()...); err != nil {
		return err
	}
	for i := range rows {
		found[account.Hash(rows[i].Hash)] = &session.Principal{Principal: *rows[i].principal(org)}
	}
	return nil
}

// provenBySignIn adds the people with sign-ins at an issuer to found, without memberships.
func (s *Tickets) provenBySignIn(ctx context.Context, org identity.OrgID, issuer string, subjects []string,
	found map[db.SignInKey]*session.Principal) error {
	conditions := db.NewConditions(`l.org_id = ? AND l.issuer = ?`, org, issuer)
	db.OneOf(conditions, `l.subject`, subjects)
	var rows []struct {
		Subject string `db:"subject"`
		userRow
	}
	if err := s.db.forCredentials().List(ctx, &rows, `SELECT l.subject, `+userColumns+
		` FROM sign_ins l JOIN users t ON t.id = l.user_id WHERE `+conditions.SQL(), conditions.Args()...); err != nil {
		return err
	}
	for i := range rows {
		found[db.SignInKey{Org: org, Issuer: issuer,
			Subject: rows[i].Subject}] = &session.Principal{Principal: account.Principal{User: rows[i].user()}}
	}
	return nil
}
