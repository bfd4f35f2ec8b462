package db

import (
	"context"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Erasure removes or blanks what an area stores of a person.
type Erasure struct {
	Query string
	Args  func(*ErasedPerson) []any
	Count func(*account.ErasureReport) *int // where the rows are counted; nil: nowhere
}

// ErasedPerson is a person whose erasure has begun.
type ErasedPerson struct {
	Org   identity.OrgID
	User  identity.UserID
	Email string // as it was
}

// ByUser are the arguments org and user.
func (p *ErasedPerson) ByUser() []any { return []any{p.Org, p.User} }

// ByEmail are the arguments org and key of the e-mail address; nil for a person without an address, whose statement
// does not run.
func (p *ErasedPerson) ByEmail() []any {
	if p.Email == "" {
		return nil
	}
	return []any{p.Org, account.EmailKey(p.Email)}
}

// Shares is the number of erased shares in a report.
func Shares(r *account.ErasureReport) *int { return &r.Shares }

// Section is an area's part of the export of a person's data. The arguments of the query are the org, and Users times
// the user. It reads the newest rows first.
type Section struct {
	Name, Query string
	Users       int // at least 1
}

// Redact removes a person from records of an area, and notes in the report of e how many it changed. It is repeatable.
type Redact func(ctx context.Context, d *DB, e *account.Erasure, r *event.Redactor, now time.Time) error
