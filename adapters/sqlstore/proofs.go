package sqlstore

import (
	"context"
	"slices"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// provenAtOnce is how many proofs one statement looks up; SQLite takes 32,766 values.
const provenAtOnce = 4096

// Proven implements ports.Tickets. It does not use the cache: a caller that checks many proofs each second would get
// old results, and evict the entries of others.
func (s *Tickets) Proven(
	ctx context.Context, org identity.OrgID, proofs []account.Proof,
) ([]*account.Principal, error) {
	byKey, bySubject := map[account.Hash]*account.Principal{}, map[signInKey]*account.Principal{}
	bySession := map[account.Hash]*account.Principal{}
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
	for some := range slices.Chunk(cookies, provenAtOnce) {
		if err := s.provenBySession(ctx, org, some, bySession); err != nil {
			return nil, err
		}
	}
	for some := range slices.Chunk(keys, provenAtOnce) {
		if err := s.provenByKey(ctx, org, some, byKey); err != nil {
			return nil, err
		}
	}
	for issuer, all := range subjects {
		for some := range slices.Chunk(all, provenAtOnce) {
			if err := s.provenBySignIn(ctx, org, issuer, some, bySubject); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*account.Principal, len(proofs))
	for i, p := range proofs {
		switch {
		case p.Issuer != "":
			out[i] = bySubject[signInKey{org, p.Issuer, p.Subject}]
		case p.Session != account.Hash{}:
			out[i] = bySession[p.Session]
		default:
			out[i] = byKey[p.Key]
		}
	}
	return out, nil
}

func (s *Tickets) provenByKey(ctx context.Context, org identity.OrgID, hashes [][]byte,
	found map[account.Hash]*account.Principal) error {
	where := newConditions(`k.org_id = ?`, org)
	oneOf(where, `k.hash`, hashes)
	var rows []struct {
		Hash []byte `db:"hash"`
		principalRow
	}
	if err := s.db.forCredentials().list(ctx, &rows, `SELECT k.hash, `+principalQuery.columns+principalTable+
		principalQuery.joins+` WHERE `+where.sql(), where.args()...); err != nil {
		return err
	}
	for i := range rows {
		found[account.Hash(rows[i].Hash)] = rows[i].principal(org)
	}
	return nil
}

func (s *Tickets) provenBySignIn(ctx context.Context, org identity.OrgID, issuer string, subjects []string,
	found map[signInKey]*account.Principal) error {
	where := newConditions(`l.org_id = ? AND l.issuer = ?`, org, issuer)
	oneOf(where, `l.subject`, subjects)
	var rows []struct {
		Subject string `db:"subject"`
		userRow
	}
	if err := s.db.forCredentials().list(ctx, &rows, `SELECT l.subject, `+userColumns+
		` FROM sign_ins l JOIN users t ON t.id = l.user_id WHERE `+where.sql(), where.args()...); err != nil {
		return err
	}
	for i := range rows {
		found[signInKey{org, issuer, rows[i].Subject}] = &account.Principal{User: rows[i].user()}
	}
	return nil
}
