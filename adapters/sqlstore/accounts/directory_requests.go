package accounts

import (
	"context"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/sqlstore/db"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/ports"
)

// DirectoryRequests stores what the directories of orgs sent.
type DirectoryRequests struct{ db *Store }

var _ ports.DirectoryRequests = (*DirectoryRequests)(nil)

// Add implements ports.DirectoryRequests.
func (s *DirectoryRequests) Add(
	ctx context.Context, by identity.Actor, r *account.DirectoryRequest, limit int,
) error {
	return s.db.inTx(ctx, func(tx *Store) error {
		if _, err := tx.Exec(ctx, `INSERT INTO scim_requests (id, org_id, request_id, token, outcome, method, resource,
			subject, attributes, status, code, detail, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			r.ID, by.Org, r.Request, r.Token, r.Outcome, r.Method, r.Resource, r.Subject,
			strings.Join(r.Attributes, " "), r.Status, r.Code, r.Detail, db.Micros(r.CreatedAt)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM scim_requests WHERE org_id = ? AND token = ? AND outcome = ? AND id <= (
			SELECT t.id FROM scim_requests t WHERE t.org_id = ? AND t.token = ? AND t.outcome = ?
			ORDER BY t.id DESC LIMIT 1 OFFSET ?)`, by.Org, r.Token, r.Outcome, by.Org, r.Token, r.Outcome, limit)
		return err
	})
}

// List implements ports.DirectoryRequests.
func (s *DirectoryRequests) List(
	ctx context.Context, org identity.OrgID, outcome account.DirectoryOutcome, start time.Time, q page.Query,
) (account.DirectoryRequestPage, error) {
	conditions := db.NewConditions(`t.org_id = ?`, org)
	conditions.When(outcome != "", `t.outcome = ?`, outcome)
	conditions.PageBounds(`t.id`, q.After, id.Floor("drq", start))
	var rows []directoryRequestRow
	if err := s.db.List(ctx, &rows, `SELECT t.id, t.org_id, t.request_id, t.token, t.outcome, t.method, t.resource,
		t.subject, t.attributes, t.status, t.code, t.detail, t.created_at FROM scim_requests t WHERE `+conditions.SQL()+`
		ORDER BY t.id DESC LIMIT ?`, conditions.Args(q.Limit+1)...); err != nil {
		return account.DirectoryRequestPage{}, err
	}
	return page.Cut(db.Convert(rows, (*directoryRequestRow).request), q.Limit,
		func(r account.DirectoryRequest) string { return r.ID }), nil
}

type directoryRequestRow struct {
	ID         string                    `db:"id"`
	Org        identity.OrgID            `db:"org_id"`
	Request    string                    `db:"request_id"`
	Token      int                       `db:"token"`
	Outcome    account.DirectoryOutcome  `db:"outcome"`
	Method     string                    `db:"method"`
	Resource   account.DirectoryResource `db:"resource"`
	Subject    string                    `db:"subject"`
	Attributes string                    `db:"attributes"` // with spaces between them
	Status     int                       `db:"status"`
	Code       string                    `db:"code"`
	Detail     string                    `db:"detail"`
	CreatedAt  int64                     `db:"created_at"`
}

func (r *directoryRequestRow) request() account.DirectoryRequest {
	return account.DirectoryRequest{
		ID: r.ID, Org: r.Org, Request: r.Request, Token: r.Token, Outcome: r.Outcome, Method: r.Method,
		Resource: r.Resource,
		Subject:  r.Subject, Attributes: strings.Fields(r.Attributes), Status: r.Status, Code: r.Code,
		Detail: r.Detail, CreatedAt: db.FromMicros(r.CreatedAt),
	}
}
