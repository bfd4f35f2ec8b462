package accounts

import (
	"context"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// People lists the people of by's org. by is an operator or the system.
func (s *Service) People(ctx context.Context, by identity.Actor, q page.Query) (account.UserPage, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.UserPage{}, err
	}
	return s.people.List(ctx, by.Org, q)
}

// SearchPeople lists the people of by's org, newest first. text is words, each of which must begin a word of the name
// or the e-mail address; empty for all. by is an operator or the system.
func (s *Service) SearchPeople(
	ctx context.Context, by identity.Actor, text string, status account.PersonStatus, q page.Query,
) (account.PersonPage, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.PersonPage{}, err
	}
	f := account.PeopleFilter{Words: account.SearchWords(text), Status: status}
	if text != "" && len(f.Words) == 0 { // nothing but punctuation
		return account.PersonPage{}, nil
	}
	return s.people.Search(ctx, by.Org, f, by.At, q)
}

// Person returns a person of by's org. by is an operator or the system.
func (s *Service) Person(ctx context.Context, by identity.Actor, id identity.UserID) (*account.PersonSummary, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return nil, err
	}
	return s.people.Person(ctx, by.Org, id, by.At)
}

// OrgWorkspaces lists the workspaces of by's org, including deleted ones. by is an operator or the system.
func (s *Service) OrgWorkspaces(ctx context.Context, by identity.Actor, q page.Query) (account.WorkspacePage, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.WorkspacePage{}, err
	}
	return s.workspaces.List(ctx, by.Org, q)
}

// KeysOf lists a workspace's live API keys in by's org, named by slug or id. by is an operator or the system.
func (s *Service) KeysOf(
	ctx context.Context, by identity.Actor, workspace string, q page.Query,
) (account.KeyPage, error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.KeyPage{}, err
	}
	ws, err := s.workspaces.Find(ctx, by.Org, workspace)
	if err != nil {
		return account.KeyPage{}, err
	}
	return s.keys.List(ctx, ws.ID, "", by.At, q)
}

// DisablePerson disables a person's account, and returns what the person lost. by is an operator or the system.
func (s *Service) DisablePerson(ctx context.Context, by identity.Actor, id identity.UserID, reason string,
	keep account.KeepServiceKeys) (lost account.Loss, err error) {
	if err := account.MayChangeAccess(by); err != nil {
		return account.Loss{}, err
	}
	err = s.people.ChangeAccess(ctx, by, id, func(a *account.Access) error {
		err := a.Disable(by, reason, keep)
		lost = a.Lost
		return err
	})
	return lost, err
}

// SetOperator makes a person an operator of the org, or revokes that right. by is an operator or the system.
func (s *Service) SetOperator(ctx context.Context, by identity.Actor, id identity.UserID, operator bool) error {
	if err := account.MayChangeAccess(by); err != nil {
		return err
	}
	return s.people.ChangeAccess(ctx, by, id, func(a *account.Access) error { return a.SetOperator(by, operator) })
}

// EnablePerson enables a disabled account. by is an operator or the system.
func (s *Service) EnablePerson(ctx context.Context, by identity.Actor, id identity.UserID, reason string) error {
	if err := account.MayChangeAccess(by); err != nil {
		return err
	}
	return s.people.ChangeAccess(ctx, by, id, func(a *account.Access) error { return a.Enable(by, reason) })
}
