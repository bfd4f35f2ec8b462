package prompts

import (
	"context"
	"errors"
	"time"

	"github.com/atrium-hq/atrium/domain/access"
	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/job"
	"github.com/atrium-hq/atrium/domain/page"
	"github.com/atrium-hq/atrium/domain/prompt"
	"github.com/atrium-hq/atrium/ports"
)

// lookEvery is the interval at which a waiting request is evaluated: at the latest after this time it is cancelled if
// its author has lost access to the workspace.
const lookEvery = 5 * time.Minute

// Requests lists a template's activation requests, newest first; only those in a state, unless that is empty. Requires
// the editor role.
func (s *Service) Requests(ctx context.Context, by identity.Actor, id prompt.ID, state prompt.RequestState,
	q page.Query) (prompt.RequestPage, error) {
	if err := s.mayEdit(ctx, by, id); err != nil {
		return prompt.RequestPage{}, err
	}
	return s.lists.Requests(ctx, by.Workspace, id, state, q)
}

// Request returns a template's activation request. Requires the editor role.
func (s *Service) Request(
	ctx context.Context, by identity.Actor, id prompt.ID, request prompt.RequestID,
) (*prompt.ActivationRequest, error) {
	if err := s.mayEdit(ctx, by, id); err != nil {
		return nil, err
	}
	return s.lists.Request(ctx, by.Workspace, id, request)
}

func (s *Service) mayEdit(ctx context.Context, by identity.Actor, id prompt.ID) error {
	t, err := s.prompts.Get(ctx, by, id)
	if err != nil {
		return err
	}
	return t.Allow(by, access.Editor)
}

// CompareRequest compares a request's version with its base. It returns nil if one was deleted, or there was no active
// version.
func (s *Service) CompareRequest(
	ctx context.Context, by identity.Actor, r *prompt.ActivationRequest,
) (*Comparison, error) {
	if r.Base == "" {
		return nil, nil
	}
	c, err := s.Compare(ctx, by, r.Template, prompt.Ref{ID: r.Base}, prompt.Ref{ID: r.Version})
	if errors.Is(err, prompt.ErrVersionNotFound) {
		return nil, nil
	}
	return c, err
}

// Decide approves or refuses an activation request. If that was all it waited for, its version is activated.
func (s *Service) Decide(ctx context.Context, by identity.Actor, id prompt.ID, request prompt.RequestID,
	d prompt.Decision) (*prompt.ActivationRequest, error) {
	return s.changeRequest(ctx, by, id, request,
		func(t *prompt.Template, r prompt.ActivationRequest) (prompt.ActivationRequest, error) {
			return t.Decide(by, r, d)
		})
}

// Withdraw cancels an activation request.
func (s *Service) Withdraw(
	ctx context.Context, by identity.Actor, id prompt.ID, request prompt.RequestID,
) (*prompt.ActivationRequest, error) {
	return s.changeRequest(ctx, by, id, request,
		func(t *prompt.Template, r prompt.ActivationRequest) (prompt.ActivationRequest, error) {
			return t.Withdraw(by, r)
		})
}

