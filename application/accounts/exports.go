package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// ExportPerson calls emit with everything that is stored about a person of by's org. by is an operator or the system.
func (s *Service) ExportPerson(
	ctx context.Context, by identity.Actor, id identity.UserID, emit func(account.ExportSection) error,
) error {
	if err := account.MayChangeAccess(by); err != nil {
		return err
	}
	return s.erasures.Export(ctx, by.Org, id, emit)
}

// ExportMe is ExportPerson for the caller.
func (s *Service) ExportMe(
	ctx context.Context, by identity.Actor, emit func(account.ExportSection) error,
) error {
	if err := account.MayExportSelf(by); err != nil {
		return err
	}
	return s.erasures.Export(ctx, by.Org, by.User, emit)
}
