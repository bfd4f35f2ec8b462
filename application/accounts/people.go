package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// DisablePerson disables a person's account. by is an operator or the system.
func (s *Service) DisablePerson(ctx context.Context, by identity.Actor, id identity.UserID, reason string, keep account.KeepServiceKeys) error {
	if err := account.MayChangeAccess(by); err != nil {
		return err
	}
	return s.people.ChangeAccess(ctx, by, id, func(a *account.Access) error { return a.Disable(by, reason, keep) })
}

// EnablePerson enables a disabled account. by is an operator or the system.
func (s *Service) EnablePerson(ctx context.Context, by identity.Actor, id identity.UserID, reason string) error {
	if err := account.MayChangeAccess(by); err != nil {
		return err
	}
	return s.people.ChangeAccess(ctx, by, id, func(a *account.Access) error { return a.Enable(by, reason) })
}