// changeRequest changes an activation request with its template locked, and returns the stored request.
func (s *Service) changeRequest(ctx context.Context, by identity.Actor, id prompt.ID, request prompt.RequestID,
	change func(*prompt.Template, prompt.ActivationRequest) (prompt.ActivationRequest, error),
) (updated *prompt.ActivationRequest, err error) {
	err = s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		// The lock comes first, so that the request no longer changes after it was read.
		t, _, err := tx.Prompts.Lock(ctx, by, id, prompt.Ref{})
		if err != nil {
			return err
		}
		if err := t.Allow(by, access.Viewer); err != nil {
			return err
		}
		current, err := tx.PromptLists.Request(ctx, by.Workspace, id, request)
		if err != nil {
			return err
		}
		if t, err = tx.Prompts.Update(ctx, by, id, func(t *prompt.Template) error {
			_, err := change(t, *current)
			return err
		}); err != nil {
			return err
		}
		if err := settle(ctx, tx, by, t); err != nil {
			return err
		}
		updated, err = tx.PromptLists.Request(ctx, by.Workspace, id, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return updated, nil
}

// LookAt evaluates a waiting request again, and activates its version or cancels it if it is time to. by is the system.
// A request that ended is left as it is.
func (s *Service) LookAt(ctx context.Context, by identity.Actor, request prompt.RequestID) error {
	return s.atomic.Atomically(ctx, func(tx ports.Stores) error {
		r, err := tx.PromptLists.Request(ctx, by.Workspace, "", request)
		if errors.Is(err, prompt.ErrRequestNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		t, _, err := tx.Prompts.Lock(ctx, by, r.Template, prompt.Ref{})
		if err != nil {
			return err
		}
		if err := settle(ctx, tx, by, t); err != nil {
			return err
		}
		if r, err = tx.PromptLists.Request(ctx, by.Workspace, "", request); err != nil || r.State != prompt.Waiting {
			return err
		}
		return lookLater(ctx, tx, by, *r)
	})
}

// lookLater queues a waiting request's next evaluation.
func lookLater(ctx context.Context, tx ports.Stores, by identity.Actor, r prompt.ActivationRequest) error {
	due := by.At.Add(lookEvery)
	if r.NotBefore.After(by.At) && r.NotBefore.Before(due) {
		due = r.NotBefore
	}
	return tx.Jobs.Enqueue(ctx, job.New(by, prompt.RequestJob, string(r.ID), due))
}

// settle evaluates every waiting request for a template after a change that they may wait for. The template is locked.
func settle(ctx context.Context, tx ports.Stores, by identity.Actor, t *prompt.Template) error {
	if t.OpenRequests == 0 {
		return nil
	}
	open, err := tx.PromptLists.OpenRequests(ctx, by.Workspace, t.ID)
	if err != nil {
		return err
	}
	for _, r := range open {
		activated, err := settleOne(ctx, tx, by, r)
		if err != nil {
			return err
		}
		if activated != nil { // the base of all others has moved
			return settle(ctx, tx, by, activated)
		}
	}
	return nil
}

// settleOne cancels a request, or activates its version and returns the template, if it is time to.
func settleOne(
	ctx context.Context, tx ports.Stores, by identity.Actor, r prompt.ActivationRequest,
) (activated *prompt.Template, err error) {
	author, err := authorOf(ctx, tx, by, r)
	if err != nil {
		return nil, err
	}
	t, standing, err := standingOf(ctx, tx, author, r)
	if err != nil {
		return nil, err
	}
	current, cause := t.Look(author, r, standing)
	if cause == "" && current.IsReady(by.At) {
		err := releasable(ctx, tx, author, t, standing.Versions, current)
		if err == nil {
			if activated, err = fulfil(ctx, tx, author, current); !isLimit(err) {
				return activated, err
			}
		}
		if cause = causeOf(err); cause == "" {
			return nil, err
		}
	}
	_, err = tx.Prompts.Update(ctx, by, r.Template, func(t *prompt.Template) error {
		if cause != "" {
			t.Cancel(by, current, cause)
		} else {
			t.Keep(by, r, current)
		}
		return nil
	})
	return nil, err
}

// standingOf returns the template of r as its author sees it, and what decides about r now.
func standingOf(ctx context.Context, tx ports.Stores, author identity.Actor,
	r prompt.ActivationRequest) (t *prompt.Template, s prompt.Standing, err error) {
	for _, version := range r.Versions() {
		var v *prompt.VersionInfo
		if t, v, err = tx.Prompts.Lock(ctx, author, r.Template, prompt.Ref{ID: version}); err != nil {
			return nil, s, err
		}
		s.Versions = append(s.Versions, v)
	}
	if s.Base = t.Active.Version; r.Label != "" {
		_, labelled, err := tx.Prompts.Lock(ctx, author, r.Template, prompt.Ref{Label: r.Label})
		if err != nil {
			return nil, s, err
		}
		if s.Base = ""; labelled != nil {
			s.Base = labelled.ID
		}
	}
	s.Checks, err = checksOf(ctx, tx, author, r)
	return t, s, err
}

// fulfil does what r, a request that is ready, asks for.
func fulfil(
	ctx context.Context, tx ports.Stores, author identity.Actor, r prompt.ActivationRequest,
) (*prompt.Template, error) {
	if r.Label != "" {
		out, _, err := fulfilLabel(ctx, tx, author, r)
		return out.template, err
	}
	var version *prompt.VersionInfo
	t, err := tx.Prompts.UpdateVersion(ctx, author, r.Template, prompt.Ref{ID: r.Version},
		func(t *prompt.Template, v *prompt.VersionInfo) error {
			version = v
			t.Fulfil(author, v, r)
			return nil
		})
	if err == nil {
		_, err = pin(ctx, tx, author, r.Template, version)
	}
	return t, err
}

// causeOf returns why a request that is ready is cancelled nevertheless; empty for an outage.
func causeOf(err error) prompt.Cause {
	switch {
	case isIncludeError(err):
		return prompt.IncludeLost
	case errors.Is(err, prompt.ErrContractBreak):
		return prompt.ContractBroken
	case isLimit(err):
		return prompt.LimitReached
	}
	return ""
}

func isLimit(err error) bool {
	return errors.Is(err, prompt.ErrLabelLimit) || errors.Is(err, prompt.ErrRolloutLimit)
}

// authorOf returns a request's author as they may act now, with no role if they, or the key that they used, may not act
// any more.
func authorOf(
	ctx context.Context, tx ports.Stores, by identity.Actor, r prompt.ActivationRequest,
) (identity.Actor, error) {
	author := identity.ActorFor(by, r.By, r.Key, r.Ceiling)
	u, memberships, err := tx.Users.Get(ctx, by.Org, r.By)
	if errors.Is(err, account.ErrUserNotFound) || (err == nil && !u.DisabledAt.IsZero()) {
		return author, nil
	}
	if err != nil {
		return author, err
	}
	if r.Key != "" {
		k, err := tx.Keys.Get(ctx, r.Workspace, r.Key)
		if errors.Is(err, account.ErrKeyNotFound) || (err == nil && !k.Live(by.At)) {
			return author, nil
		}
		if err != nil {
			return author, err
		}
	}
	for _, m := range memberships {
		if m.Workspace.ID == r.Workspace {
			author.Role, author.Grouped = min(m.Role, r.Ceiling), m.Grouped
		}
	}
	return author, nil
}
