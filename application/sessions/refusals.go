package sessions

import (
	"context"
	"errors"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/session"
	"github.com/atrium-hq/atrium/ports"
)

// disabledError is the error of sign-ins to disabled accounts.
type disabledError struct {
	error
	person *account.Person
	source session.Source
}

// Unwrap returns the error that the caller gets.
func (e *disabledError) Unwrap() error { return e.error }

// orDisabled returns err as a disabledError if p's account is disabled.
func orDisabled(p *account.Person, source session.Source, err error) error {
	if err == nil || p.User.Enabled() {
		return err
	}
	return &disabledError{err, p, source}
}

// noteDisabled notes a disabledError in the audit trail. It must be called outside of the transaction that was undone.
func noteDisabled(ctx context.Context, notes ports.Notes, by identity.Actor, err error) {
	if refusal, ok := errors.AsType[*disabledError](err); ok {
		notes.Note(ctx, refusal.person.SignInRefused(by, string(refusal.source)))
	}
}
